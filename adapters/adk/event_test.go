package adk_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	adksession "google.golang.org/adk/v2/session"

	"github.com/hansardlog/hansard/adapters/adk"
	"github.com/hansardlog/hansard/session"
)

// stored returns the events of key as Hansard has them.
func stored(t *testing.T, svc session.Service) []*session.Event {
	t.Helper()
	resp, err := svc.ListEvents(t.Context(), &session.ListEventsRequest{Key: key, Limit: session.MaxPageSize})
	if err != nil {
		t.Fatal(err)
	}
	return resp.Events
}

func TestColumnsAreAProjection(t *testing.T) {
	t.Parallel()
	hash := func(s string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(s))) }
	long, longBranch := strings.Repeat("é", 128), strings.Repeat("agent.", 171)
	short, shortBranch := strings.Repeat("x", session.MaxTextBytes), strings.Repeat("b", session.MaxBranchBytes)
	tests := []struct {
		name                            string
		author, id, invocation, branch  string
		wantAuthor, wantID, wantInv, wB string
	}{
		{"plain", "agent", "1", "run", "a.b", "agent", "1", "run", "a.b"},
		{"empty", "", "2", "", "", "unknown", "2", "", ""},
		{"at the limit", short, short, short, shortBranch, short, short, short, shortBranch},
		{"too long", long, long, long, longBranch, hash(long), hash(long), hash(long), hash(longBranch)},
		{"control characters", "a\x00", "i\n", "r\u0085", "b\t", hash("a\x00"), hash("i\n"), hash("r\u0085"), hash("b\t")},
	}
	onBackends(t, func(t *testing.T, open opener) {
		core := open(t)
		svc := adk.New(core)
		live := create(t, svc, nil)
		var want []*adksession.Event
		for _, tt := range tests {
			event := &adksession.Event{Author: tt.author, ID: tt.id, InvocationID: tt.invocation, Branch: tt.branch}
			mustAppend(t, svc, live, event)
			want = append(want, event)
		}
		for i, e := range stored(t, core) {
			tt := tests[i]
			if e.Author != tt.wantAuthor || e.ID != tt.wantID || e.IdempotencyKey != tt.wantID || e.InvocationID != tt.wantInv || e.Branch != tt.wB {
				t.Errorf("%s: author %q, id %q, key %q, invocation %q, branch %q", tt.name, e.Author, e.ID, e.IdempotencyKey, e.InvocationID, e.Branch)
			}
		}
		// The payload is the truth.
		got := slices.Collect(get(t, svc).Events().All())
		if d := difference(want, got); d != "" {
			t.Error(d)
		}
	})
}

// IDs that only their ends tell apart name two events.
func TestLongIDsStayApart(t *testing.T) {
	svc, _ := inMemory()
	live := create(t, svc, nil)
	long := strings.Repeat("x", 300)
	mustAppend(t, svc, live, said(long+"1", nil), said(long+"2", nil), said(long+"1", nil))
	if got := ids(get(t, svc)); !slices.Equal(got, []string{long + "1", long + "2"}) {
		t.Errorf("%d events, want 2", len(got))
	}
}

func TestTempKeys(t *testing.T) {
	t.Parallel()
	onBackends(t, func(t *testing.T, open opener) {
		core := open(t)
		svc := adk.New(core)
		live := create(t, svc, map[string]any{"temp:initial": 1})
		event := said("1", map[string]any{"temp:step": "two", "kept": "yes"})
		mustAppend(t, svc, live, event)

		if got := len(event.Actions.StateDelta); got != 2 {
			t.Errorf("the caller's delta has %d keys, want both", got)
		}
		if got := value(t, live, "temp:step"); got != "string two" {
			t.Errorf("in the running turn temp:step = %s", got)
		}
		if got := live.Events().At(0).Actions.StateDelta; len(got) != 1 {
			t.Errorf("delta in the live session = %v", got)
		}
		e := stored(t, core)[0]
		if len(e.StateDelta) != 1 || strings.Contains(string(e.Payload), "temp:") {
			t.Errorf("stored delta %v, payload %s", e.StateDelta, e.Payload)
		}
		next := get(t, adk.New(open(t)))
		for key := range next.State().All() {
			if key != "kept" {
				t.Errorf("the next turn has %s", key)
			}
		}
	})
}

// What somebody else wrote into the log is read as far as the columns say.
func TestEventsOfOthers(t *testing.T) {
	svc, core := inMemory()
	live := create(t, svc, nil)
	event := &session.Event{ID: "x", Author: "importer", InvocationID: "run", Branch: "b", StateDelta: session.State{"n": 1}, Payload: json.RawMessage(`"note"`)}
	if _, err := core.AppendEvent(t.Context(), &session.AppendEventRequest{Key: key, Event: event}); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, svc, live, said("y", nil))
	for name, s := range map[string]adksession.Session{"read": get(t, svc), "caught up": live} {
		got := s.Events().At(0)
		if got.ID != "x" || got.Author != "importer" || got.InvocationID != "run" || got.Branch != "b" || got.Timestamp.IsZero() {
			t.Errorf("%s: %+v", name, got)
		}
		if got := fmt.Sprintf("%T", got.Actions.StateDelta["n"]); got != "float64" || value(t, s, "n") != "float64 1" {
			t.Errorf("%s: n is %s in the delta and %s in the state", name, got, value(t, s, "n"))
		}
	}
}

func TestUnreadablePayload(t *testing.T) {
	svc, core := inMemory()
	live := create(t, svc, nil)
	mustAppend(t, svc, live, said("1", nil))
	event := &session.Event{ID: "2", Author: "x", Format: adk.Format, Payload: json.RawMessage(`{"id": 5}`)}
	if _, err := core.AppendEvent(t.Context(), &session.AppendEventRequest{Key: key, Event: event}); err != nil {
		t.Fatal(err)
	}
	_, err := svc.Get(t.Context(), &adksession.GetRequest{AppName: key.AppName, UserID: key.UserID, SessionID: key.SessionID})
	var payload *adk.PayloadError
	if !errors.As(err, &payload) || payload.Seq != 2 {
		t.Errorf("Get: %v, want a PayloadError of event 2", err)
	}
	// The run learns that it no longer sees its own events.
	if err := svc.AppendEvent(t.Context(), live, said("3", nil)); !errors.As(err, &payload) {
		t.Errorf("AppendEvent: %v, want a PayloadError", err)
	}
}

// Nothing is acknowledged that ADK could not read again.
func TestUnreadableEventIsRefused(t *testing.T) {
	svc, core := inMemory()
	live := create(t, svc, nil)
	unreadable := said("1", map[string]any{"k": "v"})
	unreadable.Output = json.Number("1e400")
	unencodable := said("2", map[string]any{"f": func() {}})
	for _, event := range []*adksession.Event{unreadable, unencodable} {
		if err := svc.AppendEvent(t.Context(), live, event); !errors.Is(err, session.ErrInvalidArgument) {
			t.Errorf("event %s: %v, want ErrInvalidArgument", event.ID, err)
		}
	}
	if n, m := len(stored(t, core)), live.Events().Len(); n != 0 || m != 0 || value(t, live, "k") != adksession.ErrStateKeyNotExist.Error() {
		t.Errorf("%d events stored, %d in the live session", n, m)
	}
}

// ADK's JSON has no bytes that are not UTF-8: in a text they come back as U+FFFD,
// as from ADK's database service. Columns keep two such names apart, and in the
// state, which is exact, they are refused.
func TestTextThatIsNotUTF8(t *testing.T) {
	svc, core := inMemory()
	live := create(t, svc, nil)
	for _, id := range []string{"\xfe", "\xff"} {
		event := said(id, nil)
		event.ErrorMessage = "no\xff"
		mustAppend(t, svc, live, event, event)
	}
	if got := get(t, svc).Events(); got.Len() != 2 || got.At(0).ID != "\ufffd" || got.At(0).ErrorMessage != "no\ufffd" {
		t.Errorf("%d events, the first %+v", got.Len(), got.At(0))
	}
	if e := stored(t, core); e[0].ID == e[1].ID {
		t.Errorf("both IDs are %s", e[0].ID)
	}
	for _, delta := range []map[string]any{{"k": "\xff"}, {"\xff": 1}} {
		if err := svc.AppendEvent(t.Context(), live, said("3", delta)); !errors.Is(err, session.ErrInvalidArgument) {
			t.Errorf("delta %q: %v, want ErrInvalidArgument", delta, err)
		}
	}
}

// What the caller does to its event after the append is its own affair.
func TestLiveEventHasItsOwnMaps(t *testing.T) {
	svc, _ := inMemory()
	live := create(t, svc, nil)
	event := adksession.NewEvent(t.Context(), "run")
	mustAppend(t, svc, live, event)
	event.Actions.StateDelta["late"], event.Actions.ArtifactDelta["late"], event.Author = 1, 1, "late"
	got := live.Events().At(0)
	if len(got.Actions.StateDelta) != 0 || len(got.Actions.ArtifactDelta) != 0 || got.Author != "" {
		t.Errorf("the live session's event became %+v", got)
	}
}
