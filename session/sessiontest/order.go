package sessiontest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/hansardlog/hansard/session"
)

var orderTests = []test{
	{name: "P1: sequences run from 1 without a gap, refusals and replays take none", run: orderGapless},
	{name: "equal, backdated and future timestamps do not order", run: orderTimestamps},
	{name: "IDs and authors do not order", run: orderIDs},
	{name: "RecordedAt never decreases, whatever the clock does", with: orderClock},
	{name: "UpdatedAt is the RecordedAt of the last event", with: orderUpdated},
}

// P1, P5: every kind of refusal stands between two appends.
func orderGapless(t *testing.T, svc session.Service) {
	create(t, svc, session.KindGroup, "ana", "ben")
	stale := int64(1)
	keyed := say("ana", "keyed")
	keyed.IdempotencyKey = "key"
	other := say("ana", "other")
	other.IdempotencyKey = "key"
	add(t, svc, keyed)
	refusals := []struct {
		name string
		do   func() error
	}{
		{"bad argument", func() error { return addErr(t, svc, say("", "no author")) }},
		{"stranger", func() error { return addErr(t, svc, say("eve", "hello")) }},
		{"mismatch", func() error { return addErr(t, svc, other) }},
		{"stale", func() error {
			return errOf(svc.AppendEvent(t.Context(), &session.AppendEventRequest{
				Key: testKey, Event: sets("ana", session.State{"k": 1, "app:k": 1, "user:k": 1}), ExpectedSeq: &stale,
			}))
		}},
		{"batch with a stranger", func() error {
			return errOf(svc.AppendEvents(t.Context(), &session.AppendEventsRequest{
				Key: testKey, Events: []*session.Event{say("ana", "a"), say("eve", "b")},
			}))
		}},
		{"member joins", func() error {
			return errOf(svc.Join(t.Context(), &session.JoinRequest{Key: testKey, Member: "ben"}))
		}},
		{"stranger leaves", func() error {
			return errOf(svc.Leave(t.Context(), &session.LeaveRequest{Key: testKey, Member: "eve"}))
		}},
	}
	head := int64(3)
	for _, refusal := range refusals {
		if err := refusal.do(); err == nil {
			t.Errorf("%s: no error", refusal.name)
		}
		if resp := ok(svc.AppendEvent(t.Context(), &session.AppendEventRequest{Key: testKey, Event: keyed}))(t); !resp.Replayed {
			t.Errorf("after %s: the repeated request is not Replayed", refusal.name)
		}
		head++
		if e := add(t, svc, say("ben", refusal.name)); e.Seq != head {
			t.Errorf("after %s: sequence %d, want %d", refusal.name, e.Seq, head)
		}
	}
	s := get(t, svc)
	same(t, "sequences", seqs(s.Events), upTo(1, head))
	if s.HeadSeq != head {
		t.Errorf("HeadSeq is %d, want %d", s.HeadSeq, head)
	}
	same(t, "state", s.State, session.State{})
}

func orderTimestamps(t *testing.T, svc session.Service) {
	create(t, svc, session.KindSession)
	for i, offset := range []time.Duration{0, 0, -time.Hour, 1000 * time.Hour, -time.Microsecond, 0, -time.Second} {
		e := say("ana", fmt.Sprint(i))
		e.Timestamp = at.Add(offset)
		add(t, svc, e)
	}
	s := get(t, svc)
	same(t, "Get", seqs(s.Events), upTo(1, 7))
	for i, e := range s.Events {
		if want := fmt.Sprintf("%q", fmt.Sprint(i)); string(e.Payload) != want {
			t.Errorf("event %d has payload %s, want %s", e.Seq, e.Payload, want)
		}
	}
	same(t, "the 2 most recent", seqs(view(t, svc, session.GetRequest{NumRecentEvents: 2}).Events), upTo(6, 7))
	same(t, "ListEvents", seqs(page(t, svc, session.ListEventsRequest{Limit: 3}).Events), upTo(1, 3))
	same(t, "descending", seqs(page(t, svc, session.ListEventsRequest{Descending: true, Limit: 3}).Events), []int64{7, 6, 5})
}

func orderIDs(t *testing.T, svc session.Service) {
	create(t, svc, session.KindSession)
	names := []string{"m", "z", "a", "B", "á", "10", "9"}
	for _, name := range names {
		e := say(name, name)
		e.ID, e.InvocationID, e.Branch = name, name, name
		add(t, svc, e)
	}
	for i, e := range get(t, svc).Events {
		if e.ID != names[i] {
			t.Errorf("event %d is %q, want %q", e.Seq, e.ID, names[i])
		}
	}
}

func orderClock(t *testing.T, newWith func(Options) session.Service) {
	now := at
	svc := newWith(Options{Clock: func(context.Context) time.Time { return now }})
	create(t, svc, session.KindGroup, "ana")
	highest := now
	for i, step := range []time.Duration{time.Second, -time.Hour, time.Minute, 2 * time.Hour, 0, -time.Nanosecond} {
		now = now.Add(step)
		if now.After(highest) {
			highest = now
		}
		e := add(t, svc, say("ana", "hello"))
		same(t, fmt.Sprint("Timestamp, the clock as it is, at step ", i), e.Timestamp, now.Truncate(time.Microsecond))
		same(t, fmt.Sprint("RecordedAt at step ", i), e.RecordedAt, highest)
	}
	now = now.Add(-time.Hour)
	join := ok(svc.Join(t.Context(), &session.JoinRequest{Key: testKey, Member: "ben"}))(t).Event
	same(t, "RecordedAt of a join", join.RecordedAt, highest)
	s := get(t, svc)
	for i := range s.Events[1:] {
		if s.Events[i+1].RecordedAt.Before(s.Events[i].RecordedAt) {
			t.Errorf("RecordedAt decreases at sequence %d", s.Events[i+1].Seq)
		}
	}
	same(t, "UpdatedAt", s.UpdatedAt, highest)
}

func orderUpdated(t *testing.T, newWith func(Options) session.Service) {
	now := at
	svc := newWith(Options{Clock: func(context.Context) time.Time { now = now.Add(time.Second); return now }})
	s := create(t, svc, session.KindGroup, "ana")
	created := s.CreatedAt
	changes := []func() *session.Event{
		func() *session.Event { return add(t, svc, say("ana", "hello")) },
		func() *session.Event {
			return ok(svc.Join(t.Context(), &session.JoinRequest{Key: testKey, Member: "ben"}))(t).Event
		},
		func() *session.Event {
			return ok(svc.AppendEvents(t.Context(), &session.AppendEventsRequest{
				Key: testKey, Events: []*session.Event{say("ana", "a"), say("ben", "b")},
			}))(t).Events[1]
		},
		func() *session.Event {
			return ok(svc.Leave(t.Context(), &session.LeaveRequest{Key: testKey, Member: "ben"}))(t).Event
		},
	}
	for _, change := range changes {
		e := change()
		s := get(t, svc)
		same(t, "UpdatedAt", s.UpdatedAt, e.RecordedAt)
		same(t, "CreatedAt", s.CreatedAt, created)
	}
	updated := get(t, svc).UpdatedAt
	wantNotMember(t, "stranger", addErr(t, svc, say("eve", "hello")))
	ok(svc.UpdateState(t.Context(), &session.UpdateStateRequest{AppName: "app", Delta: session.State{"app:k": 1}}))(t)
	same(t, "UpdatedAt after a refusal and a change of shared state", get(t, svc).UpdatedAt, updated)
}
