package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hansardlog/hansard/internal/dbtest"
	"github.com/hansardlog/hansard/session"
)

// asProgram makes the test binary behave as the program itself, for tests that
// need a process.
const asProgram = "HANSARD_TEST_REPLAY"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(dbtest.Main(m))
}

// replayed runs the program and returns what it printed.
func replayed(t *testing.T, wantCode int, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, errs strings.Builder
	if code := run(t.Context(), args, &out, &errs); code != wantCode {
		t.Fatalf("exit code %d, want %d\nstdout: %s\nstderr: %s", code, wantCode, out.String(), errs.String())
	}
	return out.String(), errs.String()
}

func wantIn(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in\n%s", part, text)
		}
	}
}

// stored opens the database of an earlier run.
func stored(t *testing.T, opts options) session.Service {
	t.Helper()
	svc, _, closeService, err := openService(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := closeService(); err != nil {
			t.Error(err)
		}
	})
	return svc
}

// snapshot returns everything that is stored for the app.
func snapshot(t *testing.T, svc session.Service) []*session.Session {
	t.Helper()
	var all []*session.Session
	for s, err := range session.AllSessions(t.Context(), svc, session.ListRequest{AppName: appName}) {
		if err != nil {
			t.Fatal(err)
		}
		resp, err := svc.Get(t.Context(), &session.GetRequest{Key: s.Key})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, resp.Session)
	}
	return all
}

// writeLines writes an input of these lines.
func writeLines(t *testing.T, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "in.jsonl")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// conversationLine returns a conversation of n messages, a tool call in every
// other one.
func conversationLine(id string, n int) string {
	messages := make([]string, n)
	for i := range messages {
		messages[i] = fmt.Sprintf(`{"role": "user", "content": "message %d"}`, i+1)
		if i%2 == 1 {
			messages[i] = fmt.Sprintf(`{"role": "assistant", "content": null, "tool_calls": [{"id": "c%d", "function": {"name": "tool %d"}}]}`, i, i%10)
		}
	}
	return fmt.Sprintf(`{"id": %q, "messages": [%s]}`, id, strings.Join(messages, ", "))
}

const sampleTable = `
  conversation  events  tool calls    bytes  new  replayed
  library-1-0        9           2  1.0 KiB    9         0
  library-1-1        4           1    531 B    4         0
  ferry-2-0          5           2    610 B    5         0
  kitchen-3-0        3           0    328 B    3         0
`

func TestSampleWithoutArguments(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	stdout, stderr := replayed(t, 0)
	wantIn(t, stdout,
		"database: ", "temporary", "-db FILE keeps it",
		"4 conversations, 21 events, 5 tool calls", ": 21 new, 0 replayed", "events per second",
		"verified: 21 events of 4 conversations equal the input byte for byte",
		sampleTable)
	if stderr != "" {
		t.Errorf("stderr, which is no terminal: %q", stderr)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("the temporary database is still there: %v, %v", left, err)
	}
}

func TestSecondRunStoresNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a file?.db")
	stdout, _ := replayed(t, 0, "-db", path)
	wantIn(t, stdout, "database: "+path+"\n", ": 21 new, 0 replayed")
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	before, err := json.Marshal(snapshot(t, stored(t, options{db: path})))
	if err != nil {
		t.Fatal(err)
	}

	stdout, _ = replayed(t, 0, "-db", path)
	wantIn(t, stdout, ": 0 new, 21 replayed", "all were replays: nothing was stored", "verified: 21 events")
	after, err := json.Marshal(snapshot(t, stored(t, options{db: path})))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before, after) {
		t.Errorf("the second run changed what is stored from\n%s\nto\n%s", before, after)
	}
}

func TestWhatIsStored(t *testing.T) {
	path := filepath.Join(t.TempDir(), "replay.db")
	replayed(t, 0, "-db", path)
	svc := stored(t, options{db: path})
	resp, err := svc.Get(t.Context(), &session.GetRequest{Key: session.Key{AppName: "replay", UserID: "ferry-2", SessionID: "ferry-2-0"}})
	if err != nil {
		t.Fatal(err)
	}
	authors := make([]string, 0, 5)
	for _, event := range resp.Session.Events {
		authors = append(authors, event.Author)
		if event.Format != "chat-completions" {
			t.Errorf("event %d has format %q", event.Seq, event.Format)
		}
	}
	if got, want := fmt.Sprint(authors), "[user assistant timetable tide assistant]"; got != want {
		t.Errorf("authors %s, want %s", got, want)
	}
	const last = `{"content":"Um 17:05 und um 19:20 Uhr. Räder kosten nichts extra.","role":"assistant","usage":{"tokens":18446744073709551615,"price":0.00120}}`
	if got := string(resp.Session.Events[4].Payload); got != last {
		t.Errorf("payload %s, want %s", got, last)
	}
	state := resp.Session.State
	wantState := session.State{
		"tool_calls": json.Number("2"), "user:last_tool": "tide",
		"app:tool/find_book": true, "app:tool/reserve": true, "app:tool/tide": true, "app:tool/timetable": true,
	}
	if got, want := fmt.Sprint(state), fmt.Sprint(wantState); got != want {
		t.Errorf("state %s, want %s", got, want)
	}
}

func TestRealConversations(t *testing.T) {
	const path = "../../../shared/data/airline-25.jsonl"
	if _, err := os.Stat(path); err != nil {
		t.Skip("the recorded conversations are not beside this checkout: ", err)
	}
	db := filepath.Join(t.TempDir(), "airline.db")
	stdout, stderr := replayed(t, 0, "-in", path, "-db", db)
	wantIn(t, stdout, "25 conversations, 654 events, 146 tool calls", ": 654 new, 0 replayed",
		"verified: 654 events of 25 conversations")
	if stderr != "" {
		t.Errorf("stderr: %s", stderr)
	}
	checkPayloads(t, path, stored(t, options{db: db}))
	stdout, _ = replayed(t, 0, "-in", path, "-db", db, "-workers", "1")
	wantIn(t, stdout, ": 0 new, 654 replayed", "nothing was stored", "verified: 654 events")
}

// checkPayloads compares what is stored with the input by other means than the
// program: it puts the payloads of each session together and looks for them in
// the file.
func checkPayloads(t *testing.T, path string, svc session.Service) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	events := 0
	for _, s := range snapshot(t, svc) {
		payloads := make([]string, len(s.Events))
		for i, event := range s.Events {
			payloads[i] = string(event.Payload)
		}
		events += len(payloads)
		if !bytes.Contains(data, []byte(`"messages": [`+strings.Join(payloads, ", ")+`]`)) {
			t.Errorf("the payloads of %s do not stand in the input in this order", s.Key)
		}
	}
	if want := bytes.Count(data, []byte(`"role": `)); events != want {
		t.Errorf("%d events are stored, want %d", events, want)
	}
}

func TestPostgres(t *testing.T) {
	dsn := dbtest.Postgres(t)
	path := writeLines(t, conversationLine("long-1", 2*maxBatchEvents+1), conversationLine("short-1", 3))
	stdout, _ := replayed(t, 0, "-in", path, "-postgres", dsn)
	wantIn(t, stdout, "database: PostgreSQL\n", ": 1004 new, 0 replayed", "verified: 1004 events of 2 conversations")
	stdout, _ = replayed(t, 0, "-in", path, "-postgres", dsn)
	wantIn(t, stdout, ": 0 new, 1004 replayed", "nothing was stored", "verified: 1004 events of 2 conversations")
}
