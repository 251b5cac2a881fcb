package main

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParseDSN(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, driver, want, rest string }{
		{"postgres://me@db/x", "", "postgres", ""},
		{"postgresql://me@db/x.db", "", "postgres", ""},
		{"dbname=x host = y", "", "postgres", ""},
		{"service=x", "", "postgres", ""},
		{"", "postgres", "", ""},
		{"anything", "postgres", "postgres", ""},
		{"a b.db", "", "sqlite", ""},
		{"./x.sqlite3", "", "sqlite", ""},
		{"file:x?mode=ro", "", "sqlite", ""},
		{"sqlite:x", "", "sqlite", "x"},
		{"sqlite:///tmp/x", "", "sqlite", "/tmp/x"},
		{"sqlite:x", "sqlite", "sqlite", "x"},
		{"x", "sqlite", "sqlite", ""},
		{"x", "", "", ""},
		{"mysql://root:hush@db/x.db", "", "", ""},
		{"x.db", "mysql", "", ""},
	} {
		got, err := parseDSN("-from", tt.text, tt.driver)
		switch {
		case tt.want == "":
			if err == nil || !strings.Contains(err.Error(), "-from") || strings.Contains(err.Error(), "hush") {
				t.Errorf("%q, driver %q: %+v, %v, want an error", tt.text, tt.driver, got, err)
			}
		case err != nil || got.driver != tt.want || got.text != cmp.Or(tt.rest, tt.text):
			t.Errorf("%q, driver %q: %+v, %v, want %s", tt.text, tt.driver, got, err, tt.want)
		}
	}
}

func TestURI(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a b.db":                         "file:a b.db?mode=rw&_pragma=busy_timeout(10000)",
		"100% ?#.db":                     "file:100%25 %3f%23.db?mode=rw&_pragma=busy_timeout(10000)",
		"file:x":                         "file:x?mode=rw&_pragma=busy_timeout(10000)",
		"file:x?mode=ro":                 "file:x?mode=ro&_pragma=busy_timeout(10000)",
		"file:x?_pragma=busy_timeout(1)": "file:x?_pragma=busy_timeout(1)&mode=rw",
	} {
		if got := (dsn{text: text}).uri(param{"mode=", "mode=rw"}); got != want {
			t.Errorf("URI of %q = %q, want %q", text, got, want)
		}
	}
}

// The exit status says whose fault it is, and no message tells a password.
func TestBadCommandLines(t *testing.T) {
	t.Parallel()
	from, to := newDatabases(t, "sqlite", "sqlite")
	const url = "postgres://me:h%75sh@127.0.0.1:1/x?connect_timeout=2"
	const settings = `host=127.0.0.1 port=1 user=me password='hush hush' dbname=x connect_timeout=2`
	missing := filepath.Join(t.TempDir(), "missing.db")
	for name, tt := range map[string]struct {
		args []string
		code int
		text string
	}{
		"nothing":         {nil, 2, "-from is missing"},
		"no destination":  {[]string{"-from", from}, 2, "-to is missing"},
		"argument":        {[]string{"-from", from, "-to", to, url}, 2, "unexpected argument"},
		"unknown flag":    {[]string{"-dry"}, 2, "flag provided but not defined: -dry"},
		"unknown":         {[]string{"-from", "hush", "-to", to}, 2, "-from: neither"},
		"unknown driver":  {[]string{"-from", from, "-to", to, "-to-driver", "oracle"}, 2, `-to-driver: "oracle"`},
		"help":            {[]string{"-help"}, 0, "Usage of adk-import"},
		"missing file":    {[]string{"-from", missing, "-to", to}, 1, "-from: "},
		"no such table":   {[]string{"-from", filepath.Dir(from), "-from-driver", "sqlite", "-to", to}, 1, "-from: "},
		"bad prefix":      {[]string{"-from", from, "-to", to, "-prefix", "A-"}, 1, "-to: "},
		"no server":       {[]string{"-from", url, "-to", to}, 1, "-from: "},
		"no server there": {[]string{"-from", from, "-to", settings}, 1, "-to: "},
		"bad URL":         {[]string{"-from", from, "-to", "postgres://me:hush@x:port/y?password=hush"}, 1, "-to: "},
		"bad settings":    {[]string{"-from", from, "-to", "host=x port=x password=hush sslpassword=hush"}, 1, "-to: "},
	} {
		code, stdout, stderr := command(t.Context(), tt.args...)
		if code != tt.code || !strings.Contains(stderr, tt.text) || stdout != "" {
			t.Errorf("%s: exit status %d\n%s\n%s\nwant %d and %q", name, code, stdout, stderr, tt.code, tt.text)
		}
		if strings.Contains(stderr, "hush") || strings.Contains(stderr, "h%75sh") {
			t.Errorf("%s tells a password:\n%s", name, stderr)
		}
	}
	if _, err := os.Stat(missing); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the missing source was made: %v", err)
	}
}

func TestClean(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"postgres://me:h%75sh@db/x", "postgres://me@db/x?password=hush&sslpassword=hush", "host=db password=hush",
		"host=db password = 'hush' dbname=x", "PASSWORD=hush host=x",
	} {
		d := dsn{driver: "postgres", text: text}
		for _, message := range []string{"cannot open " + text, "auth as hush failed", "cannot parse h%75sh"} {
			got := d.clean(message)
			if strings.Contains(got, "hush") || strings.HasPrefix(text, "postgres://me:") && strings.Contains(got, "h%75sh") {
				t.Errorf("clean(%q) with %q = %q", message, text, got)
			}
		}
	}
	if got := (dsn{driver: "sqlite", text: "x.db"}).clean("open x.db: no"); got != "open x.db: no" {
		t.Errorf("clean = %q", got)
	}
}
