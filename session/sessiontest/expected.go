package sessiontest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/hansardlog/hansard/session"
)

var expectedTests = []test{
	{name: "the head is accepted, 0 in an empty log", run: expectedHead},
	{name: "StaleError names key, expected and head; nothing is stored", run: expectedStale},
	{name: "joins and leaves move the head", run: expectedMembership},
	{name: "a batch counts as one", run: expectedBatch},
	{name: "rule 8: membership comes before ExpectedSeq", run: expectedStranger},
}

// wantStale checks for a *StaleError about testKey.
func wantStale(t *testing.T, what string, err error, expected, head int64) {
	t.Helper()
	wantErr(t, what, err, session.ErrStale)
	var stale *session.StaleError
	if !errors.As(err, &stale) {
		t.Errorf("%s: got error %v, want a *StaleError", what, err)
		return
	}
	same(t, what, *stale, session.StaleError{Key: testKey, Expected: expected, Head: head})
}

func expectedHead(t *testing.T, svc session.Service) {
	create(t, svc, session.KindSession)
	for head := range int64(3) {
		e := say("ana", fmt.Sprint(head))
		stored := ok(svc.AppendEvent(t.Context(), &session.AppendEventRequest{Key: testKey, Event: e, ExpectedSeq: &head}))(t).Event
		if stored.Seq != head+1 {
			t.Errorf("after head %d: sequence %d, want %d", head, stored.Seq, head+1)
		}
	}
}

func expectedStale(t *testing.T, svc session.Service) {
	createState(t, svc, session.State{"k": 0})
	add(t, svc, say("ana", "a"))
	add(t, svc, say("ana", "b"))
	check := unchanged(t, svc)
	for _, expected := range []int64{0, 1, 3, 1<<63 - 1} {
		e := sets("ana", session.State{"k": 1, "app:k": 1, "user:k": 1}, "gone")
		err := errOf(svc.AppendEvent(t.Context(), &session.AppendEventRequest{Key: testKey, Event: e, ExpectedSeq: &expected}))
		wantStale(t, "AppendEvent", err, expected, 2)
		err = errOf(svc.AppendEvents(t.Context(), &session.AppendEventsRequest{Key: testKey, Events: []*session.Event{e, e}, ExpectedSeq: &expected}))
		wantStale(t, "AppendEvents", err, expected, 2)
	}
	check()
	if e := add(t, svc, say("ana", "c")); e.Seq != 3 {
		t.Errorf("without ExpectedSeq: sequence %d, want 3", e.Seq)
	}
}

func expectedMembership(t *testing.T, svc session.Service) {
	s := create(t, svc, session.KindGroup, "ana", "ben")
	expected := s.HeadSeq
	ok(svc.Leave(t.Context(), &session.LeaveRequest{Key: testKey, Member: "ben"}))(t)
	ok(svc.Join(t.Context(), &session.JoinRequest{Key: testKey, Member: "ben"}))(t)
	req := &session.AppendEventRequest{Key: testKey, Event: say("ana", "a"), ExpectedSeq: &expected}
	wantStale(t, "after a leave and a join", errOf(svc.AppendEvent(t.Context(), req)), 2, 4)
	expected = 4
	ok(svc.AppendEvent(t.Context(), req))(t)
}

func expectedBatch(t *testing.T, svc session.Service) {
	create(t, svc, session.KindSession)
	var expected int64
	req := &session.AppendEventsRequest{
		Key: testKey, Events: []*session.Event{say("ana", "a"), say("ana", "b"), say("ana", "c")}, ExpectedSeq: &expected,
	}
	ok(svc.AppendEvents(t.Context(), req))(t)
	wantStale(t, "the batch again", errOf(svc.AppendEvents(t.Context(), req)), 0, 3)
	expected = 3
	same(t, "the next batch", seqs(ok(svc.AppendEvents(t.Context(), req))(t).Events), upTo(4, 6))
}

func expectedStranger(t *testing.T, svc session.Service) {
	create(t, svc, session.KindDirect, "ana", "ben")
	stale := int64(0)
	for _, e := range []*session.Event{say("eve", "a"), say("olga", "the owner is no member")} {
		err := errOf(svc.AppendEvent(t.Context(), &session.AppendEventRequest{Key: testKey, Event: e, ExpectedSeq: &stale}))
		wantNotMember(t, "AppendEvent of "+e.Author, err)
		err = errOf(svc.AppendEvents(t.Context(), &session.AppendEventsRequest{Key: testKey, Events: []*session.Event{say("ana", "a"), e}, ExpectedSeq: &stale}))
		wantNotMember(t, "AppendEvents with "+e.Author, err)
	}
}
