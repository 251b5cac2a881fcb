package database_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hansardlog/hansard/internal/request"
	"github.com/hansardlog/hansard/session"
)

// Check reads events, conversations and logs in pages of 500: what is wrong
// around the seams must be seen too.
func TestCheckSeesAcrossPages(t *testing.T) {
	tests := []struct {
		name  string
		in    string // the session, named after how many events it has
		loose bool
		sql   string
		want  string
	}{
		{"last of a page missing", "501", false, "DELETE FROM hansard_events WHERE {n} AND seq = 500", "P1"},
		{"first of a page missing", "502", false, "DELETE FROM hansard_events WHERE {n} AND seq = 501", "P1"},
		{"seam missing", "502", false, "DELETE FROM hansard_events WHERE {n} AND seq IN (500, 501)", "P1"},
		{"last of all missing", "501", false, "DELETE FROM hansard_events WHERE {n} AND seq = 501", "P5"},
		{"last of a page repeated", "501", true, "INSERT INTO hansard_events SELECT * FROM hansard_events WHERE {n} AND seq = 500", "P1"},
		{"last of all repeated", "500", true, "INSERT INTO hansard_events SELECT * FROM hansard_events WHERE {n} AND seq = 500", "P1"},
	}
	each(t, func(t *testing.T, b backend) {
		r := newRig(t, b)
		for n := 500; n <= 502; n++ {
			key := made(t, r.svc, fmt.Sprint(n), nil)
			events := make([]*session.Event, n)
			for i := range events {
				events[i] = &session.Event{Author: "agent"}
			}
			got(r.svc.AppendEvents(t.Context(), &session.AppendEventsRequest{Key: key, Events: events}))(t)
		}
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				var loose []string
				if tt.loose {
					loose = []string{"hansard_events"}
				}
				where := "conversation_id = (SELECT id FROM hansard_conversations WHERE session_id = '" + tt.in + "')"
				found := r.damaged(t, loose, []string{strings.ReplaceAll(tt.sql, "{n}", where)})
				if guarantees(found) != tt.want {
					t.Errorf("check found %v, want %s", found, tt.want)
				}
			})
		}
		r.healthy(t)
	})
}

func TestCheckReadsEveryPage(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		r := newRig(t, b)
		const sessions = 505
		var rows []string
		for i := range sessions {
			key := sessionKey(fmt.Sprintf("s%03d", i))
			rows = append(rows, fmt.Sprintf("(%[1]s, %[1]s, 1, 1, 1, 1, 0, 0, 'session', '%s', '%s', '%s')",
				r.idLiteral(request.ConversationID(key)), key.AppName, key.UserID, key.SessionID))
		}
		r.exec(t,
			`INSERT INTO hansard_conversations (id, uid, generation, next_seq, min_seq, epoch, created_at, updated_at,
				kind, app_name, user_id, session_id) VALUES `+strings.Join(rows, ", "),
			`INSERT INTO hansard_state_checkpoints (conversation_id, generation, seq, state)
				SELECT id, generation, 0, '{}' FROM hansard_conversations`,
			"UPDATE hansard_conversations SET next_seq = 3 WHERE id IN (SELECT id FROM hansard_conversations ORDER BY id LIMIT 2)",
			"UPDATE hansard_conversations SET next_seq = 3 WHERE id IN (SELECT id FROM hansard_conversations ORDER BY id DESC LIMIT 2)")
		if found := r.findings(t); len(found) != 4 || guarantees(found) != "P5" {
			t.Errorf("check found %v, want P5 in the first two and the last two sessions", found)
		}
		r.exec(t, "DELETE FROM hansard_conversations")
		if found := r.findings(t); len(found) != sessions || guarantees(found) != "orphan" {
			t.Errorf("check found %d violations of %s, want an orphan for each of %d sessions", len(found), guarantees(found), sessions)
		}
	})
}

func TestCheckBesideWriters(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		r := newRig(t, b)
		const writers = 4
		rounds := fewer(20, 5)
		done := make(chan struct{})
		go func() {
			defer close(done)
			atOnce(writers, func(w int) {
				for i := range rounds {
					if err := busyRound(t.Context(), r.svc, w, i); err != nil {
						t.Errorf("writer %d, round %d: %v", w, i, err)
						return
					}
				}
			})
		}()
		for checks, running := 0, true; running || checks < 2; checks++ {
			select {
			case <-done:
				running = false
			default:
			}
			r.healthy(t)
		}
	})
}

// busyRound does a bit of everything that changes tables, in one session of
// each kind that all writers share and one that comes and goes.
func busyRound(ctx context.Context, svc session.Service, w, i int) error {
	shared, group := sessionKey("shared"), sessionKey("group")
	member, own := fmt.Sprintf("m%d", w), sessionKey(fmt.Sprintf("own%d", w))
	for _, req := range []*session.CreateRequest{
		{Key: shared, State: session.State{"start": 0}},
		{Key: group, Kind: session.KindGroup, Members: []string{"ana"}},
		{Key: own, State: session.State{"start": w}},
	} {
		if _, err := svc.Create(ctx, req); err != nil && !errors.Is(err, session.ErrAlreadyExists) {
			return err
		}
	}
	set, removed := fmt.Sprintf("k%d", i%3), fmt.Sprintf("k%d", (i+1)%3)
	for _, key := range []session.Key{shared, own} {
		_, err := svc.AppendEvents(ctx, &session.AppendEventsRequest{Key: key, Events: []*session.Event{
			{Author: "agent", StateDelta: session.State{set: i, "app:" + set: i, "user:" + set: i}, StateDelete: []string{removed}},
			keyed("agent", fmt.Sprintf("%d-%d", w, i), "line"),
		}})
		if err != nil {
			return err
		}
	}
	if _, err := svc.Join(ctx, &session.JoinRequest{Key: group, Member: member}); err != nil {
		return err
	}
	if _, err := svc.AppendEvent(ctx, &session.AppendEventRequest{Key: group, Event: words(member, "here")}); err != nil {
		return err
	}
	if _, err := svc.Leave(ctx, &session.LeaveRequest{Key: group, Member: member, Actor: member}); err != nil {
		return err
	}
	if i%2 == 0 {
		return svc.Delete(ctx, &session.DeleteRequest{Key: own})
	}
	return nil
}

// In the loop body no connection is held: on a pool of one it may call the
// service.
func TestCheckOnPoolOfOne(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		r := newRig(t, b)
		got(r.db.DB())(t).SetMaxOpenConns(1)
		for _, id := range []string{"a", "b", "c"} {
			made(t, r.svc, id, session.State{"n": 1})
		}
		r.exec(t, "UPDATE hansard_conversations SET next_seq = 2", "UPDATE hansard_session_states SET value = '2'")
		made(t, r.svc, "d", session.State{"n": 1})
		r.exec(t, "DELETE FROM hansard_conversations WHERE session_id = 'd'")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		found := 0
		for err := range r.svc.Check(ctx) {
			found++
			if _, getErr := r.svc.Get(ctx, &session.GetRequest{Key: sessionKey("a"), WithoutEvents: true}); getErr != nil {
				t.Fatalf("get while %v is looked at: %v", err, getErr)
			}
		}
		if found != 8 { // P5 and P8 of three sessions, two tables of the orphan
			t.Errorf("%d findings, want 8", found)
		}
	})
}

func TestCheckEndsWithItsContext(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		r := newRig(t, b)
		for _, id := range []string{"a", "b", "c"} {
			made(t, r.svc, id, nil)
		}
		r.exec(t, "UPDATE hansard_conversations SET next_seq = 2")
		for after := range 3 { // findings before the context ends
			ctx, cancel := context.WithCancel(t.Context())
			if after == 0 {
				cancel()
			}
			var yielded []error
			for err := range r.svc.Check(ctx) {
				if yielded = append(yielded, err); len(yielded) == after {
					cancel()
				}
			}
			cancel()
			if len(yielded) != after+1 || !errors.Is(yielded[after], context.Canceled) || session.Code(yielded[after]) != "CANCELED" {
				t.Errorf("with an end after %d findings check yields %v, want them and then context.Canceled", after, yielded)
			}
		}
	})
}

func TestCheckStopsWhenTold(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		r := newRig(t, b)
		got(r.db.DB())(t).SetMaxOpenConns(1)
		for _, id := range []string{"a", "b", "c"} {
			made(t, r.svc, id, session.State{"n": 1})
		}
		for _, damage := range []string{"UPDATE hansard_conversations SET next_seq = 2", "DELETE FROM hansard_conversations"} {
			r.exec(t, damage)
			seen := 0
			for err := range r.svc.Check(t.Context()) {
				t.Log(err)
				seen++
				break
			}
			if seen != 1 {
				t.Errorf("after %q check yields nothing", damage)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := r.svc.List(ctx, &session.ListRequest{AppName: "app"}); err != nil {
			t.Errorf("list after a check that was left: %v", err)
		}
	})
}
