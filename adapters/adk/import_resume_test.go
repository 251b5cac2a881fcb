package adk_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"sync"
	"testing"

	adksession "google.golang.org/adk/v2/session"

	"github.com/hansardlog/hansard/adapters/adk"
	"github.com/hansardlog/hansard/session"
	"github.com/hansardlog/hansard/session/database"
)

// writeMany writes copies*50 sessions of 0 to 4 events, and some of 60. ADK
// writes the first 50, the others are copies of their rows under other IDs.
func writeMany(t *testing.T, src *sourceDB, copies int) (sessions, events int) {
	t.Helper()
	for i := range 50 {
		count := i % 5
		if i == 21 {
			count = 60
		}
		var list []*adksession.Event
		for n := range count {
			list = append(list, timed(fmt.Sprintf("e%d-%d", i, n), at(n), map[string]any{"last": n, "user:seen": i}))
		}
		src.write(t, session.Key{AppName: "app", UserID: fmt.Sprintf("user %d", i%7), SessionID: fmt.Sprintf("s%d", i)}, map[string]any{"n": i}, list...)
		events += count
	}
	names := `SELECT column_name FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = ?`
	if src.kind == "sqlite" {
		names = `SELECT name FROM pragma_table_info(?)`
	}
	for _, c := range [][2]string{{"sessions", "id"}, {"events", "session_id"}} {
		table, id := c[0], c[1]
		var columns, values []string
		if err := src.db.Raw(names, table).Scan(&columns).Error; err != nil {
			t.Fatal(err)
		}
		for _, name := range columns {
			if name == id {
				name = "s." + name + " || '-copy-' || copies.n"
			}
			values = append(values, name)
		}
		src.exec(t, `INSERT INTO `+table+` (`+strings.Join(columns, ", ")+`)
			WITH RECURSIVE copies (n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM copies WHERE n < ?)
			SELECT `+strings.Join(values, ", ")+` FROM `+table+` s CROSS JOIN copies`, copies)
	}
	return 50 * copies, events * copies
}

// importChild names the database for TestImportChild: kind and DSN.
const importChild = "HANSARD_TEST_IMPORT"

// TestImportChild is the process that TestImportResumes kills.
func TestImportChild(t *testing.T) {
	kind, dsn, ok := strings.Cut(os.Getenv(importChild), " ")
	if !ok {
		t.Skip("only as a child of another test")
	}
	db := openPool(t, kind, dsn)
	dst, err := database.New(db)
	if err != nil {
		t.Fatal(err)
	}
	rep, err := adk.Import(t.Context(), db, dst, adk.WithPageSize(100, 7), adk.WithProgress(func(adk.Progress) { fmt.Println("step") }))
	t.Logf("%+v, %v", rep, err)
}

// kill starts an import in another process and kills it after some steps.
func (src *sourceDB) kill(t *testing.T, steps int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestImportChild$")
	cmd.Env = append(os.Environ(), importChild+"="+src.kind+" "+src.dsn)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for seen := 0; seen < steps && lines.Scan(); seen++ {
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Errorf("the import came to its end before step %d", steps)
	}
}

// An import that is cancelled and killed again and again comes to the same as
// one that nobody disturbs.
func TestImportResumes(t *testing.T) {
	t.Parallel()
	onSources(t, func(t *testing.T, src *sourceDB) {
		copies := map[string]int{"sqlite": 100, "postgres": 20}[src.kind] // 5,000 and 1,000 sessions
		if testing.Short() {
			copies = 4
		}
		sessions, events := writeMany(t, src, copies)
		undisturbed := memory()
		if rep := mustImport(t, src, undisturbed); rep.Sessions != sessions || rep.Events != events {
			t.Fatalf("report = %+v, want %d sessions and %d events", rep, sessions, events)
		}

		dst := newDestination(t, src.db, "hansard_")
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		random := rand.New(rand.NewPCG(seed, 0))
		for round := range 4 {
			// Each round comes to the end of its quarter at most: skipped sessions
			// are steps, too.
			steps := (round*sessions + random.IntN(sessions)) / 4
			if round%2 == 0 {
				src.kill(t, steps+1)
				continue
			}
			ctx, cancel := context.WithCancel(t.Context())
			rep, err := adk.Import(ctx, src.db, dst, adk.WithPageSize(100, 5), adk.WithProgress(func(adk.Progress) {
				if steps--; steps < 0 {
					cancel()
				}
			}))
			cancel()
			if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "adk: import: ") || rep.Sessions > sessions {
				t.Errorf("cancelled import: %v, %+v", err, rep)
			}
		}
		rep := mustImport(t, src, dst)
		if rep.Sessions != sessions || rep.Created+rep.Completed+rep.Skipped != sessions || rep.Created == 0 || rep.Skipped == 0 {
			t.Errorf("report of the last import = %+v", rep)
		}
		want, got := records(t, undisturbed, "app"), records(t, dst, "app")
		if len(got) != len(want) {
			t.Fatalf("%d sessions, want %d", len(got), len(want))
		}
		for i := range want {
			if !reflect.DeepEqual(want[i], got[i]) {
				t.Fatalf("session %s:\n%s", want[i].Key, difference(want[i], got[i]))
			}
		}
	})
}

// Two imports of one source into one store at the same time share the work.
func TestImportsBesideEachOther(t *testing.T) {
	t.Parallel()
	onSources(t, func(t *testing.T, src *sourceDB) {
		sessions, events := writeMany(t, src, 4)
		undisturbed := memory()
		mustImport(t, src, undisturbed)
		newDestination(t, src.db, "hansard_") // its tables
		var wg sync.WaitGroup
		reports := make([]adk.Report, 3)
		for i := range reports {
			db := openPool(t, src.kind, src.dsn)
			dst, err := database.New(db)
			if err != nil {
				t.Fatal(err)
			}
			wg.Go(func() {
				var err error
				if reports[i], err = adk.Import(t.Context(), db, dst, adk.WithPageSize(50, 3+5*i)); err != nil {
					t.Errorf("import %d: %v", i, err)
				}
			})
		}
		wg.Wait()
		stored := 0
		for i, rep := range reports {
			stored += rep.Events
			if rep.Sessions != sessions {
				t.Errorf("import %d: %+v", i, rep)
			}
		}
		if stored != events {
			t.Errorf("together they stored %d events, want %d", stored, events)
		}
		dst := newDestination(t, src.db, "hansard_")
		if want, got := records(t, undisturbed, "app"), records(t, dst, "app"); !reflect.DeepEqual(want, got) {
			t.Error(difference(want, got))
		}
	})
}
