package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/hansardlog/hansard/internal/dbtest"
)

func TestMain(m *testing.M) { os.Exit(dbtest.Main(m)) }

// Hansard's columns are right in every run; ADK's are not, or the scenarios would
// show nothing.
func TestHansardKeepsWhatItAcknowledges(t *testing.T) {
	const runs = 2
	columns, err := measure(t.Context(), dbtest.PostgresServer(t), runs)
	if err != nil {
		t.Fatal(err)
	}
	if len(columns) != 4 {
		t.Fatalf("%d columns, want two services on two databases", len(columns))
	}
	for _, c := range columns {
		wrong := 0
		for i, s := range scenarios {
			right := c.results[i].right(s.right)
			wrong += runs - right
			if strings.HasPrefix(c.name, "Hansard") && right != runs {
				t.Errorf("%s: %s: %s is %s, want %s", c.name, s.name, s.counted, c.results[i].cell(), result{s.right}.cell())
			}
		}
		if strings.HasPrefix(c.name, "ADK-Go") && wrong == 0 {
			t.Errorf("%s: every scenario is right", c.name)
		}
	}
}

func TestTable(t *testing.T) {
	var stdout, stderr strings.Builder
	if code := run(t.Context(), []string{"-runs", "1"}, &stdout, &stderr); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr.String())
	}
	lines := strings.Split(strings.TrimSpace(stdout.String()), "\n")
	if len(lines) != len(scenarios)+2 {
		t.Errorf("%d lines, want a header and one for each of %d scenarios", len(lines), len(scenarios))
	}
	for _, line := range lines {
		if n := strings.Count(line, "|"); n != 6 {
			t.Errorf("%d bars in %q, want 6", n, line)
		}
	}
}

// The table in the README is of the scenarios as they are now.
func TestReadmeHasTheseScenarios(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range scenarios {
		if row := fmt.Sprintf("\n| %s | %s | %s |", s.name, s.counted, (result{s.right}).cell()); !strings.Contains(string(readme), row) {
			t.Errorf("README.md has no row%s: print the table anew", row)
		}
	}
}

func TestRanges(t *testing.T) {
	r := result{{3, 1}, {5, 1}, {4, 1}}
	if got := r.cell(); got != "3–5 / 1" {
		t.Errorf("cell = %q", got)
	}
	if got := r.right([]int{5, 1}); got != 1 {
		t.Errorf("right = %d, want 1", got)
	}
}

func TestBadUse(t *testing.T) {
	for _, tt := range []struct {
		args []string
		code int
	}{
		{[]string{"-runs", "0"}, 2},
		{[]string{"-nonsense"}, 2},
		{[]string{"-runs", "1", "-postgres", "host=/no/such/directory"}, 1},
	} {
		var stdout, stderr strings.Builder
		if code := run(t.Context(), tt.args, &stdout, &stderr); code != tt.code || stderr.Len() == 0 {
			t.Errorf("%v: exit code %d, want %d; %q", tt.args, code, tt.code, stderr.String())
		}
	}
}

func TestSchemaInDSN(t *testing.T) {
	for dsn, want := range map[string]string{
		"host=db user=me":              "host=db user=me search_path=x",
		"postgres://me@db/test?a=b":    "postgres://me@db/test?a=b&search_path=x",
		"postgresql://me@db:5433/test": "postgresql://me@db:5433/test?search_path=x",
	} {
		if got := inSchema(dsn, "x"); got != want {
			t.Errorf("inSchema(%q) = %q, want %q", dsn, got, want)
		}
	}
}
