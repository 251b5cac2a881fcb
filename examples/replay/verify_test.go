package main

import (
	"bytes"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hansardlog/hansard/session"
)

// TestVerify compares what is stored with inputs that differ from it.
func TestVerify(t *testing.T) {
	path := filepath.Join(t.TempDir(), "replay.db")
	replayed(t, 0, "-db", path)
	svc := stored(t, options{db: path})
	app, err := svc.GetState(t.Context(), &session.GetStateRequest{AppName: appName})
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := bytes.Cut(sample, []byte("\n"))
	tests := []struct {
		name   string
		differ func(c *conversation)
		want   string // empty: it is equal
	}{
		{"nothing", func(*conversation) {}, ""},
		{"an author", func(c *conversation) { c.events[1].Author = "reader" }, `message 2 is by "user", want "reader"`},
		{"a space in a payload", func(c *conversation) {
			c.events[6].Payload = bytes.Replace(c.events[6].Payload, []byte(": "), []byte(":"), 1)
		}, "message 7 has another payload"},
		{"the order", func(c *conversation) { slices.Reverse(c.events[7:]) }, `message 8 is by "reserve", want "assistant"`},
		{"one message less", func(c *conversation) { c.events = c.events[:8] }, "it goes on after message 8"},
		{"one message more", func(c *conversation) { c.events = append(c.events, c.events[0]) }, "it ends after message 9 of 10"},
		{"the number of tool calls", func(c *conversation) { c.toolCalls++ }, "state counts 2 tool calls, want 3"},
		{"a tool", func(c *conversation) { c.tools["shred"] = true }, `state "app:tool/shred" is <nil>`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := parseConversation(line)
			if err != nil {
				t.Fatal(err)
			}
			tt.differ(c)
			err = verify(t.Context(), svc, c, app.State)
			if tt.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if !errors.Is(err, errDifferent) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("verify: %v, want %q", err, tt.want)
			}
		})
	}
}

func TestHumanBytes(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 1536: "1.5 KiB", 24 << 20: "24 MiB", 1 << 30: "1.0 GiB", 5000 << 40: "5000 TiB",
	} {
		if got := humanBytes(n); got != want {
			t.Errorf("humanBytes(%d) = %q, want %q", n, got, want)
		}
	}
}
