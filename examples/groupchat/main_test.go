package main

import (
	"strings"
	"testing"
)

const want = `seq  ana   ben   planner  critic  event
1    sees  -     -        -       ana joins, let in by the program
2    sees  -     sees     -       planner joins, let in by the program
3    sees  -     sees     -       ana: Planner, a weekend by train?
4    sees  -     sees     -       planner: Trieste: nine hours, one change.
5    sees  sees  sees     -       ben joins, let in by ana
6    sees  sees  sees     -       ben: I would rather see snow.
7    sees  sees  sees     sees    critic joins, let in by planner
8    sees  sees  sees     sees    critic: Trieste has no snow in May.
9    sees  sees  sees     sees    ben leaves
10   sees  -     sees     sees    ana: Quick, a surprise for Ben: the glacier?
11   sees  -     sees     sees    critic leaves, sent away by ana
12   sees  -     sees     -       planner: Glacier it is. Booked for three.
13   sees  sees  sees     -       ben joins, let in by ana
14   sees  sees  sees     -       ben: Back! What did I miss?

member   in the room
ana      1 to now
ben      5 to 9, 13 to now
planner  2 to now
critic   7 to 11

refused with          because
NOT_MEMBER            eve, a stranger, speaks
NOT_MEMBER            ana speaks in a room that does not exist: a stranger cannot tell
NOT_MEMBER            critic speaks after leaving
ALREADY_MEMBER        ben joins while in the room
NOT_FOUND             who is in a room that does not exist
ALREADY_EXISTS        a room of the same key
IDEMPOTENCY_MISMATCH  ana uses an idempotency key for other words
STALE                 planner answers what is no longer the last event
EPOCH_CHANGED         a cursor into another epoch of the log
INVALID_ARGUMENT      a message without an author
`

func TestOutput(t *testing.T) {
	var stdout, stderr strings.Builder
	if code := run(t.Context(), nil, &stdout, &stderr); code != 0 || stderr.Len() > 0 {
		t.Fatalf("exit code %d: %s", code, stderr.String())
	}
	if got := stdout.String(); got != want {
		t.Errorf("printed\n%swant\n%s", got, want)
	}
}

func TestWrongArguments(t *testing.T) {
	for _, arg := range []string{"-nonsense", "room"} {
		var stdout, stderr strings.Builder
		if code := run(t.Context(), []string{arg}, &stdout, &stderr); code != 2 {
			t.Errorf("%s: exit code %d, want 2", arg, code)
		}
		if !strings.Contains(stderr.String(), arg) || stdout.Len() > 0 {
			t.Errorf("%s: stderr %q, stdout %q", arg, stderr.String(), stdout.String())
		}
	}
}
