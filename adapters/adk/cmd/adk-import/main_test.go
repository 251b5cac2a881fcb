package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/glebarez/sqlite"
	adksession "google.golang.org/adk/v2/session"
	adkdatabase "google.golang.org/adk/v2/session/database"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/hansardlog/hansard/adapters/adk"
	"github.com/hansardlog/hansard/internal/dbtest"
	"github.com/hansardlog/hansard/session"
	"github.com/hansardlog/hansard/session/database"
)

func TestMain(m *testing.M) { os.Exit(dbtest.Main(m)) }

// writeSource has ADK write three sessions of two events with one timestamp.
func writeSource(t *testing.T, d gorm.Dialector) {
	t.Helper()
	svc, err := adkdatabase.NewSessionService(d, &gorm.Config{Logger: logger.Discard})
	if err != nil {
		t.Fatal(err)
	}
	if err := adkdatabase.AutoMigrate(svc); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		resp, err := svc.Create(t.Context(), &adksession.CreateRequest{
			AppName: "app", UserID: "ana", SessionID: fmt.Sprint("s", i), State: map[string]any{"app:a": 1, "user:u": 1},
		})
		if err != nil {
			t.Fatal(err)
		}
		for n := range 2 {
			event := &adksession.Event{ID: fmt.Sprint("e", n), Author: "agent", Timestamp: time.Date(2025, 1, 2, 3, 4, 5, 0, time.UTC)}
			if err := svc.AppendEvent(t.Context(), resp.Session, event); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// command runs the program.
func command(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = run(ctx, args, &out, &errs)
	return code, out.String(), errs.String()
}

// newDatabases returns what -from and -to are for each pair of databases. The
// source is written.
func newDatabases(t *testing.T, from, to string) (fromDSN, toDSN string) {
	t.Helper()
	if from == "postgres" {
		fromDSN = dbtest.Postgres(t)
		writeSource(t, postgres.Open(fromDSN))
	} else {
		fromDSN = filepath.Join(t.TempDir(), "100% #1.db")
		writeSource(t, sqlite.Open(dbtest.PureSQLiteDSN(fromDSN)))
	}
	switch to {
	case "same":
		return fromDSN, fromDSN
	case "postgres":
		return fromDSN, dbtest.Postgres(t)
	}
	return fromDSN, "sqlite:" + filepath.Join(t.TempDir(), "hansard")
}

func TestImport(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]string{{"sqlite", "sqlite"}, {"sqlite", "same"}, {"sqlite", "postgres"}, {"postgres", "same"}, {"postgres", "sqlite"}} {
		t.Run(pair[0]+" to "+pair[1], func(t *testing.T) {
			t.Parallel()
			from, to := newDatabases(t, pair[0], pair[1])
			code, stdout, stderr := command(t.Context(), "-from", from, "-to", to)
			want := "sessions: 3, of these 3 new, 0 completed, 0 there already\nevents: 6 stored\n" +
				"state: 1 app: keys and 1 user: keys copied, 0 there already\n" +
				"events with the timestamp of the one before, put in the order of their IDs: 3\n" +
				"  such as \"e1\" in session \"app\"/\"ana\"/\"s0\" (1 there)\n"
			if code != 0 || !strings.HasPrefix(stdout, want) || stderr != "" {
				t.Fatalf("exit status %d\n%s\n%s\nwant\n%s", code, stdout, stderr, want)
			}
			code, stdout, stderr = command(t.Context(), "-from", from, "-to", to)
			if code != 0 || !strings.HasPrefix(stdout, "sessions: 3, of these 0 new, 0 completed, 3 there already\nevents: 0 stored\n") || stderr != "" {
				t.Errorf("second run: exit status %d\n%s\n%s", code, stdout, stderr)
			}

			parsed, err := parseDSN("-to", to, "")
			if err != nil {
				t.Fatal(err)
			}
			svc, err := database.Open(parsed.destination())
			if err != nil {
				t.Fatal(err)
			}
			defer svc.Close()
			resp, err := adk.New(svc).Get(t.Context(), &adksession.GetRequest{AppName: "app", UserID: "ana", SessionID: "s2"})
			if err != nil || resp.Session.Events().Len() != 2 {
				t.Errorf("session s2: %+v, %v", resp, err)
			}
		})
	}
}

func TestImportOfOneAppUnderAPrefix(t *testing.T) {
	t.Parallel()
	from, to := newDatabases(t, "sqlite", "same")
	code, stdout, stderr := command(t.Context(), "-from", from, "-to", to, "-prefix", "kept_", "-app", "none")
	if code != 0 || !strings.HasPrefix(stdout, "sessions: 0,") {
		t.Errorf("exit status %d\n%s\n%s", code, stdout, stderr)
	}
	db, err := gorm.Open(sqlite.Open(from), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		t.Fatal(err)
	}
	if !db.Migrator().HasTable("kept_events") || db.Migrator().HasTable("hansard_events") {
		t.Error("the tables do not have the prefix")
	}
}

func TestConflictsAreNamed(t *testing.T) {
	t.Parallel()
	from, to := newDatabases(t, "sqlite", "sqlite")
	parsed, err := parseDSN("-to", to, "")
	if err != nil {
		t.Fatal(err)
	}
	svc, err := database.Open(parsed.destination())
	if err != nil {
		t.Fatal(err)
	}
	defer svc.Close()
	if err := svc.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := svc.Create(t.Context(), &session.CreateRequest{Key: session.Key{AppName: "app", UserID: "ana", SessionID: "s1"}}); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := command(t.Context(), "-from", from, "-to", to)
	if code != 1 || !strings.Contains(stdout, "3, of these 2 new") || !strings.Contains(stdout, "conflicts: 1\n") ||
		!strings.Contains(stderr, `adk-import: conflict: session "app"/"ana"/"s1", 0 of 2 events stored: other content`) ||
		!strings.HasSuffix(stderr, "adk-import: not everything was imported\n") {
		t.Errorf("exit status %d\n%s\n%s", code, stdout, stderr)
	}
}

func TestInterruption(t *testing.T) {
	t.Parallel()
	from, to := newDatabases(t, "sqlite", "sqlite")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if code, _, stderr := command(ctx, "-from", from, "-to", to); code != 1 || !strings.Contains(stderr, "interrupted: run the same command again") {
		t.Errorf("exit status %d\n%s", code, stderr)
	}
	if code, stdout, _ := command(t.Context(), "-from", from, "-to", to); code != 0 || !strings.Contains(stdout, "3 new") {
		t.Errorf("after it: exit status %d\n%s", code, stdout)
	}
}

func TestNoBarWithoutATerminal(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	bar := progress{w: w}
	bar.show(adk.Progress{TotalSessions: 2})
	bar.show(adk.Progress{Sessions: 1, TotalSessions: 2})
	bar.clear()
	w.Close()
	if out, err := io.ReadAll(r); err != nil || len(out) > 0 {
		t.Errorf("written to a pipe: %q, %v", out, err)
	}
}
