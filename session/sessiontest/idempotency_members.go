package sessiontest

import (
	"encoding/json"
	"testing"

	"github.com/hansardlog/hansard/session"
)

func replayMembership(t *testing.T, svc session.Service) {
	create(t, svc, session.KindGroup, "ana")
	for _, actor := range []string{"", "ana"} {
		join := &session.JoinRequest{Key: testKey, Member: "ben", Actor: actor, IdempotencyKey: "in", Payload: json.RawMessage(`"welcome"`)}
		leave := &session.LeaveRequest{Key: testKey, Member: "ben", Actor: actor, IdempotencyKey: "out", Payload: json.RawMessage(`"bye"`)}
		joined := ok(svc.Join(t.Context(), join))(t)
		if joined.Replayed {
			t.Error("a new join is Replayed")
		}
		joined.Replayed = true
		same(t, "Join again", ok(svc.Join(t.Context(), join))(t), joined)
		left := ok(svc.Leave(t.Context(), leave))(t)
		if left.Replayed {
			t.Error("a new leave is Replayed")
		}
		left.Replayed = true
		same(t, "Leave again", ok(svc.Leave(t.Context(), leave))(t), left)
		// The period has been closed since; the first answer said that it is open.
		same(t, "Join again after the leave", ok(svc.Join(t.Context(), join))(t), joined)
		same(t, "period", joined.Period, session.Period{Member: "ben", FromSeq: joined.Event.Seq})
		rejoined := ok(svc.Join(t.Context(), &session.JoinRequest{Key: testKey, Member: "ben", Actor: actor}))(t)
		same(t, "Join again after the return", ok(svc.Join(t.Context(), join))(t), joined)
		same(t, "Leave again after the return", ok(svc.Leave(t.Context(), leave))(t), left)
		if rejoined.Replayed || rejoined.Event.Seq != left.Event.Seq+1 {
			t.Errorf("the return: sequence %d, replayed %t", rejoined.Event.Seq, rejoined.Replayed)
		}
		ok(svc.Leave(t.Context(), &session.LeaveRequest{Key: testKey, Member: "ben"}))(t)
	}
	if head := get(t, svc).HeadSeq; head != 9 {
		t.Errorf("HeadSeq is %d, want 9", head)
	}
	// rule 8: replay comes before the actor check.
	byAna := &session.JoinRequest{Key: testKey, Member: "cleo", Actor: "ana", IdempotencyKey: "cleo"}
	first := ok(svc.Join(t.Context(), byAna))(t)
	bye := &session.LeaveRequest{Key: testKey, Member: "ana", Actor: "ana", IdempotencyKey: "ana"}
	gone := ok(svc.Leave(t.Context(), bye))(t)
	first.Replayed, gone.Replayed = true, true
	same(t, "Join again after its actor left", ok(svc.Join(t.Context(), byAna))(t), first)
	same(t, "Leave again by the leaver", ok(svc.Leave(t.Context(), bye))(t), gone)
	byAna.IdempotencyKey = "other"
	wantNotMember(t, "a new request of the former member", errOf(svc.Join(t.Context(), byAna)))
}

func replayMembershipMismatch(t *testing.T, svc session.Service) {
	create(t, svc, session.KindGroup, "ana")
	join := session.JoinRequest{Key: testKey, Member: "ben", Actor: "ana", IdempotencyKey: "key", Payload: json.RawMessage(`1`)}
	first := ok(svc.Join(t.Context(), &join))(t)
	for name, change := range map[string]func(r *session.JoinRequest){
		"member":     func(r *session.JoinRequest) { r.Member = "cleo" },
		"payload":    func(r *session.JoinRequest) { r.Payload = json.RawMessage(`1 `) },
		"no payload": func(r *session.JoinRequest) { r.Payload = nil },
	} {
		r := join
		change(&r)
		wantErr(t, name, errOf(svc.Join(t.Context(), &r)), session.ErrIdempotencyMismatch)
	}
	leave := session.LeaveRequest(join)
	wantErr(t, "leave under a join's key", errOf(svc.Leave(t.Context(), &leave)), session.ErrIdempotencyMismatch)
	message := &session.Event{Author: "ana", IdempotencyKey: "key", Payload: join.Payload}
	wantErr(t, "message under a join's key", addErr(t, svc, message), session.ErrIdempotencyMismatch)
	batch := &session.AppendEventsRequest{Key: testKey, Events: []*session.Event{message}}
	wantErr(t, "batch under a join's key", errOf(svc.AppendEvents(t.Context(), batch)), session.ErrIdempotencyMismatch)
	message.IdempotencyKey = "said"
	add(t, svc, message)
	join.IdempotencyKey, join.Member = "said", "cleo"
	wantErr(t, "join under a message's key", errOf(svc.Join(t.Context(), &join)), session.ErrIdempotencyMismatch)
	if s := get(t, svc); s.HeadSeq != 3 {
		t.Errorf("HeadSeq is %d, want 3", s.HeadSeq)
	}
	// Another actor's key, and that of the program itself, is another key.
	for i, actor := range []string{"", "ben"} {
		r := &session.JoinRequest{Key: testKey, Member: []string{"dan", "eve"}[i], Actor: actor, IdempotencyKey: "key"}
		if resp := ok(svc.Join(t.Context(), r))(t); resp.Replayed || resp.Event.Seq != first.Event.Seq+2+int64(i) {
			t.Errorf("actor %q: sequence %d, replayed %t", actor, resp.Event.Seq, resp.Replayed)
		}
	}
}
