package database_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/hansardlog/hansard/session"
	"github.com/hansardlog/hansard/session/database"
)

var errInjected = errors.New("the disk is on fire")

// eachOperation runs a test for every operation on every backend: on a database
// with the fixture, through a pool of one connection, so that a connection which
// is not given back clean shows.
func eachOperation(t *testing.T, test func(t *testing.T, b backend, op operation, w *world, f *faults, plain *sql.DB)) {
	each(t, func(t *testing.T, b backend) {
		w, f, plain := faultyWorld(t, b)
		for _, op := range operations() {
			t.Run(op.name, func(t *testing.T) { test(t, b, op, w, f, plain) })
		}
	})
}

func faultyWorld(t *testing.T, b backend) (*world, *faults, *sql.DB) {
	t.Helper()
	d, f, plain := faulty(t, b)
	svc := openDialector(t, d, database.WithRetry(3, time.Millisecond))
	pool := poolOf(d)
	pool.SetMaxOpenConns(1)
	w := newWorld(svc)
	w.must(t, fixture()...)
	t.Cleanup(func() {
		f.set(nil)
		for err := range svc.Check(context.WithoutCancel(t.Context())) {
			t.Errorf("check: %v", err)
		}
		if n := pool.Stats().InUse; n != 0 {
			t.Errorf("%d connections in use at the end", n)
		}
	})
	return w, f, plain
}

// TestStatementFails fails each statement of each operation in turn: before the
// database has seen it, and with the reply lost. Of an operation that fails
// nothing is stored, unless only the reply to the COMMIT was lost; the next
// attempt succeeds and stores what is missing.
func TestStatementFails(t *testing.T) {
	eachOperation(t, func(t *testing.T, _ backend, op operation, w *world, f *faults, plain *sql.DB) {
		fail := func(failing int, lost bool) (more bool) {
			n := 2 * failing
			if lost {
				n++
			}
			op.prepared(t, w, n)
			before, events := stored(t, plain), countEvents(t, plain)
			f.set(func(call int, query string, after bool) error {
				if call != failing || after != lost {
					return nil
				}
				if lost && strings.HasPrefix(query, "BEGIN ") {
					return nil // by hand, on SQLite, which is in the process: no reply is lost
				}
				return errInjected
			})
			answer, err := op.try(t.Context(), t, w, n)
			calls := f.calls()
			f.set(nil)
			what := fmt.Sprintf("statement %d of %d failed (reply lost: %v)", failing, len(calls), lost)
			switch {
			case err == nil && len(calls) < failing:
				return false
			case len(calls) < failing:
				t.Fatalf("%s: %v", what, err)
			case err == nil && lost && strings.HasPrefix(calls[failing-1], "BEGIN "):
				return true
			case err == nil:
				t.Fatalf("%s and the answer is %s\n%s", what, dumpValue(answer), strings.Join(calls, "\n"))
			case !errors.Is(err, errInjected) || session.Code(err) != "INTERNAL":
				t.Errorf("%s: error %v with code %s, want the injected one with INTERNAL", what, err, session.Code(err))
			}
			committed := lost && calls[failing-1] == "COMMIT"
			if after := stored(t, plain); after != before && !committed && !op.removing {
				t.Errorf("%s, and stored is\n%s\nbefore it was\n%s", what, after, before)
			}
			_, err = op.try(t.Context(), t, w, n)
			if known := committed && session.Code(err) == "ALREADY_EXISTS"; err != nil && !known {
				t.Errorf("%s, then: %v", what, err)
			}
			if got, want := countEvents(t, plain), events+op.events; got != want {
				t.Errorf("%s, then: %d events, want %d", what, got, want)
			}
			return true
		}
		for _, lost := range []bool{false, true} {
			failing := 1
			for fail(failing, lost) {
				failing++
			}
			if failing == 1 {
				t.Error("no statement failed")
			}
		}
	})
}

// TestStatementIsBusy: what the dialect calls retryable is retried as a whole,
// whichever statement says so, COMMIT included; with the same answer as without.
func TestStatementIsBusy(t *testing.T) {
	eachOperation(t, func(t *testing.T, b backend, op operation, w *world, f *faults, plain *sql.DB) {
		busy := errors.New("database is locked (5) (SQLITE_BUSY)")
		if b.postgres() {
			busy = fmt.Errorf("wrapped: %w", &pgconn.PgError{Severity: "ERROR", Code: "40001", Message: "could not serialize access"})
		}
		for failing := 1; ; failing++ {
			op.prepared(t, w, failing)
			before, events := stored(t, plain), countEvents(t, plain)

			// Busy to the end: nothing is stored.
			f.set(func(n int, query string, after bool) error {
				if n < failing || after || query == "ROLLBACK" {
					return nil
				}
				return busy
			})
			_, err := op.try(t.Context(), t, w, failing)
			f.set(nil)
			if err == nil {
				if failing == 1 {
					t.Error("no statement was busy")
				}
				break // it has fewer statements
			}
			if !errors.Is(err, session.ErrBusy) {
				t.Errorf("busy from statement %d on: error %v, want ErrBusy", failing, err)
			}
			if after := stored(t, plain); after != before && !op.removing {
				t.Fatalf("busy from statement %d on, and stored is\n%s\nbefore it was\n%s", failing, after, before)
			}

			// Busy once: the caller does not notice.
			f.set(func(n int, _ string, after bool) error {
				if n == failing && !after {
					return busy
				}
				return nil
			})
			answer, err := op.try(t.Context(), t, w, failing)
			f.set(nil)
			if err != nil {
				t.Errorf("busy once at statement %d: %v", failing, err)
			}
			if strings.Contains(dumpValue(answer), `"Replayed":true`) != (op.name == "AppendEvent again") {
				t.Errorf("busy once at statement %d: answer %s", failing, dumpValue(answer))
			}
			if got, want := countEvents(t, plain), events+op.events; got != want {
				t.Errorf("busy once at statement %d: %d events, want %d", failing, got, want)
			}
		}
	})
}
