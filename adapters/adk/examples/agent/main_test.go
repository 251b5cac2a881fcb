package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	adksession "google.golang.org/adk/v2/session"
	adkdatabase "google.golang.org/adk/v2/session/database"
	"gorm.io/driver/postgres"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/hansardlog/hansard/adapters/adk"
	"github.com/hansardlog/hansard/internal/dbtest"
	"github.com/hansardlog/hansard/session/database"
)

func TestMain(m *testing.M) { os.Exit(dbtest.Main(m)) }

const recorded = `1   user      What would 3 desks cost?
2   buyer     calls price {"article":"desk"}
3   buyer     price answers {"price":249.9}
4   buyer     calls transfer_to_agent {"agent_name":"quote"}
5   buyer     transfer_to_agent answers null
n   delivery  in 2 days
n   stock     7 in stock
8   writer    3 desks for Ana at 249.9 EUR each, 7 in stock, in 2 days.
9   user      Order them, please.
10  buyer     calls approval {"amount":749.7}
11  buyer     approval answers {"status":"pending"}
12  buyer     I asked for an approval.
13  user      approval answers {"by":"ben","status":"approved"}
14  buyer     ben approved it: 3 desks are ordered.

app:currency       = EUR
app:last_price     = 249.9
asked_for          = 749.7
budget             = 1000
delivery           = in 2 days
price              = 249.9
stock              = 7 in stock
user:last_article  = desk
user:name          = Ana
`

// inParallel matches the two lines of the parallel agents, in either order.
var inParallel = regexp.MustCompile(`(?m)^6 (.*\n)7 (.*\n)`)

func unordered(out string) string {
	return inParallel.ReplaceAllStringFunc(out, func(lines string) string {
		pair := strings.SplitAfter(lines, "\n")[:2]
		pair[0], pair[1] = "n"+pair[0][1:], "n"+pair[1][1:]
		slices.Sort(pair)
		return strings.Join(pair, "")
	})
}

func TestProgram(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		args func(t *testing.T) []string
	}{
		{"temporary", func(*testing.T) []string { return nil }},
		{"sqlite", func(t *testing.T) []string { return []string{"-db", dbtest.SQLite(t)} }},
		{"postgres", func(t *testing.T) []string { return []string{"-postgres", dbtest.Postgres(t)} }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			args := tt.args(t)
			for range 2 { // the second conversation finds the tables and the shared state
				var stdout, stderr strings.Builder
				if code := run(t.Context(), args, &stdout, &stderr); code != 0 {
					t.Fatalf("exit code %d: %s", code, stderr.String())
				}
				if got := unordered(stdout.String()); got != recorded {
					t.Errorf("recorded\n%s\nwant\n%s", got, recorded)
				}
			}
		})
	}
}

func TestBadUse(t *testing.T) {
	var stdout, stderr strings.Builder
	if code := run(t.Context(), []string{"-nonsense"}, &stdout, &stderr); code != 2 {
		t.Errorf("unknown flag: exit code %d, want 2", code)
	}
	stderr.Reset()
	if code := run(t.Context(), []string{"-db", "/no/such/directory/x.db"}, &stdout, &stderr); code != 1 || !strings.HasPrefix(stderr.String(), "agent: ") {
		t.Errorf("exit code %d, %q", code, stderr.String())
	}
}

// The same program on ADK's own database service leaves the same to be seen.
func TestSameAsOnADKsService(t *testing.T) {
	t.Parallel()
	for _, db := range []struct {
		name string
		new  func(t *testing.T) func() gorm.Dialector
	}{
		{"sqlite", func(t *testing.T) func() gorm.Dialector {
			dsn := dbtest.SQLiteDSN(dbtest.SQLite(t))
			return func() gorm.Dialector { return sqlite.Open(dsn) }
		}},
		{"postgres", func(t *testing.T) func() gorm.Dialector {
			dsn := dbtest.Postgres(t)
			return func() gorm.Dialector { return postgres.Open(dsn) }
		}},
	} {
		t.Run(db.name, func(t *testing.T) {
			t.Parallel()
			dialector := db.new(t) // one database holds the tables of both
			want := visible(t, ofADK(t, dialector()), ofADK(t, dialector()))
			for name, opts := range map[string][]adk.Option{"default": nil, "exclusive runs": {adk.WithExclusiveRuns()}} {
				got := visible(t, ofHansard(t, dialector(), opts...), ofHansard(t, dialector(), opts...))
				for i := range max(len(got), len(want)) {
					if i >= len(got) || i >= len(want) || got[i] != want[i] {
						t.Fatalf("%s: at %d\n%s\nwith ADK's service\n%s", name, i, strings.Join(got[min(i, len(got)):], "\n"), strings.Join(want[min(i, len(want)):], "\n"))
					}
				}
			}
		})
	}
}

func ofADK(t *testing.T, d gorm.Dialector) adksession.Service {
	t.Helper()
	db, err := gorm.Open(d, &gorm.Config{Logger: logger.Discard})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if pool, err := db.DB(); err != nil || pool.Close() != nil {
			t.Errorf("close: %v", err)
		}
	})
	svc, err := adkdatabase.NewSessionService(d, &gorm.Config{Logger: logger.Discard, ConnPool: db.ConnPool})
	if err != nil {
		t.Fatal(err)
	}
	if err := adkdatabase.AutoMigrate(svc); err != nil {
		t.Fatal(err)
	}
	return guarded{svc}
}

func ofHansard(t *testing.T, d gorm.Dialector, opts ...adk.Option) adksession.Service {
	t.Helper()
	db, err := database.Open(d)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return adk.New(db, opts...)
}

// visible holds the conversation and returns every event and the state as JSON,
// without what is different each time: IDs and times. The parallel agents' events
// come in the order of their authors.
func visible(t *testing.T, desk, office adksession.Service) []string {
	t.Helper()
	ctx := t.Context()
	id, err := converse(ctx, desk, office)
	if err != nil {
		t.Fatal(err)
	}
	got, err := office.Get(ctx, &adksession.GetRequest{AppName: appName, UserID: userID, SessionID: id})
	if err != nil {
		t.Fatal(err)
	}
	events := slices.Collect(got.Session.Events().All())
	for i := range events[1:] {
		if a, b := events[i], events[i+1]; a.Branch != "" && b.Branch != "" && b.Author < a.Author {
			events[i], events[i+1] = b, a
		}
	}
	var lines []string
	for _, event := range events {
		data, err := json.Marshal(event)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(data))
	}
	for key, value := range got.Session.State().All() {
		lines = append(lines, fmt.Sprintf("state %s = %T %v", key, value, value))
	}
	slices.Sort(lines[len(events):])
	return numbered(lines)
}

var changing = regexp.MustCompile(`(adk-|e-)?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|"timestamp":"[^"]*"`)

// numbered replaces each ID by the number of its first appearance.
func numbered(lines []string) []string {
	seen := map[string]string{}
	for i, line := range lines {
		lines[i] = changing.ReplaceAllStringFunc(line, func(id string) string {
			if strings.HasPrefix(id, `"timestamp"`) {
				return `"timestamp":""`
			}
			if seen[id] == "" {
				seen[id] = fmt.Sprint("id", len(seen))
			}
			return seen[id]
		})
	}
	return lines
}
