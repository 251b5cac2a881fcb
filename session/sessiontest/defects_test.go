package sessiontest_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hansardlog/hansard/session"
	"github.com/hansardlog/hansard/session/inmemory"
	"github.com/hansardlog/hansard/session/sessiontest"
)

// defect is a fault that a backend might have. The suite must find it, in the
// subtest that is there for it.
type defect struct {
	name        string
	topic, test string // test may be the beginning of the subtest's name
	plant       func(session.Service) session.Service
}

// defects is every planted defect.
func defects() []defect {
	return slices.Concat(logDefects, stateDefects, memberDefects, listDefects, raceDefects)
}

// defectVar names the defect that the process at hand is to have.
const defectVar = "HANSARD_SESSIONTEST_DEFECT"

// TestDefective runs the suite on a service with the defect that the
// environment names. TestDefects runs it in processes of their own, because it
// is meant to fail.
func TestDefective(t *testing.T) {
	name := os.Getenv(defectVar)
	if name == "" {
		t.Skip("runs in the processes of TestDefects only")
	}
	for _, d := range append(defects(), undamaged) {
		if d.name == name {
			runOn(t, d.plant)
			return
		}
	}
	t.Skipf("no defect %q", name) // TestDefects sees no failure, then
}

// runOn runs the suite on the in-memory backend with a defect.
func runOn(t *testing.T, plant func(session.Service) session.Service) {
	sessiontest.Run(t, sessiontest.Config{
		New: func(*testing.T) session.Service { return plant(inmemory.New()) },
		NewWith: func(_ *testing.T, o sessiontest.Options) session.Service {
			return plant(inmemory.New(
				inmemory.WithClock(o.Clock), inmemory.WithIDs(o.IDs), inmemory.WithMaxPayload(o.MaxPayload)))
		},
	})
}

// The suite fails for each defect, where it should.
func TestDefects(t *testing.T) {
	for _, d := range defects() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			pattern := fmt.Sprintf("^TestDefective$/^%s$/^%s", regexp.QuoteMeta(d.topic), regexp.QuoteMeta(d.test))
			out, err := suite(t, d, pattern)
			var exit *exec.ExitError
			if !errors.As(err, &exit) {
				t.Fatalf("the suite ends with %v, want a failure:\n%s", err, out)
			}
			failed := "--- FAIL: " + strings.ReplaceAll("TestDefective/"+d.topic+"/"+d.test, " ", "_")
			if !strings.Contains(out, failed) {
				t.Errorf("the suite fails, but not with %q:\n%s", failed, out)
			}
			if strings.Contains(out, "panic:") || strings.Contains(out, "DATA RACE") {
				t.Errorf("the defect breaks the test itself:\n%s", out)
			}
		})
	}
}

// The negative control: the same wrapper without a defect passes.
func TestUndamaged(t *testing.T) {
	t.Parallel()
	out, err := suite(t, undamaged, "^TestDefective$")
	if err != nil {
		t.Errorf("the suite ends with %v:\n%s", err, out)
	}
	if passed := "--- PASS: TestDefective/concurrency"; !strings.Contains(out, passed) {
		t.Errorf("no %q: the suite has not run:\n%s", passed, out)
	}
}

var undamaged = defect{name: "none", plant: func(svc session.Service) session.Service {
	return &damaged{Service: svc}
}}

// suite runs the matching part of the suite on a service with the defect, in a
// process of its own, and returns what it printed.
func suite(t *testing.T, d defect, pattern string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run="+pattern, "-test.v", "-test.short", "-test.timeout=5m")
	cmd.Env = append(os.Environ(), defectVar+"="+d.name)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestDefectNames(t *testing.T) {
	seen := map[string]bool{undamaged.name: true}
	for _, d := range defects() {
		if seen[d.name] {
			t.Errorf("two defects have the name %q", d.name)
		}
		seen[d.name] = true
	}
}
