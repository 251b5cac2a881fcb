// Package hansard_test holds what is asserted of the module as a whole: who may
// import whom, and how long a file may be.
package hansard_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/hansardlog/hansard"

// drivers are what an embedder chooses, so no package here may bring one.
var drivers = []string{
	"gorm.io/driver/",
	"github.com/jackc/",
	"github.com/mattn/",
	"github.com/glebarez/",
	"modernc.org/",
	"github.com/go-sql-driver/",
}

// goTool runs the go command and returns the words that it prints.
func goTool(t *testing.T, args ...string) []string {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, stderr.Bytes())
	}
	return strings.Fields(string(out))
}

// foreign returns what pkg depends on outside the standard library, itself not
// included.
func foreign(t *testing.T, pkg string) []string {
	t.Helper()
	deps := goTool(t, "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", pkg)
	self := module + strings.TrimPrefix(pkg, ".")
	if !slices.Contains(deps, self) {
		t.Fatalf("go list -deps %s does not list %s", pkg, self)
	}
	return slices.DeleteFunc(deps, func(dep string) bool { return dep == self })
}

func TestStandardLibraryOnly(t *testing.T) {
	tests := []struct {
		pkg     string
		allowed []string
	}{
		{"./session", nil},
		{"./session/sessiontest", []string{module + "/session"}},
	}
	for _, tt := range tests {
		for _, dep := range foreign(t, tt.pkg) {
			if !slices.Contains(tt.allowed, dep) {
				t.Errorf("%s must not depend on %s", tt.pkg, dep)
			}
		}
	}
}

func TestDependencyDirection(t *testing.T) {
	tests := []struct {
		pkg    string
		banned []string // prefixes of import paths
	}{
		{"./session/inmemory", append([]string{"gorm.io/", module + "/session/database", module + "/model"}, drivers...)},
		{"./session/database", append([]string{module + "/session/inmemory"}, drivers...)},
		{"./model", append([]string{module + "/session"}, drivers...)},
	}
	for _, tt := range tests {
		for _, dep := range foreign(t, tt.pkg) {
			for _, prefix := range tt.banned {
				if strings.HasPrefix(dep, prefix) {
					t.Errorf("%s must not depend on %s", tt.pkg, dep)
				}
			}
		}
	}
}

// A program that embeds the module must not find itself linked with package
// testing: its flags and its weight are for tests.
func TestNoTestCodeInProduction(t *testing.T) {
	testCode := []string{"testing", module + "/session/sessiontest", module + "/internal/dbtest"}
	checked := 0
	for _, line := range goTool(t, "list", "-f", `{{.ImportPath}}:{{join .Deps ","}}`, "./...") {
		pkg, deps, _ := strings.Cut(line, ":")
		if slices.Contains(testCode, pkg) {
			continue
		}
		checked++
		for dep := range strings.SplitSeq(deps, ",") {
			if slices.Contains(testCode, dep) {
				t.Errorf("%s must not depend on %s", pkg, dep)
			}
		}
	}
	if checked == 0 {
		t.Error("no package was checked")
	}
}

// Adapters are modules of their own, so that an embedder of one framework does
// not download the others.
func TestRootModuleRequiresNoFramework(t *testing.T) {
	var mod struct {
		Module  struct{ Path string }
		Require []struct{ Path string }
	}
	out := goTool(t, "mod", "edit", "-json")
	if err := json.Unmarshal([]byte(strings.Join(out, " ")), &mod); err != nil {
		t.Fatal(err)
	}
	if mod.Module.Path != module || len(mod.Require) == 0 {
		t.Fatalf("go mod edit -json read module %q with %d requirements", mod.Module.Path, len(mod.Require))
	}
	for _, req := range mod.Require {
		if strings.HasPrefix(req.Path, "google.golang.org/adk") {
			t.Errorf("the root module must not require %s", req.Path)
		}
	}
}

func TestFilesAreShort(t *testing.T) {
	const most = 400
	files := 0
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && path != "." && strings.HasPrefix(entry.Name(), ".") {
			return filepath.SkipDir
		}
		if filepath.Ext(path) != ".go" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		if n := bytes.Count(text, []byte("\n")); n > most {
			t.Errorf("%s has %d lines, more than %d: it is about more than one thing", path, n, most)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files == 0 {
		t.Error("no file was found")
	}
}
