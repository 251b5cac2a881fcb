package pgserver

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestFind(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	root := t.TempDir()
	install := func(dir string, names ...string) string {
		dir = filepath.Join(root, dir, "bin")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if err := os.WriteFile(filepath.Join(dir, name), nil, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	install("9.6", "initdb", "postgres")
	newest := install("15", "initdb", "postgres")
	install("17", "initdb") // no server in it
	inPath := install("path", "initdb", "postgres")
	patterns := []string{filepath.Join(root, "*", "bin")}

	if _, err := find(nil); !errors.Is(err, ErrNone) {
		t.Errorf("find where there is nothing = %v, want ErrNone", err)
	}
	if got, err := find(patterns); err != nil || got != newest {
		t.Errorf("find = %q, %v, want %q", got, err, newest)
	}
	t.Setenv("PATH", inPath)
	if runtime.GOOS == "windows" {
		return // there a file is no program without .exe
	}
	if got, err := find(patterns); err != nil || got != inPath {
		t.Errorf("find with PATH = %q, %v, want %q", got, err, inPath)
	}
}
