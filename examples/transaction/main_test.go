package main

import (
	"path/filepath"
	"strings"
	"testing"
)

const want = `1. order and event commit together
   order  1  globe  89.00
   event  1  clerk  {"order":1,"item":"globe","cents":8900}
   state last_order = 1

2. the payment fails after both are written: neither stays
   order  1  globe  89.00
   event  1  clerk  {"order":1,"item":"globe","cents":8900}
   state last_order = 1

3. the event is refused as stale, the transaction goes on and commits
   refused: expected head 1, have 2
   order  1  globe  89.00
   order  3  atlas  45.00
   event  1  clerk  {"order":1,"item":"globe","cents":8900}
   event  2  ana    {"text":"And wrap it, please."}
   event  3  clerk  {"order":3,"item":"atlas","cents":4500}
   state last_order = 3

`

func TestOutput(t *testing.T) {
	tests := []struct {
		name string
		args []string
	}{
		{"temporary file", nil},
		{"named file", []string{"-db", filepath.Join(t.TempDir(), "shop.db")}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var stdout, stderr strings.Builder
			if code := run(t.Context(), tt.args, &stdout, &stderr); code != 0 || stderr.Len() > 0 {
				t.Fatalf("exit code %d: %s", code, stderr.String())
			}
			if got := stdout.String(); got != want {
				t.Errorf("printed\n%swant\n%s", got, want)
			}
		})
	}
}
