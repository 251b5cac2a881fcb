package sessiontest

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/hansardlog/hansard/session"
)

func joiners(t *testing.T, svc session.Service) {
	create(t, svc, session.KindGroup, "ana")
	for round := range full(6, 3) {
		var joined, left atomic.Int32
		together(12, func(int) {
			_, err := svc.Join(t.Context(), &session.JoinRequest{Key: testKey, Member: "ben"})
			if err == nil {
				joined.Add(1)
			} else if !errors.Is(err, session.ErrAlreadyMember) {
				t.Errorf("join: got error %v, want ErrAlreadyMember", err)
			}
		})
		together(12, func(int) {
			_, err := svc.Leave(t.Context(), &session.LeaveRequest{Key: testKey, Member: "ben", Actor: "ana"})
			if err == nil {
				left.Add(1)
			} else if err != session.ErrNotMember { //nolint:errorlint // the same value is the contract
				t.Errorf("leave: got error %v, want ErrNotMember", err)
			}
		})
		if joined.Load() != 1 || left.Load() != 1 {
			t.Errorf("round %d: %d joined and %d left, want 1 and 1", round, joined.Load(), left.Load())
		}
	}
	s := get(t, svc)
	same(t, "sequences", seqs(s.Events), upTo(1, int64(1+2*full(6, 3))))
}

// joinersAndWriters lets members come and go while everybody writes.
func joinersAndWriters(t *testing.T, svc session.Service) {
	people := []string{"ana", "ben", "cleo", "dan"}
	create(t, svc, session.KindGroup, "host")
	rounds := full(10, 5)
	together(2*len(people), func(i int) {
		who := people[i/2]
		for range rounds {
			if i%2 == 0 {
				_, err := svc.AppendEvent(t.Context(), &session.AppendEventRequest{Key: testKey, Event: say(who, "hello")})
				if err != nil && err != session.ErrNotMember { //nolint:errorlint // the same value is the contract
					t.Errorf("append of %s: got error %v", who, err)
				}
				continue
			}
			if _, err := svc.Join(t.Context(), &session.JoinRequest{Key: testKey, Member: who, Actor: "host"}); err != nil {
				t.Errorf("join of %s: got error %v", who, err)
			}
			if _, err := svc.Leave(t.Context(), &session.LeaveRequest{Key: testKey, Member: who, Actor: who}); err != nil {
				t.Errorf("leave of %s: got error %v", who, err)
			}
		}
	})
	s := get(t, svc)
	same(t, "sequences", seqs(s.Events), upTo(1, s.HeadSeq))
	periods := members(t, svc, session.ListMembersRequest{History: true})
	for _, e := range s.Events {
		who := e.Author
		if e.Kind == session.EventJoin {
			who = e.Subject
		}
		var covering int
		for _, p := range periods {
			if p.Member == who && p.FromSeq <= e.Seq && (p.ToSeq == 0 || e.Seq <= p.ToSeq) {
				covering++
			}
		}
		if covering != 1 {
			t.Errorf("%s %d of %s: covered by %d periods, want 1", e.Kind, e.Seq, who, covering)
		}
	}
	if want := 1 + len(people)*rounds; len(periods) != want {
		t.Errorf("%d periods, want %d", len(periods), want)
	}
}

func deleterBesideWriters(t *testing.T, svc session.Service) {
	for round := range full(5, 3) {
		create(t, svc, session.KindGroup, "ana", "ben")
		var appended atomic.Int32
		together(8, func(i int) {
			if i == 0 {
				for appended.Load() < 5 && !t.Failed() { // in the midst of them
					e := say("ana", "deleter")
					if _, err := svc.AppendEvent(t.Context(), &session.AppendEventRequest{Key: testKey, Event: e}); err != nil {
						t.Errorf("append: got error %v", err)
					}
				}
				if err := svc.Delete(t.Context(), &session.DeleteRequest{Key: testKey}); err != nil {
					t.Errorf("Delete: got error %v", err)
				}
				return
			}
			for n := 0; !t.Failed(); n++ { // without a delete there is no end
				e := sets("ana", session.State{"k": n, "user:k": n})
				_, err := svc.AppendEvent(t.Context(), &session.AppendEventRequest{Key: testKey, Event: e})
				if err == nil {
					appended.Add(1)
					continue
				}
				if err != session.ErrNotMember { //nolint:errorlint // the same value is the contract
					t.Errorf("append: got error %v, want ErrNotMember", err)
				}
				return
			}
		})
		wantGone(t, svc, "")
		s := create(t, svc, session.KindGroup, "ana")
		if s.HeadSeq != 1 || s.State["k"] != nil {
			t.Errorf("round %d: the new session has head %d and state %v", round, s.HeadSeq, s.State)
		}
		same(t, "events of the new session", seqs(get(t, svc).Events), upTo(1, 1))
		remove(t, svc)
	}
}

// recreatorBesideWriters deletes and creates a session while others append to
// it, some to whatever is there, some to the first incarnation only.
func recreatorBesideWriters(t *testing.T, svc session.Service) {
	first := create(t, svc, session.KindSession)
	rounds := full(12, 6)
	var done atomic.Bool
	together(7, func(i int) {
		if i == 0 {
			defer done.Store(true)
			for round := range rounds {
				if err := svc.Delete(t.Context(), &session.DeleteRequest{Key: testKey}); err != nil {
					t.Errorf("Delete: got error %v", err)
				}
				if _, err := svc.Create(t.Context(), &session.CreateRequest{Key: testKey, State: session.State{"round": round}}); err != nil {
					t.Errorf("Create: got error %v", err)
				}
			}
			return
		}
		for n := 0; !done.Load(); n++ {
			req := &session.AppendEventRequest{Key: testKey, Event: sets("x", session.State{fmt.Sprint("k", i): n})}
			if i%2 == 0 {
				req.UID, req.Event.Author = first.UID, "old"
			}
			_, err := svc.AppendEvent(t.Context(), req)
			if err != nil && err != session.ErrNotMember { //nolint:errorlint // the same value is the contract
				t.Errorf("append: got error %v, want ErrNotMember", err)
			}
			resp, err := svc.Get(t.Context(), &session.GetRequest{Key: testKey})
			if errors.Is(err, session.ErrNotFound) {
				continue
			}
			if err != nil {
				t.Errorf("Get: got error %v", err)
				continue
			}
			checkWhole(t, resp.Session, first.UID)
		}
	})
	s := get(t, svc)
	checkWhole(t, s, first.UID)
	if s.State["round"] != num(rounds-1) {
		t.Errorf("state round is %v, want %d", s.State["round"], rounds-1)
	}
}

// checkWhole checks that a session is of one incarnation: its events run from 1
// to its head, those bound to the first incarnation are in that one only, and
// its state is what its events left.
func checkWhole(t *testing.T, s *session.Session, firstUID string) {
	t.Helper()
	if !slices.Equal(seqs(s.Events), upTo(1, s.HeadSeq)) {
		t.Errorf("sequences are %v, head is %d", seqs(s.Events), s.HeadSeq)
	}
	want := 0
	if s.State["round"] != nil {
		want++
	}
	left := map[string]any{}
	for _, e := range s.Events {
		if e.Author == "old" && s.UID != firstUID {
			t.Errorf("an event for UID %s is in UID %s", firstUID, s.UID)
		}
		for key, v := range e.StateDelta {
			left[key] = v
		}
	}
	for key, v := range left {
		if s.State[key] != v {
			t.Errorf("state %s is %v, the events left %v", key, s.State[key], v)
		}
	}
	if want += len(left); len(s.State) != want {
		t.Errorf("state has %d keys, want %d: %v", len(s.State), want, s.State)
	}
}

// readersBesideWriter reads while one writer appends batches of three, each of
// which sets a counter in every scope to its last sequence.
func readersBesideWriter(t *testing.T, svc session.Service) {
	create(t, svc, session.KindSession)
	batches := full(60, 25)
	var done atomic.Bool
	together(5, func(i int) {
		if i == 0 {
			defer done.Store(true)
			for n := range batches {
				last := 3 * (n + 1)
				_, err := svc.AppendEvents(t.Context(), &session.AppendEventsRequest{Key: testKey, Events: []*session.Event{
					sets("x", session.State{"app:n": last}), sets("x", session.State{"user:n": last}), sets("x", session.State{"n": last}),
				}})
				if err != nil {
					t.Errorf("append: got error %v", err)
				}
			}
			return
		}
		for !done.Load() {
			resp, err := svc.Get(t.Context(), &session.GetRequest{Key: testKey})
			if err != nil {
				t.Errorf("Get: got error %v", err)
				return
			}
			checkSnapshot(t, "Get", resp.Session)
			if n := int64(len(resp.Session.Events)); n != resp.Session.HeadSeq {
				t.Errorf("Get: %d events, head %d", n, resp.Session.HeadSeq)
			}
			listed, err := svc.List(t.Context(), &session.ListRequest{AppName: "app", WithState: true})
			if err != nil {
				t.Errorf("List: got error %v", err)
				return
			}
			checkSnapshot(t, "List", listed.Sessions[0])
			page, err := svc.ListEvents(t.Context(), &session.ListEventsRequest{Key: testKey, Descending: true, Limit: 1})
			if err != nil {
				t.Errorf("ListEvents: got error %v", err)
				return
			}
			if page.HeadSeq%3 != 0 || (page.HeadSeq > 0 && page.Events[0].Seq != page.HeadSeq) {
				t.Errorf("ListEvents: head %d, last event %s", page.HeadSeq, dump(page.Events))
			}
		}
	})
	s := get(t, svc)
	checkSnapshot(t, "at the end", s)
	if s.HeadSeq != int64(3*batches) {
		t.Errorf("HeadSeq is %d, want %d", s.HeadSeq, 3*batches)
	}
}

func checkSnapshot(t *testing.T, what string, s *session.Session) {
	t.Helper()
	if s.HeadSeq%3 != 0 {
		t.Errorf("%s: head %d is inside a batch", what, s.HeadSeq)
	}
	for _, key := range []string{"n", "user:n", "app:n"} {
		if v := s.State[key]; s.HeadSeq > 0 && v != num(int(s.HeadSeq)) {
			t.Errorf("%s: state %s is %v, head is %d", what, key, v, s.HeadSeq)
		}
	}
}

// writersApart appends to many sessions at once, with creation and deletion of
// others beside them.
func writersApart(t *testing.T, svc session.Service) {
	rounds := full(8, 4)
	together(16, func(i int) {
		key := session.Key{AppName: "app", UserID: fmt.Sprint("user ", i/4), SessionID: fmt.Sprint(i)}
		if _, err := svc.Create(t.Context(), &session.CreateRequest{Key: key}); err != nil {
			t.Errorf("Create: got error %v", err)
			return
		}
		for n := range rounds {
			resp, err := svc.AppendEvent(t.Context(), &session.AppendEventRequest{Key: key, Event: sets("x", session.State{"k": n})})
			if err != nil {
				t.Errorf("append: got error %v", err)
			} else if resp.Event.Seq != int64(n+1) {
				t.Errorf("session %d: sequence %d, want %d", i, resp.Event.Seq, n+1)
			}
		}
		if i%4 == 3 {
			if err := svc.Delete(t.Context(), &session.DeleteRequest{Key: key}); err != nil {
				t.Errorf("Delete: got error %v", err)
			}
		}
	})
	sessions := list(t, svc, session.ListRequest{AppName: "app", WithState: true}).Sessions
	if len(sessions) != 12 {
		t.Errorf("%d sessions are left, want 12", len(sessions))
	}
	for _, s := range sessions {
		if s.HeadSeq != int64(rounds) || s.State["k"] != num(rounds-1) {
			t.Errorf("%v: head %d, state %v", s.Key, s.HeadSeq, s.State)
		}
	}
}
