package sessiontest

import (
	"context"
	"testing"
	"time"

	"github.com/hansardlog/hansard/session"
)

var cancellationTests = []test{
	{name: "rule 12: a cancelled context comes before the store", run: cancelledFirst},
	{name: "a cancelled call stores nothing", run: cancelledNothing},
	{name: "P6: a call cancelled under way is stored whole or not at all", run: cancelledMidway},
}

// cancelledFirst calls everything on what is not there, so that a look at the
// store would give another error.
func cancelledFirst(t *testing.T, svc session.Service) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	expired, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	for name, call := range map[string]func(context.Context) error{
		"Create": func(ctx context.Context) error { return errOf(svc.Create(ctx, &session.CreateRequest{Key: testKey})) },
		"Get":    func(ctx context.Context) error { return errOf(svc.Get(ctx, &session.GetRequest{Key: testKey})) },
		"Get, viewer": func(ctx context.Context) error {
			return errOf(svc.Get(ctx, &session.GetRequest{Key: testKey, Viewer: "ana"}))
		},
		"List":   func(ctx context.Context) error { return errOf(svc.List(ctx, &session.ListRequest{AppName: "app"})) },
		"Delete": func(ctx context.Context) error { return svc.Delete(ctx, &session.DeleteRequest{Key: testKey}) },
		"AppendEvent": func(ctx context.Context) error {
			return errOf(svc.AppendEvent(ctx, &session.AppendEventRequest{Key: testKey, Event: say("ana", "a")}))
		},
		"AppendEvents": func(ctx context.Context) error {
			return errOf(svc.AppendEvents(ctx, &session.AppendEventsRequest{Key: testKey, Events: []*session.Event{say("ana", "a")}}))
		},
		"ListEvents": func(ctx context.Context) error {
			return errOf(svc.ListEvents(ctx, &session.ListEventsRequest{Key: testKey}))
		},
		"Join": func(ctx context.Context) error {
			return errOf(svc.Join(ctx, &session.JoinRequest{Key: testKey, Member: "ben"}))
		},
		"Leave": func(ctx context.Context) error {
			return errOf(svc.Leave(ctx, &session.LeaveRequest{Key: testKey, Member: "ben", Actor: "ben"}))
		},
		"ListMembers": func(ctx context.Context) error {
			return errOf(svc.ListMembers(ctx, &session.ListMembersRequest{Key: testKey}))
		},
		"GetState": func(ctx context.Context) error {
			return errOf(svc.GetState(ctx, &session.GetStateRequest{AppName: "app", UserID: "olga"}))
		},
		"UpdateState": func(ctx context.Context) error {
			return errOf(svc.UpdateState(ctx, &session.UpdateStateRequest{AppName: "app", Delta: session.State{"app:k": 1}}))
		},
	} {
		wantErr(t, name+", cancelled", call(cancelled), context.Canceled)
		wantErr(t, name+", expired", call(expired), context.DeadlineExceeded)
	}
	wantErr(t, "Get", errOf(svc.Get(t.Context(), &session.GetRequest{Key: testKey})), session.ErrNotFound)
	same(t, "shared state", shared(t, svc, "app", "olga"), session.State{})
}

func cancelledNothing(t *testing.T, svc session.Service) {
	create(t, svc, session.KindGroup, "ana")
	known := keyed("ana")
	add(t, svc, known)
	check := unchanged(t, svc)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	e := sets("ana", session.State{"k": 1, "app:k": 1, "user:k": 1})
	wantErr(t, "AppendEvent", errOf(svc.AppendEvent(ctx, &session.AppendEventRequest{Key: testKey, Event: e})), context.Canceled)
	wantErr(t, "AppendEvents", errOf(svc.AppendEvents(ctx, &session.AppendEventsRequest{Key: testKey, Events: []*session.Event{e, e}})), context.Canceled)
	wantErr(t, "replay", errOf(svc.AppendEvent(ctx, &session.AppendEventRequest{Key: testKey, Event: known})), context.Canceled)
	wantErr(t, "Join", errOf(svc.Join(ctx, &session.JoinRequest{Key: testKey, Member: "ben"})), context.Canceled)
	wantErr(t, "Leave", errOf(svc.Leave(ctx, &session.LeaveRequest{Key: testKey, Member: "ana"})), context.Canceled)
	wantErr(t, "Delete", svc.Delete(ctx, &session.DeleteRequest{Key: testKey}), context.Canceled)
	check()
	if next := add(t, svc, say("ana", "next")); next.Seq != 3 {
		t.Errorf("the next event has sequence %d, want 3", next.Seq)
	}
}

// cancelledMidway cancels appends after ever longer times. What was acknowledged
// is there; what was not is there whole or not at all, and the log has no gap.
func cancelledMidway(t *testing.T, svc session.Service) {
	create(t, svc, session.KindSession)
	acknowledged := map[int64]int{}
	for i := range full(120, 40) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*25*time.Microsecond)
		e := sets("ana", session.State{"k": i, "app:k": i, "user:k": i})
		resp, err := svc.AppendEvent(ctx, &session.AppendEventRequest{Key: testKey, Event: e})
		cancel()
		if err != nil {
			wantErr(t, "AppendEvent", err, context.DeadlineExceeded)
			continue
		}
		acknowledged[resp.Event.Seq] = i
	}
	s := get(t, svc)
	same(t, "sequences", seqs(s.Events), upTo(1, s.HeadSeq))
	for seq, i := range acknowledged {
		if seq > s.HeadSeq {
			t.Errorf("acknowledged sequence %d is not there", seq)
			continue
		}
		v := num(i)
		same(t, "acknowledged event", s.Events[seq-1].StateDelta, session.State{"k": v, "app:k": v, "user:k": v})
	}
	want := session.State{}
	if s.HeadSeq > 0 {
		want = s.Events[s.HeadSeq-1].StateDelta
	}
	same(t, "state", s.State, want)
}
