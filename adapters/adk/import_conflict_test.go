package adk_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hansardlog/hansard/adapters/adk"
	"github.com/hansardlog/hansard/session"
)

// conflict is one that a test expects.
type conflict struct {
	is     error
	text   string // part of what it says
	stored int
}

// wantConflicts imports and asks for exactly the named conflicts: of a session,
// by its ID, or of a row of another table.
func wantConflicts(t *testing.T, src *sourceDB, dst session.Service, want map[string]conflict, opts ...adk.ImportOption) adk.Report {
	t.Helper()
	rep, err := adk.Import(t.Context(), src.db, dst, opts...)
	if !errors.Is(err, adk.ErrIncomplete) || !strings.Contains(err.Error(), rep.Conflicts[0].Error()) {
		t.Fatalf("import: %v, want ErrIncomplete\n%+v", err, rep)
	}
	found := map[string]bool{}
	sessions := 0
	for _, got := range rep.Conflicts {
		name := got.Key.SessionID
		if got.Table != "sessions" {
			name = got.Table + " " + got.Key.UserID
		} else {
			sessions++
		}
		found[name] = true
		if w, ok := want[name]; !ok || !errors.Is(got, w.is) || !strings.Contains(got.Error(), w.text) || got.Stored != w.stored {
			t.Errorf("conflict of %s = %v (stored %d)\nwant %v with %q and %d stored", name, got, got.Stored, w.is, w.text, w.stored)
		}
	}
	for name := range want {
		if !found[name] {
			t.Errorf("no conflict of %s", name)
		}
	}
	if rep.Sessions != rep.Created+rep.Completed+rep.Skipped+sessions {
		t.Errorf("the report does not add up: %+v", rep)
	}
	return rep
}

// What is in the destination already, and not from this source, stays as it is.
func TestImportConflicts(t *testing.T) {
	t.Parallel()
	onSources(t, func(t *testing.T, src *sourceDB) {
		say := func(dst session.Service, id, event string) {
			t.Helper()
			_, err := dst.AppendEvent(t.Context(), &session.AppendEventRequest{Key: keyOf(id), Event: &session.Event{ID: event, Author: "ana"}})
			if err != nil {
				t.Fatal(err)
			}
		}
		ids := []string{"foreign", "foreign group", "empty", "gone on", "went in between", "inserted before", "inserted at end", "state", "replaced", "more events", "good"}
		for _, id := range ids {
			src.write(t, keyOf(id), map[string]any{"k": 1}, timed("e1", at(1), nil), timed("e3", at(3), nil))
		}
		dst := newDestination(t, src.db, "hansard_")
		for i, id := range ids[:3] {
			req := &session.CreateRequest{Key: keyOf(id), CreatedAt: time.Now().Add(-time.Hour)}
			if i == 1 {
				req.Kind, req.Members = session.KindGroup, []string{"ana"}
			}
			if _, err := dst.Create(t.Context(), req); err != nil {
				t.Fatal(err)
			}
			if id != "empty" {
				say(dst, id, "own")
			}
		}
		want := map[string]conflict{
			"foreign":       {adk.ErrConflict, "was made there at", 0},
			"foreign group": {adk.ErrConflict, "was made there at", 0},
			"empty":         {adk.ErrConflict, "was made there at", 0},
		}
		wantConflicts(t, src, dst, want)

		// The conversation goes on in the destination, or in the source, or both.
		say(dst, "gone on", "own")
		say(dst, "went in between", "own")
		insert := func(id, event string, second int) {
			src.exec(t, `INSERT INTO events (id, app_name, user_id, session_id, timestamp, actions) VALUES (?, 'app', 'ana', ?, ?, ?)`,
				event, id, at(second), []byte("{}"))
		}
		insert("went in between", "e4", 4)
		insert("inserted before", "e2", 2)
		insert("inserted at end", "e4", 4)
		for i := range 4 {
			insert("more events", fmt.Sprintf("f%d", i), 10+i)
		}
		src.exec(t, `UPDATE sessions SET state = '{"k":2}' WHERE id = 'state'`)
		src.exec(t, `UPDATE sessions SET create_time = ? WHERE id = 'replaced'`, at(0))
		before := records(t, dst, "app")
		want["went in between"] = conflict{adk.ErrConflict, `event 3 is not "e4"`, 0}
		want["inserted before"] = conflict{adk.ErrConflict, "events 1 to 2", 0}
		want["state"] = conflict{adk.ErrConflict, "state of the session is another", 0}
		want["replaced"] = conflict{adk.ErrConflict, "was made there at", 0}
		rep := wantConflicts(t, src, dst, want)
		if rep.Completed != 2 || rep.Skipped != 2 || rep.Events != 5 || rep.Replayed != 4 {
			t.Errorf("report = %+v", rep)
		}
		if got := fmt.Sprint(eventIDs(t, dst, keyOf("more events"))); got != "[e1 e3 f0 f1 f2 f3]" {
			t.Errorf("events = %s", got)
		}
		if got := fmt.Sprint(eventIDs(t, dst, keyOf("gone on"))); got != "[e1 e3 own]" {
			t.Errorf("events = %s", got)
		}
		after := records(t, dst, "app")
		for i := range before {
			if _, conflicts := want[before[i].Key.SessionID]; conflicts {
				if d := difference(before[i], after[i]); d != "" {
					t.Errorf("%s changed:\n%s", before[i].Key, d)
				}
			}
		}
		// One event at a time it is the same.
		want["inserted before"] = conflict{adk.ErrConflict, "events 2 to 2", 1}
		wantConflicts(t, src, dst, want, adk.WithPageSize(1, 1))
	})
}
