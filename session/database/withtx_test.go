package database_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"gorm.io/gorm"

	"github.com/hansardlog/hansard/session"
	"github.com/hansardlog/hansard/session/database"
)

// together is an order of a shop and what was said about it, in one transaction.
func together(ctx context.Context, r *rig, tx *gorm.DB, order int) error {
	svc := r.svc.WithTx(tx)
	if err := tx.WithContext(ctx).Exec("INSERT INTO orders (id) VALUES (?)", order).Error; err != nil {
		return err
	}
	created, err := svc.Create(ctx, &session.CreateRequest{Key: sessionKey(fmt.Sprint("order ", order)), Kind: session.KindGroup,
		Members: []string{"ana"}, State: session.State{"order": order, "app:last": order}})
	if err != nil {
		return err
	}
	key := created.Session.Key
	_, err = svc.AppendEvent(ctx, &session.AppendEventRequest{Key: key, Event: &session.Event{
		Author: "ana", StateDelta: session.State{"paid": false, "app:last": order, "user:last": order}}})
	if err != nil {
		return err
	}
	if _, err := svc.Join(ctx, &session.JoinRequest{Key: key, Member: "ben", Actor: "ana"}); err != nil {
		return err
	}
	_, err = svc.AppendEvents(ctx, &session.AppendEventsRequest{Key: key, Events: []*session.Event{words("ana", "hello"), words("ben", "hello")}})
	if err != nil {
		return err
	}
	if _, err := svc.Leave(ctx, &session.LeaveRequest{Key: key, Member: "ana"}); err != nil {
		return err
	}
	_, err = svc.UpdateState(ctx, &session.UpdateStateRequest{AppName: "app", UserID: "olga", Delta: session.State{"user:orders": order}})
	if err != nil {
		return err
	}
	// The transaction's own writes are seen in it.
	s, err := svc.Get(ctx, &session.GetRequest{Key: key})
	if err != nil {
		return err
	}
	if n := len(s.Session.Events); n != 6 || s.Session.HeadSeq != 6 {
		return fmt.Errorf("%d events with head %d in the transaction, want 6", n, s.Session.HeadSeq)
	}
	if n, err := session.Get[int](s.Session.State, "user:orders"); err != nil || n != order {
		return fmt.Errorf("user:orders is %d, %w, want %d", n, err, order)
	}
	return nil
}

func shop(t *testing.T, b backend) *rig {
	r := newRig(t, b)
	r.exec(t, "CREATE TABLE orders (id bigint PRIMARY KEY)")
	return r
}

func TestWithTxCommitsTogether(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		r := shop(t, b)
		for order := range 3 {
			must(t, r.db.Transaction(func(tx *gorm.DB) error { return together(t.Context(), r, tx, order) }))
		}
		if n := r.number(t, "SELECT count(*) FROM orders"); n != 3 {
			t.Errorf("%d orders, want 3", n)
		}
		s := got(r.svc.Get(t.Context(), &session.GetRequest{Key: sessionKey("order 2")}))(t).Session
		if s.HeadSeq != 6 || len(s.Events) != 6 {
			t.Errorf("head %d and %d events after the commit, want 6", s.HeadSeq, len(s.Events))
		}
		r.healthy(t)
	})
}

func TestWithTxRollsBackTogether(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		r := shop(t, b)
		changed := errors.New("the customer changed her mind")
		for range 2 { // what is rolled back does not stand in the way of the next time
			err := r.db.Transaction(func(tx *gorm.DB) error {
				if err := together(t.Context(), r, tx, 1); err != nil {
					return err
				}
				return changed
			})
			if !errors.Is(err, changed) {
				t.Fatal(err)
			}
		}
		for _, table := range []string{"orders", "hansard_conversations", "hansard_events", "hansard_membership_periods",
			"hansard_state_checkpoints", "hansard_session_states", "hansard_app_states", "hansard_user_states"} {
			if n := r.number(t, "SELECT count(*) FROM "+table); n != 0 {
				t.Errorf("%d rows in %s after the rollback", n, table)
			}
		}
	})
}

// TestWithTxSavepoint: rolling back to a savepoint takes back the sequence too.
func TestWithTxSavepoint(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		r := newRig(t, b)
		key := made(t, r.svc, "s1", nil)
		undone := errors.New("undone")
		must(t, r.db.Transaction(func(tx *gorm.DB) error {
			if e := said(t, r.svc.WithTx(tx), key, words("ana", "kept")); e.Seq != 1 {
				t.Errorf("sequence %d, want 1", e.Seq)
			}
			err := tx.Transaction(func(tx *gorm.DB) error {
				said(t, r.svc.WithTx(tx), key, &session.Event{Author: "ana", StateDelta: session.State{"k": "undone"}})
				return undone
			})
			if !errors.Is(err, undone) {
				t.Error(err)
			}
			if e := said(t, r.svc.WithTx(tx), key, words("ana", "kept too")); e.Seq != 2 {
				t.Errorf("sequence %d after the savepoint, want 2", e.Seq)
			}
			return nil
		}))
		r.healthy(t)
	})
}

// TestWithTxDeleteAndCreate: a session is replaced by another of its key in one
// transaction, or not at all.
func TestWithTxDeleteAndCreate(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		r := newRig(t, b)
		key := made(t, r.svc, "s1", session.State{"k": "old"}, "ana")
		said(t, r.svc, key, keyed("ana", "k", "old"))
		old := got(r.svc.Get(t.Context(), &session.GetRequest{Key: key}))(t).Session
		replace := func(tx *gorm.DB) error {
			svc := r.svc.WithTx(tx)
			must(t, svc.Delete(t.Context(), &session.DeleteRequest{Key: key, UID: old.UID}))
			_, err := svc.Get(t.Context(), &session.GetRequest{Key: key})
			if !errors.Is(err, session.ErrNotFound) {
				t.Errorf("get after delete: error %v, want ErrNotFound", err)
			}
			created := got(svc.Create(t.Context(), &session.CreateRequest{Key: key, State: session.State{"new": true}}))(t).Session
			if created.UID == old.UID || created.HeadSeq != 0 || len(created.State) != 1 {
				t.Errorf("the new session has UID %s, head %d and state %v", created.UID, created.HeadSeq, created.State)
			}
			// The key that named a request of the old session is free.
			resp := got(svc.AppendEvent(t.Context(), &session.AppendEventRequest{Key: key, Event: keyed("ana", "k", "new")}))(t)
			if resp.Replayed || resp.Event.Seq != 1 {
				t.Errorf("the first event of the new session: %+v", resp)
			}
			return nil
		}
		undone := errors.New("undone")
		err := r.db.Transaction(func(tx *gorm.DB) error { return errors.Join(replace(tx), undone) })
		if !errors.Is(err, undone) {
			t.Fatal(err)
		}
		if s := got(r.svc.Get(t.Context(), &session.GetRequest{Key: key}))(t).Session; s.UID != old.UID || s.HeadSeq != 2 || len(s.State) != 1 {
			t.Errorf("after the rollback: UID %s, head %d, state %v; want those of the old session", s.UID, s.HeadSeq, s.State)
		}
		must(t, r.db.Transaction(replace))
		s := got(r.svc.Get(t.Context(), &session.GetRequest{Key: key}))(t).Session
		if s.UID == old.UID || s.HeadSeq != 1 {
			t.Errorf("after the commit: UID %s, head %d; want those of the new session", s.UID, s.HeadSeq)
		}
		if n := r.number(t, "SELECT count(*) FROM hansard_discarded_logs"); n != 0 {
			t.Errorf("%d discarded logs are left", n)
		}
		if n := r.number(t, "SELECT count(*) FROM hansard_events"); n != 1 {
			t.Errorf("%d events, want the one of the new session", n)
		}
		r.healthy(t)
	})
}

// TestWithTxMisuse: on a handle without a transaction a call would commit on its
// own what the caller believes to be joined.
func TestWithTxMisuse(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		r := newRig(t, b)
		w := newWorld(r.svc)
		w.must(t, fixture()...)
		events := r.number(t, "SELECT count(*) FROM hansard_events")
		for what, joined := range map[string]*database.Service{"no transaction": r.svc.WithTx(r.db), "nil": r.svc.WithTx(nil)} {
			for _, op := range operations() {
				_, err := op.try(t.Context(), t, newWorld(joined), 0)
				if err == nil || session.Code(err) != "INTERNAL" {
					t.Errorf("%s: %s: error %v with code %s, want one with INTERNAL", what, op.name, err, session.Code(err))
				}
			}
			n := 0
			for err := range joined.Check(t.Context()) {
				var v *database.Violation
				if n++; errors.As(err, &v) {
					t.Errorf("%s: check finds %v", what, v)
				}
			}
			if n != 1 {
				t.Errorf("%s: check yields %d times, want the one error", what, n)
			}
		}
		if n := r.number(t, "SELECT count(*) FROM hansard_events"); n != events {
			t.Errorf("%d events, want %d as before", n, events)
		}
	})
}

func TestWithTxOwnsNothing(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		r := newRig(t, b)
		key := made(t, r.svc, "s1", nil)
		must(t, r.db.Transaction(func(tx *gorm.DB) error {
			joined := r.svc.WithTx(tx)
			if err := joined.Close(); err == nil {
				t.Error("Close of a joined service: no error")
			}
			if err := joined.Migrate(t.Context()); err == nil {
				t.Error("Migrate of a joined service: no error")
			}
			said(t, joined, key, words("ana", "still in the transaction"))
			for err := range joined.Check(t.Context()) {
				t.Errorf("check in the transaction: %v", err)
			}
			return nil
		}))
		tx := r.db.Begin()
		if _, err := database.New(tx); err == nil {
			t.Error("New on a transaction: no error")
		}
		must(t, tx.Rollback().Error)
		said(t, r.svc, key, words("ana", "outside"))
		r.healthy(t)
	})
}
