package database_test

import (
	"context"
	"database/sql"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/hansardlog/hansard/session"
	"github.com/hansardlog/hansard/session/database"
)

// TestContextEndsAtStatement ends the context at each statement of each
// operation, just before the database sees it and just after. The error is the
// context's own, and the operation is stored whole or not at all: if it reports
// success, all of it is there.
func TestContextEndsAtStatement(t *testing.T) {
	eachOperation(t, func(t *testing.T, b backend, op operation, w *world, f *faults, plain *sql.DB) {
		end := func(ending int, late bool) (more bool) {
			n := 2 * ending
			if late {
				n++
			}
			op.prepared(t, w, n)
			events := countEvents(t, plain)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			f.set(func(call int, _ string, after bool) error {
				if call == ending && after == late {
					cancel()
				}
				return nil
			})
			_, err := op.try(ctx, t, w, n)
			calls := len(f.calls())
			f.set(nil)
			what := fmt.Sprintf("context ended at statement %d of %d (late: %v)", ending, calls, late)
			if err != nil && err != context.Canceled { //nolint:errorlint // itself is the contract
				t.Errorf("%s: error %#v (%v), want context.Canceled itself", what, err, err)
			}
			if err == nil {
				if got, want := countEvents(t, plain), events+op.events; got != want {
					t.Errorf("%s, and no error: %d events, want %d", what, got, want)
				}
				op.wantDone(t, w, n)
			}
			if err := op.again(t, w, n); err != nil {
				t.Errorf("%s, then: %v", what, err)
			}
			op.wantDone(t, w, n)
			if got, want := countEvents(t, plain), events+op.events; got != want {
				t.Errorf("%s, then: %d events, want %d", what, got, want)
			}
			if b.postgres() {
				wantNoOpenTransaction(t, plain)
			}
			return calls >= ending
		}
		for _, late := range []bool{false, true} {
			for ending := 1; end(ending, late); ending++ {
			}
		}
	})
}

// again makes the call until it succeeds or has succeeded before: after a
// context has ended the database may work on the old call for a moment still.
func (op operation) again(t *testing.T, w *world, n int) error {
	t.Helper()
	_, err := op.try(t.Context(), t, w, n)
	if op.name == "Create" && session.Code(err) == "ALREADY_EXISTS" {
		return nil
	}
	return err
}

// wantNoOpenTransaction checks that no connection of the service waits within a
// transaction. Ended ones disappear a moment after the client has closed them.
func wantNoOpenTransaction(t *testing.T, plain *sql.DB) {
	t.Helper()
	const query = `SELECT count(*) FROM pg_stat_activity WHERE application_name = current_schema() AND state LIKE 'idle in transaction%'`
	var n int
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if err := plain.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("%d transactions are still open", n)
			return
		}
	}
}

// TestDeadlineAtStatement is TestContextEndsAtStatement for deadlines.
func TestDeadlineAtStatement(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		w, f, _ := faultyWorld(t, b)
		for _, op := range operations() {
			op.prepared(t, w, 1)
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			f.set(func(call int, _ string, after bool) error {
				if call == 2 && !after {
					<-ctx.Done()
				}
				return nil
			})
			_, err := op.try(ctx, t, w, 1)
			calls := len(f.calls())
			f.set(nil)
			cancel()
			if err != context.DeadlineExceeded && (err != nil || calls > 1) { //nolint:errorlint // itself is the contract
				t.Errorf("%s: error %v, want context.DeadlineExceeded itself", op.name, err)
			}
			if err := op.again(t, w, 1); err != nil {
				t.Errorf("%s, then: %v", op.name, err)
			}
			op.wantDone(t, w, 1)
		}
	})
}

// TestNoGoroutineLeaks: a service starts no goroutine that outlives its call,
// not even one whose context has ended.
func TestNoGoroutineLeaks(t *testing.T) {
	for _, b := range backends() {
		t.Run(b.name, func(t *testing.T) {
			svc, err := database.Open(b.dial(t)) // first, so that a server that tests share is running
			must(t, err)
			must(t, svc.Close())
			before := runtime.NumGoroutine()

			d, f, plain := faulty(t, b)
			svc, err = database.Open(d)
			must(t, err)
			must(t, svc.Migrate(t.Context()))
			w := newWorld(svc)
			w.must(t, fixture()...)
			for _, op := range operations() {
				for ending := range 8 {
					op.prepared(t, w, ending)
					ctx, cancel := context.WithCancel(t.Context())
					f.set(func(call int, _ string, after bool) error {
						if call == ending && !after {
							cancel()
						}
						return nil
					})
					_, _ = op.try(ctx, t, w, ending) // how it ends is tested elsewhere
					f.set(nil)
					cancel()
				}
			}
			for err := range svc.Check(t.Context()) {
				t.Errorf("check: %v", err)
				break
			}
			must(t, svc.Close())
			must(t, plain.Close())
			for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; time.Sleep(5 * time.Millisecond) {
				if time.Now().After(deadline) {
					stacks := make([]byte, 1<<20)
					t.Fatalf("%d goroutines, before it were %d\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
				}
			}
		})
	}
}
