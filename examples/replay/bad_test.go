package main

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"gorm.io/driver/sqlite"
	"gorm.io/gorm"

	"github.com/hansardlog/hansard/session"
)

func TestBadLinesAreNamedAndSkipped(t *testing.T) {
	bad := []struct{ line, reason string }{
		{`{"id": "cut off", "messages": [`, "not a conversation: unexpected end of JSON input, at byte"},
		{`["an array"]`, "it is a JSON array, not an object"},
		{`{"messages": []}`, "it has no id"},
		{`{"id": 7, "messages": []}`, "id cannot be a JSON number"},
		{`{"id": "empty"}`, `"empty" has no messages`},
		{`{"id": "mute", "messages": [{"content": "Who?"}]}`, `message 1 of "mute": it has no role`},
		{`{"id": "null", "messages": [{"role": "user"}, null]}`, `message 2 of "null": it has no role`},
		{`{"id": "scalar", "messages": ["Hello"]}`, `message 1 of "scalar": it is a JSON string, not an object`},
		{`{"id": "call", "messages": [{"role": "assistant", "tool_calls": [{}]}]}`, "it calls a tool without a name"},
		{"{\"id\": \"latin-1\", \"messages\": [{\"role\": \"user\", \"content\": \"caf\xe9\"}]}", "it is not valid UTF-8"},
		{`{"id": "bell\u0007", "messages": []}`, "Key."}, // the store's own error names the field
		{conversationLine(strings.Repeat("i", session.MaxTextBytes+1), 1), "255"},
		{`{"id": "long tool", "messages": [{"role": "tool", "name": "` + strings.Repeat("t", 256) + `"}]}`, "Author"},
	}
	lines := []string{conversationLine("good-1", 5), ""}
	for _, b := range bad {
		lines = append(lines, b.line)
	}
	lines = append(lines, conversationLine("good-2", 1))
	path := writeLines(t, lines...)
	db := filepath.Join(t.TempDir(), "replay.db")

	stdout, stderr := replayed(t, 1, "-in", path, "-db", db)
	wantIn(t, stdout, "2 conversations, 6 events", "verified: 6 events of 2 conversations")
	reports := strings.Split(strings.TrimSpace(stderr), "\n")
	if len(reports) != len(bad)+1 {
		t.Fatalf("%d reports, want %d:\n%s", len(reports), len(bad)+1, stderr)
	}
	for i, b := range bad {
		if want := "replay: line " + strconv.Itoa(i+3) + ": "; !strings.HasPrefix(reports[i], want) {
			t.Errorf("report %q, want it to begin with %q", reports[i], want)
		}
		wantIn(t, reports[i], b.reason)
	}
	wantIn(t, reports[len(bad)], "13 bad lines were skipped")
	if all := snapshot(t, stored(t, options{db: db})); len(all) != 2 {
		t.Errorf("%d sessions are stored, want the 2 good ones", len(all))
	}
}

func TestSameIDOtherContent(t *testing.T) {
	const first = `{"id": "twice-1", "messages": [{"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}]}`
	tests := []struct{ name, line, reason string }{
		{"other words", strings.Replace(first, "two", "2", 1), session.ErrIdempotencyMismatch.Error()},
		{"other author", strings.Replace(first, "assistant", "critic", 1), session.ErrIdempotencyMismatch.Error()},
		{"nothing in common", `{"id": "twice-1", "messages": [{"role": "system", "content": "zero"}]}`, "stale"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			db := filepath.Join(t.TempDir(), "replay.db")
			in := writeLines(t, first, tt.line, first)
			for range 2 { // in one file, and against what an earlier run stored
				stdout, stderr := replayed(t, 1, "-in", in, "-db", db)
				wantIn(t, stderr, `line 2: conversation "twice-1": stored with other content`, tt.reason, "1 bad line was skipped")
				wantIn(t, stdout, "verified: 4 events of 2 conversations")
			}
			all := snapshot(t, stored(t, options{db: db}))
			if len(all) != 1 || all[0].HeadSeq != 2 {
				t.Errorf("stored: %d sessions, want one with two events", len(all))
			}
		})
	}
}

// TestVerificationFindsChanges is the negative control of "verified".
func TestVerificationFindsChanges(t *testing.T) {
	key := session.Key{AppName: "replay", UserID: "library-1", SessionID: "library-1-0"}
	exec := func(statement string) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			db, err := gorm.Open(sqlite.Open(sqliteDSN(path)), &gorm.Config{})
			if err != nil {
				t.Fatal(err)
			}
			if res := db.Exec(statement); res.Error != nil || res.RowsAffected == 0 {
				t.Fatalf("%d rows changed, %v", res.RowsAffected, res.Error)
			}
			pool, err := db.DB()
			if err != nil {
				t.Fatal(err)
			}
			if err := pool.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	tests := []struct {
		name   string
		change func(t *testing.T, path string)
		want   string
	}{
		{"one event more", func(t *testing.T, path string) {
			_, err := stored(t, options{db: path}).AppendEvent(t.Context(), &session.AppendEventRequest{
				Key: key, Event: &session.Event{Author: "user"},
			})
			if err != nil {
				t.Fatal(err)
			}
		}, `line 1: conversation "library-1-0": stored with other content: it goes on after message 9`},
		{"one byte of a payload", exec("UPDATE hansard_events SET payload = replace(payload, '19:20', '19:21')"),
			`line 3: conversation "ferry-2-0": stored with other content: message 3 has another payload`},
		{"a counter", exec("UPDATE hansard_session_states SET value = '7' WHERE name = 'tool_calls' AND value = '1'"),
			`line 2: conversation "library-1-1": stored with other content: state counts 7 tool calls, want 1`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "replay.db")
			replayed(t, 0, "-db", path)
			tt.change(t, path)
			stdout, stderr := replayed(t, 1, "-db", path)
			wantIn(t, stderr, tt.want)
			if strings.Contains(stdout, "verified") {
				t.Errorf("stdout says it is verified:\n%s", stdout)
			}
		})
	}
}

func TestCommandLine(t *testing.T) {
	tests := []struct {
		args   []string
		code   int
		stderr string
	}{
		{[]string{"-nonsense"}, 2, "-nonsense"},
		{[]string{"file.jsonl"}, 2, "named with -in"},
		{[]string{"-db", "a", "-postgres", "b"}, 2, "exclude each other"},
		{[]string{"-workers", "0"}, 2, "at least 1"},
		{[]string{"-help"}, 0, "FILE.jsonl"},
		{[]string{"-in", "no such file"}, 1, "no such file"},
		{[]string{"-in", t.TempDir()}, 1, "not a regular file"},
		{[]string{"-db", filepath.Join(t.TempDir(), "no", "such.db")}, 1, "database"},
	}
	for _, tt := range tests {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			stdout, stderr := replayed(t, tt.code, tt.args...)
			wantIn(t, stderr, tt.stderr)
			if stdout != "" {
				t.Errorf("stdout: %s", stdout)
			}
		})
	}
}
