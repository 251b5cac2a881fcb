package database_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/hansardlog/hansard/session"
	"github.com/hansardlog/hansard/session/database"
)

// worker is another process on the database of a test.
type worker struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	lines  *bufio.Scanner
	stderr bytes.Buffer
}

// startWorkers starts processes that are ready to begin at once.
func startWorkers(t *testing.T, b backend, d gorm.Dialector, do string, numbers []int, count int) []*worker {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	var workers []*worker
	for _, number := range numbers {
		text, err := json.Marshal(job{do, b.name, reflect.ValueOf(d).Elem().FieldByName("DSN").String(), number, count})
		must(t, err)
		w := &worker{cmd: exec.CommandContext(ctx, os.Args[0])}
		w.cmd.Env = append(os.Environ(), workerVar+"="+string(text))
		w.cmd.Stderr = &w.stderr
		w.stdin = got(w.cmd.StdinPipe())(t)
		w.lines = bufio.NewScanner(got(w.cmd.StdoutPipe())(t))
		must(t, w.cmd.Start())
		t.Cleanup(func() {
			_ = w.cmd.Process.Kill() // it has ended, unless the test failed
			_ = w.cmd.Wait()
		})
		workers = append(workers, w)
	}
	for _, w := range workers {
		if line := w.line(); line != "ready" {
			t.Fatalf("worker says %q: %s", line, w.end())
		}
	}
	for _, w := range workers {
		_, err := io.WriteString(w.stdin, "go\n")
		must(t, err)
	}
	return workers
}

// line returns the next line, empty at the end.
func (w *worker) line() string {
	if !w.lines.Scan() {
		return ""
	}
	return w.lines.Text()
}

// rest returns the lines until the end; a last one that was cut off counts: the
// call had been acknowledged.
func (w *worker) rest() (lines []string) {
	for w.lines.Scan() {
		lines = append(lines, w.lines.Text())
	}
	return lines
}

func (w *worker) end() error {
	if err := w.cmd.Wait(); err != nil {
		return fmt.Errorf("%w: %s", err, w.stderr.String())
	}
	return nil
}

// kill ends the process as a crash does.
func (w *worker) kill(t *testing.T) (rest []string) {
	t.Helper()
	must(t, w.cmd.Process.Kill())
	rest = w.rest()
	_ = w.cmd.Wait() // killed
	return rest
}

// TestProcessesAppend: two processes append to one conversation and write the
// same state. Everything that was acknowledged is there.
func TestProcessesAppend(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		d, n := b.dial(t), fewer(60, 20)
		svc := openDialector(t, sameDatabase(d))
		got(svc.Create(t.Context(), &session.CreateRequest{Key: processKey}))(t)
		workers := startWorkers(t, b, d, "append", []int{1, 2}, n)
		seqs := map[string]string{}
		for _, w := range workers {
			for _, line := range w.rest() {
				seq, name, _ := strings.Cut(line, " ")
				seqs[seq] = name
			}
			must(t, w.end())
		}
		s := got(svc.Get(t.Context(), &session.GetRequest{Key: processKey}))(t).Session
		if s.HeadSeq != int64(2*n) || len(seqs) != 2*n {
			t.Errorf("head %d and %d acknowledged sequences, want %d", s.HeadSeq, len(seqs), 2*n)
		}
		if len(s.State) != 3*2*n+2 {
			t.Errorf("%d state keys, want %d", len(s.State), 3*2*n+2)
		}
		wantAcknowledged(t, s, seqs)
		wantSound(t, svc)
	})
}

// wantAcknowledged checks that the events and state keys are there.
func wantAcknowledged(t *testing.T, s *session.Session, seqs map[string]string) {
	t.Helper()
	stored := map[string]string{}
	for _, e := range s.Events {
		stored[fmt.Sprint(e.Seq)] = e.IdempotencyKey
	}
	for seq, name := range seqs {
		if stored[seq] != name {
			t.Errorf("sequence %s was acknowledged for %s and is %q", seq, name, stored[seq])
		}
		for _, prefix := range []string{"", "app:", "user:"} {
			if _, ok := s.State[prefix+name]; !ok {
				t.Errorf("acknowledged state key %s%s is not there", prefix, name)
			}
		}
	}
}

func wantSound(t *testing.T, svc *database.Service) {
	t.Helper()
	for err := range svc.Check(t.Context()) {
		t.Errorf("check: %v", err)
	}
}

// TestProcessesReplay: two processes make the same requests.
func TestProcessesReplay(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		d, n := b.dial(t), fewer(60, 20)
		svc := openDialector(t, sameDatabase(d))
		got(svc.Create(t.Context(), &session.CreateRequest{Key: processKey}))(t)
		var answers []string
		for _, w := range startWorkers(t, b, d, "replay", []int{1, 2}, n) {
			answers = append(answers, w.rest()...)
			must(t, w.end())
		}
		var want []string
		for seq := 1; seq <= n; seq++ {
			want = append(want, fmt.Sprint(seq, " false"), fmt.Sprint(seq, " true"))
		}
		slices.Sort(answers)
		slices.Sort(want)
		if !slices.Equal(answers, want) {
			t.Errorf("answers %v, want each sequence once new and once replayed", answers)
		}
		wantSound(t, svc)
	})
}

// TestProcessesCreate: of the processes that create one key exactly one wins.
func TestProcessesCreate(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		d, n := b.dial(t), fewer(30, 10)
		svc := openDialector(t, sameDatabase(d))
		won := map[string]int{}
		for _, w := range startWorkers(t, b, d, "create", []int{1, 2, 3}, n) {
			for _, line := range w.rest() {
				if key, ok := strings.CutPrefix(line, "won "); ok {
					won[key]++
				}
			}
			must(t, w.end())
		}
		for i := range n {
			if wins := won[fmt.Sprint(i)]; wins != 1 {
				t.Errorf("key %d was created %d times", i, wins)
			}
		}
		wantSound(t, svc)
	})
}

func TestProcessesMigrate(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		d := b.dial(t)
		for _, w := range startWorkers(t, b, d, "migrate", []int{1, 2, 3, 4, 5, 6, 7, 8}, 0) {
			if err := w.end(); err != nil {
				t.Error(err)
			}
		}
		svc := openDialector(t, sameDatabase(d))
		wantWorking(t, svc, "s1")
	})
}

// TestProcessKilled kills writers in the middle: P6. What was acknowledged is
// there, what was not is there whole or not at all, and the next writer goes on.
func TestProcessKilled(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		d := b.dial(t)
		svc := openDialector(t, sameDatabase(d))
		got(svc.Create(t.Context(), &session.CreateRequest{Key: processKey}))(t)
		seqs := map[string]string{}
		learn := func(lines ...string) {
			for _, line := range lines {
				if seq, name, ok := strings.Cut(line, " "); ok {
					seqs[seq] = name
				}
			}
		}
		for round := range fewer(5, 2) {
			workers := startWorkers(t, b, d, "append", []int{10 * round, 10*round + 1}, 0)
			for range 5 + 3*round {
				learn(workers[0].line())
			}
			learn(workers[0].kill(t)...)
			learn(workers[1].line())
			learn(workers[1].kill(t)...)
			said(t, svc, processKey, words("ana", fmt.Sprint("after round ", round)))
		}
		if len(seqs) < 10 {
			t.Fatalf("only %d appends were acknowledged", len(seqs))
		}
		wantAcknowledged(t, got(svc.Get(t.Context(), &session.GetRequest{Key: processKey}))(t).Session, seqs)
		wantSound(t, svc)
	})
}

// TestProcessKilledDeleting kills a process before each statement of a deletion:
// the session is there whole or gone, and creating it anew shows nothing of the
// old one and removes what is left.
func TestProcessKilledDeleting(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		d, f, plain := faulty(t, b)
		f.set(nil)
		svc := openDialector(t, d)
		for statement := 1; ; statement++ {
			got(svc.Create(t.Context(), &session.CreateRequest{Key: processKey, Kind: session.KindGroup, Members: []string{"ana"}, State: session.State{"old": 1}}))(t)
			batch := &session.AppendEventsRequest{Key: processKey, Events: []*session.Event{keyed("ana", "1", "old")}}
			for range 1000 { // more than one statement removes
				batch.Events = append(batch.Events, &session.Event{Author: "ana"})
			}
			got(svc.AppendEvents(t.Context(), batch))(t)
			w := startWorkers(t, b, d, "delete", []int{statement}, 1)[0]
			state := w.line()
			if state == "stuck" {
				w.kill(t)
			} else {
				must(t, w.end())
				if state != "deleted" || statement < 8 {
					t.Errorf("the deletion before statement %d: %q", statement, state)
				}
			}
			old, err := svc.Get(t.Context(), &session.GetRequest{Key: processKey})
			switch {
			case err == nil && (len(old.Session.Events) != len(batch.Events)+1 || len(old.Session.State) != 1):
				t.Errorf("killed before statement %d: %d events and state %v are left", statement, len(old.Session.Events), old.Session.State)
			case err == nil:
				must(t, svc.Delete(t.Context(), &session.DeleteRequest{Key: processKey}))
			case !errors.Is(err, session.ErrNotFound):
				t.Fatal(err)
			}
			wantSound(t, svc) // leftovers are accounted for

			s := got(svc.Create(t.Context(), &session.CreateRequest{Key: processKey}))(t).Session
			if s.HeadSeq != 0 || len(s.State) != 0 {
				t.Errorf("killed before statement %d: the new session has head %d and state %v", statement, s.HeadSeq, s.State)
			}
			if e := got(svc.AppendEvent(t.Context(), &session.AppendEventRequest{Key: processKey, Event: keyed("ana", "1", "new")}))(t); e.Replayed || e.Event.Seq != 1 {
				t.Errorf("killed before statement %d: the first event is %+v", statement, e)
			}
			for query, want := range map[string]int{
				"SELECT count(*) FROM hansard_events":             1,
				"SELECT count(*) FROM hansard_membership_periods": 0,
				"SELECT count(*) FROM hansard_state_checkpoints":  0,
				"SELECT count(*) FROM hansard_session_states":     0,
				"SELECT count(*) FROM hansard_discarded_logs":     0,
			} {
				if n := mustCount(t, plain, query); n != want {
					t.Errorf("killed before statement %d: %s is %d, want %d", statement, query, n, want)
				}
			}
			must(t, svc.Delete(t.Context(), &session.DeleteRequest{Key: processKey}))
			if state != "stuck" {
				break
			}
		}
	})
}
