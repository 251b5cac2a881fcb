package main

import (
	"path/filepath"
	"strings"
	"testing"
)

const want = `1  ana         {"text": "Will it rain in Bergen tomorrow?"}
2  forecaster  {"call": "forecast", "args": {"place": "Bergen", "days": 1}}
3  forecast    {"rain_mm": 11.50, "station": 9007199254740993}
4  forecaster  {"text": "Yes, 11.5 mm. Take a coat."}

app:station  = 9007199254740993
topic        = rain
user:home    = Bergen

the next station is 9007199254740994
`

func quickstartOutput(t *testing.T, args ...string) string {
	t.Helper()
	var stdout, stderr strings.Builder
	if code := run(t.Context(), args, &stdout, &stderr); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr.String())
	}
	if stderr.Len() > 0 {
		t.Errorf("stderr: %s", stderr.String())
	}
	return stdout.String()
}

func TestTemporaryFile(t *testing.T) {
	if got := quickstartOutput(t); got != want {
		t.Errorf("printed\n%swant\n%s", got, want)
	}
}

func TestSecondRunChangesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "quick.db")
	for i := range 2 {
		if got := quickstartOutput(t, "-db", path); got != want {
			t.Errorf("run %d printed\n%swant\n%s", i+1, got, want)
		}
	}
}

func TestFailures(t *testing.T) {
	tests := []struct {
		name   string
		args   []string
		code   int
		stderr string
	}{
		{"unknown flag", []string{"-nonsense"}, 2, "-nonsense"},
		{"directory that is not there", []string{"-db", filepath.Join(t.TempDir(), "no", "such.db")}, 1, "quickstart: "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var stdout, stderr strings.Builder
			if code := run(t.Context(), tt.args, &stdout, &stderr); code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			if !strings.Contains(stderr.String(), tt.stderr) {
				t.Errorf("stderr %q does not contain %q", stderr.String(), tt.stderr)
			}
			if stdout.Len() > 0 {
				t.Errorf("stdout: %s", stdout.String())
			}
		})
	}
}
