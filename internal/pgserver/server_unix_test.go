//go:build unix

package pgserver

import (
	"os"
	"strings"
	"testing"
)

func TestStartTellsWhy(t *testing.T) {
	t.Parallel()
	cred, err := credential()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := makeDir(cred)
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for name, text := range map[string]string{"initdb": "echo no locale; exit 1", "postgres": "exit 1"} {
		if err := os.WriteFile(dir+"/"+name, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	_, stop, err := startFrom(dir, Config{})
	if err == nil || !strings.Contains(err.Error(), "no locale") {
		t.Errorf("start of a broken server = %v, want what it said", err)
	}
	if stop != nil {
		t.Error("there is something to stop")
	}
}
