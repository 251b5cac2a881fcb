package database_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/hansardlog/hansard/session"
	"github.com/hansardlog/hansard/session/database"
)

// poolOfOne returns a service that has one connection: whoever holds it and asks
// for another waits for ever.
func poolOfOne(t *testing.T, b backend) *rig {
	r := newRig(t, b)
	pool, err := r.db.DB()
	must(t, err)
	pool.SetMaxOpenConns(1)
	return r
}

// within bounds a test that hangs if it fails.
func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func TestPoolOfOne(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		r, ctx := poolOfOne(t, b), within(t)
		must(t, r.svc.Migrate(ctx))
		w := newWorld(r.svc)
		w.must(t, fixture()...)
		for _, op := range operations() {
			op.prepared(t, w, 1)
			if _, err := op.try(ctx, t, w, 1); err != nil {
				t.Errorf("%s: %v", op.name, err)
			}
		}
		for err := range r.svc.Check(ctx) {
			t.Errorf("check: %v", err)
		}
	})
}

// TestPoolOfOneIterators: no connection is held while the loop body runs.
func TestPoolOfOneIterators(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		r, ctx := poolOfOne(t, b), within(t)
		newWorld(r.svc).must(t, fixture()...)
		use := func() {
			if _, err := r.svc.AppendEvent(ctx, &session.AppendEventRequest{Key: faultKey, Event: words("ana", "in the loop")}); err != nil {
				t.Fatal(err)
			}
			if _, err := r.svc.Get(ctx, &session.GetRequest{Key: faultGroup}); err != nil {
				t.Fatal(err)
			}
		}
		events := 0
		for _, err := range session.AllEvents(ctx, r.svc, session.ListEventsRequest{Key: faultGroup, Limit: 2}) {
			must(t, err)
			use()
			events++
		}
		sessions := 0
		for _, err := range session.AllSessions(ctx, r.svc, session.ListRequest{AppName: "app", PageSize: 1, WithState: true}) {
			must(t, err)
			use()
			sessions++
		}
		if events != 6 || sessions != 2 {
			t.Errorf("%d events and %d sessions, want 6 and 2", events, sessions)
		}
		// Two findings, so that Check goes on after the body of the first.
		r.exec(t, "UPDATE hansard_conversations SET next_seq = next_seq + 1")
		findings := 0
		for err := range r.svc.Check(ctx) {
			var v *database.Violation
			if !errors.As(err, &v) {
				t.Fatal(err)
			}
			if _, err := r.svc.Get(ctx, &session.GetRequest{Key: v.Key}); err != nil {
				t.Fatal(err)
			}
			findings++
		}
		if findings != 2 {
			t.Errorf("%d findings, want 2", findings)
		}
	})
}

func TestPoolOfOneConcurrency(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		r, ctx := poolOfOne(t, b), within(t)
		key := made(t, r.svc, "shared", nil)
		rounds := fewer(6, 2)
		atOnce(16, func(i int) {
			for n := range rounds {
				name := fmt.Sprintf("writer %d round %d", i, n)
				steps := []error{
					errorOf(r.svc.AppendEvent(ctx, &session.AppendEventRequest{Key: key, Event: &session.Event{
						Author: name, IdempotencyKey: name, StateDelta: session.State{name: n, "app:" + name: n, "user:" + name: n}}})),
					errorOf(r.svc.Create(ctx, &session.CreateRequest{Key: sessionKey(name)})),
					errorOf(r.svc.Get(ctx, &session.GetRequest{Key: key, NumRecentEvents: 3})),
					errorOf(r.svc.List(ctx, &session.ListRequest{AppName: "app", WithState: true, PageSize: 10})),
					errorOf(r.svc.UpdateState(ctx, &session.UpdateStateRequest{AppName: "app", Delta: session.State{"app:" + name: n}})),
					r.svc.Delete(ctx, &session.DeleteRequest{Key: sessionKey(name)}),
				}
				if err := errors.Join(steps...); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
		s := got(r.svc.Get(ctx, &session.GetRequest{Key: key}))(t).Session
		if want := 16 * rounds; len(s.Events) != want || s.HeadSeq != int64(want) || len(s.State) != 3*want {
			t.Errorf("%d events, head %d and %d state keys, want %d, %d and %d", len(s.Events), s.HeadSeq, len(s.State), want, want, 3*want)
		}
		r.healthy(t)
	})
}

func errorOf[T any](_ T, err error) error { return err }

// TestPoolOfOneTransaction: the caller's transaction is the one connection.
func TestPoolOfOneTransaction(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		r, ctx := poolOfOne(t, b), within(t)
		newWorld(r.svc).must(t, fixture()...)
		must(t, r.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
			w := newWorld(r.svc.WithTx(tx))
			for _, op := range operations() {
				op.prepared(t, w, 1)
				if _, err := op.try(ctx, t, w, 1); err != nil {
					t.Errorf("%s: %v", op.name, err)
				}
			}
			return nil
		}))
		r.healthy(t)
	})
}

// TestMemoryDatabase: a SQLite database in memory is its connection, so it lives
// as long as that does, whatever becomes of a call.
func TestMemoryDatabase(t *testing.T) {
	for _, b := range backends() {
		if b.postgres() {
			continue
		}
		for _, dsn := range []string{":memory:", "file::memory:"} {
			t.Run(b.name+" "+dsn, func(t *testing.T) {
				t.Parallel()
				ctx := within(t)
				memory := func() gorm.Dialector { return withDSN(b.dial(t), func(string) string { return dsn }) }
				svc, other := openDialector(t, memory()), openDialector(t, memory())
				wantWorking(t, svc, "s1")
				if list := got(other.List(ctx, &session.ListRequest{AppName: "app"}))(t).Sessions; len(list) != 0 {
					t.Errorf("another database in memory has %d of its sessions", len(list))
				}
				key := made(t, svc, "shared", nil)
				atOnce(16, func(i int) {
					if _, err := svc.AppendEvent(ctx, &session.AppendEventRequest{Key: key, Event: words("ana", fmt.Sprint(i))}); err != nil {
						t.Error(err)
					}
				})
				wantWorking(t, svc, "s2")

				// Calls whose context ends on the way.
				for i := range fewer(200, 100) {
					short, cancel := context.WithTimeout(ctx, time.Duration(i)*10*time.Microsecond)
					_, err := svc.AppendEvent(short, &session.AppendEventRequest{Key: key, Event: words("ana", "in a hurry")})
					cancel()
					if err != nil && !errors.Is(err, context.DeadlineExceeded) {
						t.Fatalf("append %d: %v", i, err)
					}
					short, cancel = context.WithTimeout(ctx, time.Duration(i)*10*time.Microsecond)
					_, err = svc.Get(short, &session.GetRequest{Key: key})
					cancel()
					if err != nil && !errors.Is(err, context.DeadlineExceeded) {
						t.Fatalf("get %d: %v", i, err)
					}
				}
				if head := got(svc.Get(ctx, &session.GetRequest{Key: key}))(t).Session.HeadSeq; head < 16 {
					t.Errorf("head is %d, want at least 16", head)
				}
				for err := range svc.Check(ctx) {
					t.Errorf("check: %v", err)
				}
			})
		}
	}
}

// TestMemoryDatabaseContext is the part of TestMemoryDatabase that no luck is
// needed for: the context ends at each statement of each operation.
func TestMemoryDatabaseContext(t *testing.T) {
	for _, b := range backends() {
		if b.postgres() {
			continue
		}
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			d, f := faultyDSN(t, b, ":memory:")
			svc := openDialector(t, d)
			w := newWorld(svc)
			w.must(t, fixture()...)
			for _, op := range operations() {
				for ending := 1; ; ending++ {
					op.prepared(t, w, ending)
					ctx, cancel := context.WithCancel(t.Context())
					f.set(func(n int, _ string, after bool) error {
						if n == ending && !after {
							cancel()
						}
						return nil
					})
					_, err := op.try(ctx, t, w, ending)
					calls := len(f.calls())
					f.set(nil)
					cancel()
					if err != nil && !errors.Is(err, context.Canceled) {
						t.Fatalf("%s, context ended at statement %d: %v", op.name, ending, err)
					}
					if _, err := svc.Get(t.Context(), &session.GetRequest{Key: faultKey}); err != nil {
						t.Fatalf("%s, context ended at statement %d: the database is gone: %v", op.name, ending, err)
					}
					if calls < ending {
						break
					}
				}
			}
		})
	}
}
