package pgserver

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
)

// installations are where packages put PostgreSQL without putting initdb into
// PATH: Debian, Red Hat, Homebrew.
var installations = []string{
	"/usr/lib/postgresql/*/bin",
	"/usr/pgsql-*/bin",
	"/opt/homebrew/opt/postgresql@*/bin",
	"/usr/local/opt/postgresql@*/bin",
}

// Find returns the directory of initdb and postgres: that of PATH, else the
// newest installation, else an error matching [ErrNone].
func Find() (dir string, err error) { return find(installations) }

func find(patterns []string) (string, error) {
	if initdb, err := exec.LookPath("initdb"); err == nil {
		if dir := filepath.Dir(initdb); hasServer(dir) {
			return dir, nil
		}
	}
	var dirs []string
	for _, p := range patterns {
		found, err := filepath.Glob(p)
		if err != nil {
			return "", err
		}
		dirs = append(dirs, found...)
	}
	dirs = slices.DeleteFunc(dirs, func(dir string) bool { return !hasServer(dir) })
	if len(dirs) == 0 {
		return "", fmt.Errorf("%w: install it (Debian: apt-get install postgresql)", ErrNone)
	}
	return slices.MaxFunc(dirs, func(a, b string) int { return cmp.Compare(version(a), version(b)) }), nil
}

func hasServer(dir string) bool {
	for _, name := range []string{"initdb", "postgres"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.IsDir() {
			return false
		}
	}
	return true
}

var number = regexp.MustCompile(`[0-9]+(\.[0-9]+)?`)

// version returns the number in the last element but one of an installation
// (16 of /usr/lib/postgresql/16/bin), or 0.
func version(dir string) float64 {
	v, err := strconv.ParseFloat(number.FindString(filepath.Base(filepath.Dir(dir))), 64)
	if err != nil {
		return 0
	}
	return v
}
