package database_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/hansardlog/hansard/session"
	"github.com/hansardlog/hansard/session/database"
)

// TestWithTxNothingRetried: a part of a transaction cannot be repeated, so each
// statement that is busy is the caller's to handle.
func TestWithTxNothingRetried(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		d, f, plain := faulty(t, b)
		db, err := gorm.Open(d, &gorm.Config{Logger: logger.Discard})
		must(t, err)
		t.Cleanup(func() { must(t, poolOf(d).Close()) })
		svc, err := database.New(db)
		must(t, err)
		must(t, svc.Migrate(t.Context()))
		w := newWorld(svc)
		w.must(t, fixture()...)
		var busy error = &pgconn.PgError{Code: "40P01", Message: "deadlock detected"}
		if !b.postgres() {
			busy = errors.New("database is locked (517) (SQLITE_BUSY_SNAPSHOT)")
		}
		for _, op := range operations() {
			op.prepared(t, w, 1)
			before := stored(t, plain)
			for failing := 1; ; failing++ {
				tx := db.Begin()
				must(t, tx.Error)
				f.set(func(n int, _ string, after bool) error {
					if n == failing && !after {
						return busy
					}
					return nil
				})
				_, err := op.try(t.Context(), t, newWorld(svc.WithTx(tx)), 1)
				calls := len(f.calls())
				f.set(nil)
				must(t, tx.Rollback().Error)
				if calls < failing {
					break
				}
				if !errors.Is(err, session.ErrBusy) || calls != failing {
					t.Errorf("%s, busy at statement %d: %d statements and error %v, want ErrBusy at once", op.name, failing, calls, err)
				}
			}
			if stored(t, plain) != before {
				t.Errorf("%s: something is stored after the rollbacks", op.name)
			}
		}
	})
}

// againWhileBusy repeats a whole transaction while it is refused as busy, as a caller
// does, and returns how often it was.
func againWhileBusy(t *testing.T, r *rig, opts *sql.TxOptions, fn func(tx *gorm.DB) error) (busy int) {
	for {
		err := r.db.Transaction(fn, opts)
		switch {
		case err == nil:
			return busy
		case !errors.Is(err, session.ErrBusy):
			t.Error(err)
			return busy
		}
		busy++
	}
}

// TestWithTxSnapshotTooOld: what another transaction has committed since this
// one's snapshot cannot be appended to from it.
func TestWithTxSnapshotTooOld(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		if b.name == "sqlite-immediate" {
			t.Skip("a transaction there takes the write lock when it begins, so no other commits")
		}
		r := newRig(t, b)
		key := made(t, r.svc, "s1", nil)
		var opts *sql.TxOptions
		if r.postgres() {
			opts = &sql.TxOptions{Isolation: sql.LevelRepeatableRead}
		}
		first := true
		busy := againWhileBusy(t, r, opts, func(tx *gorm.DB) error {
			svc := r.svc.WithTx(tx)
			head := got(svc.Get(t.Context(), &session.GetRequest{Key: key}))(t).Session.HeadSeq
			if first {
				first = false
				said(t, r.svc, key, words("ben", "in between"))
			}
			// The isolation is the caller's: the snapshot does not move.
			if now := got(svc.Get(t.Context(), &session.GetRequest{Key: key}))(t).Session.HeadSeq; now != head {
				t.Errorf("head is %d, and was %d in the same snapshot", now, head)
			}
			_, err := svc.AppendEvent(t.Context(), &session.AppendEventRequest{Key: key, Event: words("ana", "after what I read"), ExpectedSeq: &head})
			return err
		})
		if busy != 1 {
			t.Errorf("the transaction was busy %d times, want once", busy)
		}
		if head := got(r.svc.Get(t.Context(), &session.GetRequest{Key: key}))(t).Session.HeadSeq; head != 2 {
			t.Errorf("head is %d, want 2", head)
		}
		r.healthy(t)
	})
}

// TestWithTxReadCommitted: there, a transaction sees what has been committed
// since its last read.
func TestWithTxReadCommitted(t *testing.T) {
	r := newRig(t, onBackend(t, "postgres"))
	key := made(t, r.svc, "s1", nil)
	must(t, r.db.Transaction(func(tx *gorm.DB) error {
		svc := r.svc.WithTx(tx)
		for want := range int64(3) {
			if head := got(svc.Get(t.Context(), &session.GetRequest{Key: key}))(t).Session.HeadSeq; head != want {
				t.Errorf("head is %d, want %d", head, want)
			}
			said(t, r.svc, key, words("ben", "in between"))
		}
		if e := said(t, svc, key, words("ana", "inside")); e.Seq != 4 {
			t.Errorf("sequence %d, want 4", e.Seq)
		}
		return nil
	}, &sql.TxOptions{Isolation: sql.LevelReadCommitted}))
	r.healthy(t)
}

// TestWithTxDeadlock: two transactions append to two sessions in opposite order.
// One is refused as busy and repeated by its caller; nothing is lost.
func TestWithTxDeadlock(t *testing.T) {
	r := newRig(t, onBackend(t, "postgres"))
	a, b := made(t, r.svc, "a", nil), made(t, r.svc, "b", nil)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var met sync.WaitGroup // both have their first lock
	met.Add(2)
	var refused [2]int
	atOnce(2, func(i int) {
		keys := []session.Key{a, b}
		if i == 1 {
			keys = []session.Key{b, a}
		}
		first := true
		refused[i] = againWhileBusy(t, r, nil, func(tx *gorm.DB) error {
			for n, key := range keys {
				e := &session.Event{Author: fmt.Sprint("writer ", i), StateDelta: session.State{fmt.Sprint("k", i): i}}
				if _, err := r.svc.WithTx(tx).AppendEvent(ctx, &session.AppendEventRequest{Key: key, Event: e}); err != nil {
					return err
				}
				if n == 0 && first {
					first = false
					met.Done()
					met.Wait()
				}
			}
			return nil
		})
	})
	if refused[0]+refused[1] < 1 {
		t.Error("no transaction was refused; did they deadlock?")
	}
	for _, key := range []session.Key{a, b} {
		s := got(r.svc.Get(t.Context(), &session.GetRequest{Key: key}))(t).Session
		if s.HeadSeq != 2 || len(s.State) != 2 {
			t.Errorf("%s: head %d and state %v, want 2 and the keys of both", key, s.HeadSeq, s.State)
		}
	}
	r.healthy(t)
}

// TestWithTxWritesFirst: on SQLite a transaction that reads before it writes
// fails if another commits in between, so every call that writes must begin with
// a write: a caller cannot tell that it does not.
func TestWithTxWritesFirst(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		if b.postgres() {
			t.Skip("rows are locked there")
		}
		d, f, plain := faulty(t, b)
		db, err := gorm.Open(d, &gorm.Config{Logger: logger.Discard})
		must(t, err)
		t.Cleanup(func() { must(t, poolOf(d).Close()) })
		svc, err := database.New(db)
		must(t, err)
		must(t, svc.Migrate(t.Context()))
		w := newWorld(svc)
		w.must(t, fixture()...)
		other, err := plain.Conn(t.Context())
		must(t, err)
		defer other.Close()
		_, err = other.ExecContext(t.Context(), "PRAGMA busy_timeout = 1")
		must(t, err)
		for _, op := range operations() {
			if op.events == 0 && op.appKey == "" {
				continue // it only reads
			}
			op.prepared(t, w, 1)
			err := db.Transaction(func(tx *gorm.DB) error {
				// The other writer succeeds, or finds the write lock taken.
				f.set(func(n int, _ string, after bool) error {
					if n == 2 && !after {
						_, _ = other.ExecContext(t.Context(), "UPDATE hansard_app_states SET version = version + 1")
					}
					return nil
				})
				defer f.set(nil)
				_, err := op.try(t.Context(), t, newWorld(svc.WithTx(tx)), 1)
				return err
			})
			if err != nil {
				t.Errorf("%s beside another writer: %v", op.name, err)
			}
		}
	})
}
