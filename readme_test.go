package hansard_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestReadmeProgram builds the program in the README as it stands there, runs
// it in an empty folder and compares what it prints.
func TestReadmeProgram(t *testing.T) {
	if out, err := exec.CommandContext(t.Context(), "go", "env", "CGO_ENABLED").Output(); err != nil || strings.TrimSpace(string(out)) != "1" {
		t.Skipf("the program uses a driver that needs cgo (CGO_ENABLED=%s, %v)", out, err)
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?s)```go\n(package main\n.*?)```\n\nIt prints\n\n```\n(.*?)```").FindSubmatch(readme)
	if found == nil {
		t.Fatal("README.md has no program followed by what it prints")
	}
	program, want := found[1], string(found[2])
	code := 0
	for line := range strings.Lines(string(program)) {
		if strings.TrimSpace(line) != "" {
			code++
		}
	}
	if code >= 25 {
		t.Errorf("the program has %d lines of code, want under 25", code)
	}
	dir := t.TempDir()
	source, binary := filepath.Join(dir, "main.go"), filepath.Join(dir, "program")
	if err := os.WriteFile(source, program, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, source).CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), binary)
	cmd.Dir = dir
	got, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, got)
	}
	if string(got) != want {
		t.Errorf("the program printed\n%swant\n%s", got, want)
	}
}

// TestReadmeNamesExist: every test, file and folder that the README names is
// there.
func TestReadmeNamesExist(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]bool{}
	files := map[string]bool{}
	err = filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") {
			return err
		}
		files[filepath.Base(path)] = true
		source, err := os.ReadFile(path)
		for _, name := range regexp.MustCompile(`(?m)^func (Test\w+)`).FindAllSubmatch(source, -1) {
			tests[string(name[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range regexp.MustCompile("`(Test\\w+)`").FindAllSubmatch(readme, -1) {
		if !tests[string(name[1])] {
			t.Errorf("README.md names %s, which does not exist", name[1])
		}
	}
	for _, name := range regexp.MustCompile("`(?:[\\w/]+/)?(\\w+\\.go)`").FindAllSubmatch(readme, -1) {
		if !files[string(name[1])] {
			t.Errorf("README.md names %s, which does not exist", name[1])
		}
	}
}
