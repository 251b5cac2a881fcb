package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hansardlog/hansard/internal/pgserver"
)

// needPostgres skips a test where there is no server to start, unless the
// environment forbids it.
func needPostgres(t *testing.T) {
	t.Helper()
	if _, err := pgserver.Find(); errors.Is(err, pgserver.ErrNone) && os.Getenv("HANSARD_TEST_REQUIRE_POSTGRES") == "" {
		t.Skip(err)
	}
}

// quick runs the program and returns its report in both forms.
func quick(t *testing.T, args ...string) (r report, markdown string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "report.json")
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), append([]string{"-quick", "-json", file}, args...), &stdout, &stderr, nil); code != 0 {
		t.Fatalf("exit code %d\n%s", code, stderr.Bytes())
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	return r, stdout.String()
}

// TestQuick runs every workload and looks whether each goal has its figure.
func TestQuick(t *testing.T) {
	needPostgres(t)
	r, markdown := quick(t)
	for _, g := range r.Goals {
		if g.Verdict == unmeasured {
			t.Errorf("goal %s: %s of %s was not measured", g.ID, g.Of.Workload, g.Of.Contender)
		}
	}
	for _, s := range r.Series {
		if s.Ours && s.Faults.total() > 0 {
			t.Errorf("%s: %s: %s", s.Workload, s.Contender, s.Faults)
		}
		if len(s.Values) != 1 || s.Median <= 0 {
			t.Errorf("%s: %s: values %v with the median %v", s.Workload, s.Contender, s.Values, s.Median)
		}
		if !strings.Contains(markdown, "| "+s.Workload+" | "+s.Contender+" |") {
			t.Errorf("no row for %s of %s", s.Workload, s.Contender)
		}
	}
	for _, w := range workloads() {
		if !strings.Contains(markdown, w.name) {
			t.Errorf("no row for %s", w.name)
		}
	}
	for _, name := range []string{"PostgreSQL", "fsync", "synchronous_commit", "SQLite driver", "SQLite synchronous", "processors", "Go"} {
		if !strings.Contains(markdown, "| "+name+" |") {
			t.Errorf("the machine is described without %s", name)
		}
	}
}

func TestQuickGrowth(t *testing.T) {
	needPostgres(t)
	r, markdown := quick(t, "-growth")
	if len(r.Growth) != 2 {
		t.Fatalf("growth in %d databases, want 2", len(r.Growth))
	}
	for _, g := range r.Growth {
		if len(g.Loads) != 2 || len(g.Plans) != len(grownCalls) || len(g.Faults) != 0 {
			t.Errorf("%s: %d loads, %d plans, faults %q", g.Database, len(g.Loads), len(g.Plans), g.Faults)
		}
		for _, l := range g.Loads {
			if l.Bytes < 50 || l.Content > 0 && l.Bytes < float64(l.Content) {
				t.Errorf("%s: a row of %s takes %v bytes", g.Database, l.What, l.Bytes)
			}
		}
		for _, p := range g.Plans {
			if p.Call != "create" && len(p.Indexes) == 0 {
				t.Errorf("%s: %s goes by no index", g.Database, p.Call)
			}
		}
	}
	if !strings.Contains(markdown, "## Growth") {
		t.Error("no table of growth")
	}
}

func TestWholeTablesAreSeenInPlans(t *testing.T) {
	for _, line := range []string{
		"  ->  Seq Scan on hansard_events e",
		"Parallel Seq Scan on hansard_conversations c",
		"SCAN e",
		"SCAN hansard_conversations",
	} {
		var p plan
		if p.read([]string{line}); p.Scan == "" {
			t.Errorf("%q passes", line)
		}
	}
	for _, line := range []string{
		"Index Scan Backward using hansard_events_pkey on hansard_events e",
		"Bitmap Index Scan on hansard_events_pkey",
		"SEARCH e USING PRIMARY KEY (conversation_id=? AND generation=?)",
	} {
		var p plan
		if p.read([]string{line}); p.Scan != "" || len(p.Indexes) != 1 {
			t.Errorf("%q is read as %+v", line, p)
		}
	}
}

func TestWrongArguments(t *testing.T) {
	for _, args := range [][]string{
		{"-sizes", "10"}, {"-sizes", "1k,100"}, {"-sizes", "x,y"}, {"-only", "("}, {"-only", "no such workload"},
		{"-sqlite", "oracle"}, {"-reps", "-1"}, {"more"}, {"-unknown"},
	} {
		var stdout, stderr bytes.Buffer
		if code := run(t.Context(), args, &stdout, &stderr, nil); code == 0 || stderr.Len() == 0 {
			t.Errorf("%q: exit code %d, message %q", args, code, stderr.Bytes())
		}
	}
}

func TestJudge(t *testing.T) {
	medians := map[point]float64{{"w", "a"}: 50, {"w", "b"}: 100}
	tests := []struct {
		goal    goal
		verdict string
	}{
		{ratio("", "w", "a", "b").atMost(0.6, 0.5), reachedAim},
		{ratio("", "w", "a", "b").atMost(0.5, 0.4), reachedMust},
		{ratio("", "w", "a", "b").atMost(0.4, 0.3), missed},
		{ratio("", "w", "b", "a").atLeast(1.5, 2), reachedAim},
		{ratio("", "w", "b", "a").atLeast(2, 3), reachedMust},
		{ratio("", "w", "b", "a").atLeast(3, 4), missed},
		{figure("", "w", "a").atMost(50, 40), reachedMust},
		{ratio("", "w", "a", "c").atMost(1, 1), unmeasured},
		{figure("", "v", "a").atMost(1, 1), unmeasured},
	}
	for i, tt := range tests {
		if tt.goal.judge(medians); tt.goal.Verdict != tt.verdict {
			t.Errorf("%d: verdict %q, want %q", i, tt.goal.Verdict, tt.verdict)
		}
	}
}

func TestRound(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.0123: "0.0123", 0.456: "0.46", 1: "1", 1.25: "1.25", 25.04: "25", 123.4: "123", 54321: "54321"} {
		if got := round(v); got != want {
			t.Errorf("round(%v) = %s, want %s", v, got, want)
		}
	}
}
