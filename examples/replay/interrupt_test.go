package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hansardlog/hansard/session"
)

// interrupted cancels the context once a number of batches is stored.
type interrupted struct {
	session.Service
	left   atomic.Int64
	cancel context.CancelFunc
}

func (s *interrupted) AppendEvents(ctx context.Context, req *session.AppendEventsRequest) (*session.AppendEventsResponse, error) {
	resp, err := s.Service.AppendEvents(ctx, req)
	if s.left.Add(-1) == 0 {
		s.cancel()
	}
	return resp, err
}

func TestInterruptedWithinAConversation(t *testing.T) {
	db := filepath.Join(t.TempDir(), "replay.db")
	path := writeLines(t, conversationLine("long-1", 2*maxBatchEvents+7))
	in, err := openInput(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	svc := &interrupted{Service: stored(t, options{db: db}), cancel: cancel}
	svc.left.Store(1)
	imp := &importer{svc: svc, done: func(int) {}}
	bad, err := forEach(ctx, in, 2, imp.add)
	if !errors.Is(err, context.Canceled) || len(bad) > 0 || len(imp.rows) > 0 {
		t.Fatalf("interrupted import: %v, bad lines %v, rows %v", err, bad, imp.rows)
	}
	if all := snapshot(t, svc); len(all) != 1 || all[0].HeadSeq != maxBatchEvents {
		t.Fatalf("not one batch is stored: %d sessions", len(all))
	}

	stdout, _ := replayed(t, 0, "-in", path, "-db", db)
	wantIn(t, stdout, fmt.Sprintf(": %d new, %d replayed", maxBatchEvents+7, maxBatchEvents), "verified: 1007 events of 1 conversations")
}

func TestInterruptBeforeTheStart(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stdout, stderr strings.Builder
	if code := run(ctx, nil, &stdout, &stderr); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	if strings.Contains(stdout.String(), "verified") {
		t.Errorf("stdout: %s", stdout.String())
	}
}

// TestInterruptSignal runs the program as a process, interrupts it at its work
// and lets another one complete it.
func TestInterruptSignal(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no interrupt to send on Windows")
	}
	const conversations = 400
	lines := make([]string, conversations)
	for i := range lines {
		lines[i] = conversationLine(fmt.Sprintf("chat-%d-0", i), 4)
	}
	path, db := writeLines(t, lines...), filepath.Join(t.TempDir(), "replay.db")

	cmd := exec.CommandContext(t.Context(), os.Args[0], "-in", path, "-db", db)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stdout := bufio.NewScanner(pipe)
	if !stdout.Scan() || !strings.HasPrefix(stdout.Text(), "database: ") {
		t.Errorf("first line %q, %v", stdout.Text(), stdout.Err())
	}
	waitForSessions(t, db)
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	for stdout.Scan() {
		if strings.Contains(stdout.Text(), "verified") {
			t.Errorf("the interrupted run printed %q", stdout.Text())
		}
	}
	err = cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Fatalf("the interrupted run ended with %v, want exit code 1; stderr: %s", err, stderr.String())
	}
	if got, want := stderr.String(), "replay: interrupted: run the same command again to complete the import\n"; got != want {
		t.Errorf("stderr %q, want %q", got, want)
	}
	before := len(snapshot(t, stored(t, options{db: db})))
	if before == 0 || before == conversations {
		t.Fatalf("%d of %d conversations were stored: it was not interrupted at its work", before, conversations)
	}

	out, _ := replayed(t, 0, "-in", path, "-db", db)
	wantIn(t, out, "400 conversations, 1600 events", "verified: 1600 events of 400 conversations")
}

// waitForSessions returns when another process has stored a few.
func waitForSessions(t *testing.T, db string) {
	t.Helper()
	svc := stored(t, options{db: db})
	for {
		resp, err := svc.List(t.Context(), &session.ListRequest{AppName: appName, PageSize: 5})
		if err != nil {
			t.Fatal(err)
		}
		if len(resp.Sessions) == 5 {
			return
		}
		time.Sleep(time.Millisecond)
	}
}
