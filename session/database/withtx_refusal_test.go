package database_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/hansardlog/hansard/session"
	"github.com/hansardlog/hansard/session/database"
)

// refusal is a call that stores nothing, and the code of its error, empty for a
// replay.
type refusal struct {
	name string
	req  any
	code string
}

func refusals(room, plain session.Key, uid string) []refusal {
	unknown := sessionKey("unknown")
	zero, big := int64(0), int64(99)
	joined := &session.JoinRequest{Key: room, Member: "ben", IdempotencyKey: "join"}
	return []refusal{
		{"no author", &session.AppendEventRequest{Key: room, Event: &session.Event{}}, "INVALID_ARGUMENT"},
		{"NUL in the key", &session.CreateRequest{Key: session.Key{AppName: "a\x00", UserID: "u"}}, "INVALID_ARGUMENT"},
		{"join in kind session", &session.JoinRequest{Key: plain, Member: "ben"}, "INVALID_ARGUMENT"},
		{"AtSeq above the head", &session.ListMembersRequest{Key: room, AtSeq: big}, "INVALID_ARGUMENT"},
		{"token of no list", &session.ListRequest{AppName: "app", PageToken: "token"}, "INVALID_ARGUMENT"},
		{"get of nothing", &session.GetRequest{Key: unknown}, "NOT_FOUND"},
		{"get of another incarnation", &session.GetRequest{Key: room, UID: uid}, "NOT_FOUND"},
		{"events of nothing", &session.ListEventsRequest{Key: unknown}, "NOT_FOUND"},
		{"members of nothing", &session.ListMembersRequest{Key: unknown}, "NOT_FOUND"},
		{"join to nothing", &session.JoinRequest{Key: unknown, Member: "ben"}, "NOT_FOUND"},
		{"leave of another incarnation", &session.LeaveRequest{Key: room, UID: uid, Member: "ben"}, "NOT_FOUND"},
		{"create of what exists", &session.CreateRequest{Key: room, State: session.State{"app:k": "never"}}, "ALREADY_EXISTS"},
		{"append to nothing", &session.AppendEventRequest{Key: unknown, Event: words("ana", "a")}, "NOT_MEMBER"},
		{"append to another incarnation", &session.AppendEventRequest{Key: room, UID: uid, Event: words("ana", "a")}, "NOT_MEMBER"},
		{"append to an incarnation in other letters", &session.AppendEventRequest{Key: plain, UID: strings.ToUpper(uid), Event: words("ana", "a")}, "NOT_MEMBER"},
		{"append of a stranger", &session.AppendEventRequest{Key: room, Event: &session.Event{
			Author: "stranger", IdempotencyKey: "k", StateDelta: session.State{"k": "never", "app:k": "never", "user:k": "never"}}}, "NOT_MEMBER"},
		{"batch with a stranger", &session.AppendEventsRequest{Key: room, Events: []*session.Event{words("ana", "a"), words("stranger", "b")}}, "NOT_MEMBER"},
		{"join by a stranger", &session.JoinRequest{Key: room, Actor: "stranger", Member: "carla"}, "NOT_MEMBER"},
		{"leave of a stranger", &session.LeaveRequest{Key: room, Member: "stranger"}, "NOT_MEMBER"},
		{"get of a stranger", &session.GetRequest{Key: room, Viewer: "stranger"}, "NOT_MEMBER"},
		{"join of a member", &session.JoinRequest{Key: room, Member: "ana"}, "ALREADY_MEMBER"},
		{"another request of the key", &session.AppendEventRequest{Key: room, Event: keyed("ana", "known", "another")}, "IDEMPOTENCY_MISMATCH"},
		{"another join of the key", &session.JoinRequest{Key: room, Member: "carla", IdempotencyKey: "join"}, "IDEMPOTENCY_MISMATCH"},
		{"batch of a known and a new", &session.AppendEventsRequest{Key: room, Events: []*session.Event{keyed("ana", "known", "first"), words("ana", "b")}}, "IDEMPOTENCY_MISMATCH"},
		{"stale", &session.AppendEventRequest{Key: room, Event: words("ana", "a"), ExpectedSeq: &zero}, "STALE"},
		{"stale batch", &session.AppendEventsRequest{Key: room, Events: []*session.Event{words("ana", "a"), words("ana", "b")}, ExpectedSeq: &big}, "STALE"},
		{"another epoch", &session.ListEventsRequest{Key: room, Epoch: 2}, "EPOCH_CHANGED"},
		{"delete of nothing", &session.DeleteRequest{Key: unknown}, ""},
		{"delete of another incarnation", &session.DeleteRequest{Key: room, UID: uid}, ""},
		{"partial event", &session.AppendEventRequest{Key: room, Event: &session.Event{Author: "ana", Partial: true}}, ""},
		{"replay", &session.AppendEventRequest{Key: room, Event: keyed("ana", "known", "first"), ExpectedSeq: &zero}, ""},
		{"replay of a batch", &session.AppendEventsRequest{Key: room, Events: []*session.Event{keyed("ana", "known", "first")}}, ""},
		{"replay of a join", joined, ""},
	}
}

// TestWithTxRefusals: rule 17. A refusal or a replay leaves the caller's
// transaction usable and takes no sequence: after each the next event is stored
// with the next number, and all of it commits.
func TestWithTxRefusals(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		r := newRig(t, b)
		plain := made(t, r.svc, "plain", nil)
		other := got(r.svc.Get(t.Context(), &session.GetRequest{Key: plain}))(t).Session.UID
		room := made(t, r.svc, "room", nil, "ana")
		said(t, r.svc, room, keyed("ana", "known", "first"))
		got(r.svc.Join(t.Context(), &session.JoinRequest{Key: room, Member: "ben", IdempotencyKey: "join"}))(t)
		must(t, r.db.Transaction(func(tx *gorm.DB) error {
			svc := r.svc.WithTx(tx)
			w, next := newWorld(svc), int64(4)
			for _, tt := range refusals(room, plain, other) {
				_, err := w.do(t.Context(), &call{req: tt.req})
				if session.Code(err) != tt.code {
					t.Errorf("%s: error %v with code %q, want %q", tt.name, err, session.Code(err), tt.code)
				}
				_, err = w.do(t.Context(), &call{req: tt.req, cancelled: true})
				if session.Code(err) != "CANCELED" && session.Code(err) != "INVALID_ARGUMENT" {
					t.Errorf("%s, cancelled: error %v", tt.name, err)
				}
				resp, err := svc.AppendEvent(t.Context(), &session.AppendEventRequest{Key: room, Event: words("ana", tt.name)})
				if err != nil {
					return fmt.Errorf("append after %s: %w", tt.name, err)
				}
				if resp.Event.Seq != next {
					t.Errorf("after %s the event has sequence %d, want %d", tt.name, resp.Event.Seq, next)
				}
				next = resp.Event.Seq + 1
			}
			return nil
		}))
		s := got(r.svc.Get(t.Context(), &session.GetRequest{Key: room}))(t).Session
		if want := int64(3 + len(refusals(room, plain, ""))); s.HeadSeq != want || len(s.State) != 0 {
			t.Errorf("after the commit: head %d and state %v, want %d and none", s.HeadSeq, s.State, want)
		}
		r.healthy(t)
	})
}

// TestWithTxContextEnds ends the context of a call, not of the transaction, at
// each statement. If the call reports success, all of it is in the transaction.
func TestWithTxContextEnds(t *testing.T) {
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
		undone := errors.New("undone")
		for _, op := range operations() {
			for ending := 1; ; ending++ {
				n := ending + 1
				op.prepared(t, w, n)
				before, events := stored(t, plain), countEvents(t, plain)
				calls := 0
				err := db.Transaction(func(tx *gorm.DB) error {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					f.set(func(call int, _ string, after bool) error {
						if call == ending && !after {
							cancel()
						}
						return nil
					})
					_, err := op.try(ctx, t, newWorld(svc.WithTx(tx)), n)
					calls = len(f.calls())
					f.set(nil)
					if err != nil && err != context.Canceled { //nolint:errorlint // itself is the contract
						t.Errorf("%s, context ended at statement %d: error %v, want context.Canceled itself", op.name, ending, err)
					}
					if err != nil {
						return undone
					}
					return nil
				})
				switch {
				case err == nil:
					if got, want := countEvents(t, plain), events+op.events; got != want {
						t.Errorf("%s, context ended at statement %d, and no error: %d events, want %d", op.name, ending, got, want)
					}
					op.wantDone(t, w, n)
				case !errors.Is(err, undone):
					t.Errorf("%s: %v", op.name, err)
				case stored(t, plain) != before:
					t.Errorf("%s, context ended at statement %d: something is stored after the rollback", op.name, ending)
				}
				if calls < ending {
					break
				}
			}
		}
		wantSound(t, svc)
	})
}
