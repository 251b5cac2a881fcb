package adk_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hansardlog/hansard/adapters/adk"
	"github.com/hansardlog/hansard/session"
	"github.com/hansardlog/hansard/session/inmemory"
)

// A row that nobody could import stops none of the others.
func TestImportBadRows(t *testing.T) {
	t.Parallel()
	onSources(t, func(t *testing.T, src *sourceDB) {
		long := strings.Repeat("x", 256)
		for _, id := range []string{"a good", "actions", "content", "flag", "time", "null", "blob", "key", "state", "created", "z good", long} {
			state := map[string]any{"k": 1}
			if id == "key" {
				state[long] = 1
			}
			src.write(t, keyOf(id), state, timed(id+"1", at(1), nil), timed(id+"2", at(2), map[string]any{"user:" + id: 1}), timed(id+"3", at(3), nil))
		}
		src.write(t, session.Key{AppName: "app", UserID: "nul", SessionID: "owner"}, nil,
			timed("e", at(1), map[string]any{"user:fine": 1, "user:" + long: 2, "user:also": 3}))
		src.write(t, session.Key{AppName: "app\n", UserID: "ana", SessionID: "app"}, nil, timed("e", at(1), map[string]any{"app:x": 1}))
		src.exec(t, `UPDATE events SET actions = ? WHERE id = 'actions2'`, []byte(`{"stateDelta":`))
		want := map[string]conflict{
			"actions":            {adk.ErrUnreadable, `event "actions2": unreadable row in the source: column actions: unexpected EOF`, 0},
			"key":                {session.ErrInvalidArgument, "256 bytes, at most 255", 0},
			long:                 {session.ErrInvalidArgument, "Key.SessionID: 256 bytes, at most 255", 0},
			"app":                {session.ErrInvalidArgument, "Key.AppName: control character U+000A", 0},
			"app_states ":        {session.ErrInvalidArgument, "AppName: control character U+000A", 0},
			"user_states nul":    {session.ErrInvalidArgument, "261 bytes, at most 255", 0},
			"user_states ana":    {session.ErrInvalidArgument, "261 bytes, at most 255", 0},
			"created":            {adk.ErrUnreadable, "column create_time: not a time", 0},
			"time":               {adk.ErrUnreadable, "columns timestamp and id of 1 events: not a time", 0},
			"user_states broken": {adk.ErrUnreadable, "column state: json: cannot unmarshal array", 0},
		}
		good := []string{"a good", "content", "flag", "null", "blob", "state", "z good"}
		if src.db.Name() == "sqlite" {
			src.exec(t, `UPDATE events SET timestamp = 'soon' WHERE id = 'time3'`)
			src.exec(t, `UPDATE sessions SET create_time = 'once' WHERE id = 'created'`)
			// PostgreSQL takes none of these.
			src.exec(t, `UPDATE events SET content = '{"parts":[]} {}' WHERE id = 'content1'`)
			src.exec(t, `UPDATE events SET id = NULL WHERE id = 'null3'`)
			src.exec(t, `UPDATE events SET id = x'ff' WHERE id = 'blob3'`)
			src.exec(t, `UPDATE events SET interrupted = 'maybe' WHERE id = 'flag2'`)
			src.exec(t, `UPDATE sessions SET state = '{' WHERE id = 'state'`)
			want["content"] = conflict{adk.ErrUnreadable, `event "content1": unreadable row in the source: column content: more than one`, 0}
			want["null"] = conflict{adk.ErrUnreadable, "columns timestamp and id of 1 events", 0}
			want["blob"] = want["null"]
			want["flag"] = conflict{adk.ErrUnreadable, "interrupted", 0}
			want["state"] = conflict{adk.ErrUnreadable, "column state: unexpected EOF", 0}
			good = []string{"a good", "z good"}
		} else {
			src.exec(t, `UPDATE events SET timestamp = 'infinity' WHERE id = 'time3'`)
			src.exec(t, `UPDATE sessions SET create_time = '-infinity' WHERE id = 'created'`)
		}
		src.exec(t, `INSERT INTO user_states (app_name, user_id, state) VALUES ('app', 'broken', '[1]')`)

		dst := memory()
		rep := wantConflicts(t, src, dst, want)
		if rep.Created != len(good)+1 {
			t.Errorf("created %d, want %d", rep.Created, len(good)+1)
		}
		for _, id := range good {
			sameEvents(t, src, dst, keyOf(id))
		}
		if got := len(records(t, dst, "app")); got != rep.Created {
			t.Errorf("%d sessions in the destination, want %d: of a refused one nothing is to be seen", got, rep.Created)
		}
		shared, err := dst.GetState(t.Context(), &session.GetStateRequest{AppName: "app", UserID: "nul"})
		if err != nil || fmt.Sprint(shared.State) != "map[user:also:3 user:fine:1]" {
			t.Errorf("shared state = %v, %v", shared, err)
		}
		if again := wantConflicts(t, src, dst, want); again.Skipped != rep.Created || again.Events != 0 {
			t.Errorf("second import: %+v", again)
		}
	})
}

// A session that breaks off stays as far as it came.
func TestImportOfAnEventTooLarge(t *testing.T) {
	t.Parallel()
	onSources(t, func(t *testing.T, src *sourceDB) {
		large := timed("e3", at(3), nil)
		large.ErrorMessage = strings.Repeat("<", 1000) // six bytes each in JSON
		src.write(t, keyOf("s"), nil, timed("e1", at(1), nil), timed("e2", at(2), nil), large, timed("e4", at(4), nil))
		dst := inmemory.New(inmemory.WithMaxPayload(5000))
		want := map[string]conflict{"s": {session.ErrInvalidArgument, "at most 5000", 2}}
		wantConflicts(t, src, dst, want, adk.WithPageSize(1, 1))
		if rep := wantConflicts(t, src, dst, want, adk.WithPageSize(1, 2)); rep.Replayed != 2 || rep.Conflicts[0].Events != 4 ||
			!strings.Contains(rep.Conflicts[0].Error(), `2 of 4 events stored: event "e3"`) {
			t.Errorf("second import: %+v", rep)
		}
		if got := eventIDs(t, dst, keyOf("s")); len(got) != 2 {
			t.Errorf("events = %q, want the two before", got)
		}
	})
}
