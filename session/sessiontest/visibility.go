package sessiontest

import (
	"fmt"
	"testing"
	"time"

	"github.com/hansardlog/hansard/session"
)

var visibilityTests = []test{
	{name: "rule 11: a member reads its periods, what lies between stays hidden", run: viewPeriods},
	{name: "rule 11: HeadSeq and UpdatedAt of a former member", run: viewFormer},
	{name: "rule 11: a former member sees no session keys", run: viewState},
	{name: "rule 6: Get shows the viewer's user state, else the owner's", run: viewUserState},
	{name: "rule 11: strangers get ErrNotMember, the same value as for no session", run: viewStranger},
	{name: "rule 11: in kind session only the owner is a viewer", run: viewOwner},
	{name: "rule 10: the owner of a direct or group is no viewer unless listed", run: viewUnlisted},
	{name: "filters apply to what the viewer sees", run: viewFilters},
	{name: "rule 10: a member who came and went many times", run: viewManyPeriods},
	{name: "rule 11: pages and More know only visible events", run: viewPages},
}

// room makes a group in which ben has been twice:
//
//	1 ana joins  2 ben joins  3 ana says  4 ben leaves  5 ana says  6 cleo joins
//	7 ben joins  8 ana says   9 ben leaves  10 ana says
func room(t *testing.T, svc session.Service) {
	t.Helper()
	create(t, svc, session.KindGroup, "ana", "ben")
	add(t, svc, say("ana", "3"))
	leave(t, svc, "ben")
	add(t, svc, say("ana", "5"))
	join(t, svc, "cleo")
	join(t, svc, "ben")
	add(t, svc, say("ana", "8"))
	leave(t, svc, "ben")
	add(t, svc, say("ana", "10"))
}

var benSees = []int64{2, 3, 4, 7, 8, 9}

func viewPeriods(t *testing.T, svc session.Service) {
	room(t, svc)
	all := get(t, svc).Events
	for viewer, want := range map[string][]int64{
		"": upTo(1, 10), "ana": upTo(1, 10), "ben": benSees, "cleo": upTo(6, 10),
	} {
		s := view(t, svc, session.GetRequest{Viewer: viewer})
		same(t, fmt.Sprintf("Get as %q", viewer), seqs(s.Events), want)
		list := page(t, svc, session.ListEventsRequest{Viewer: viewer})
		same(t, fmt.Sprintf("ListEvents as %q", viewer), list.Events, s.Events)
		for _, e := range s.Events {
			same(t, "the event as all see it", e, all[e.Seq-1])
		}
		head := want[len(want)-1]
		if s.HeadSeq != head || list.HeadSeq != head {
			t.Errorf("as %q: HeadSeq is %d in Get and %d in ListEvents, want %d", viewer, s.HeadSeq, list.HeadSeq, head)
		}
		if s.UID != list.UID || s.Epoch != 1 || list.Epoch != 1 {
			t.Errorf("as %q: UID %s and %s, epoch %d and %d", viewer, s.UID, list.UID, s.Epoch, list.Epoch)
		}
	}
	join(t, svc, "ben") // 11
	if s := view(t, svc, session.GetRequest{Viewer: "ben", WithoutEvents: true}); s.HeadSeq != 11 || s.Events != nil {
		t.Errorf("back again: HeadSeq %d, events %v, want 11 and none", s.HeadSeq, s.Events)
	}
}

func viewFormer(t *testing.T, svc session.Service) {
	create(t, svc, session.KindGroup, "ana", "ben")
	left := leave(t, svc, "ben").Event
	time.Sleep(2 * time.Millisecond) // later events are recorded later
	last := add(t, svc, say("ana", "a"))
	if !left.RecordedAt.Before(last.RecordedAt) {
		t.Fatalf("RecordedAt of the leave %v is not before that of the next event %v", left.RecordedAt, last.RecordedAt)
	}
	for _, without := range []bool{false, true} {
		s := view(t, svc, session.GetRequest{Viewer: "ben", WithoutEvents: without})
		same(t, "UpdatedAt of the former member", s.UpdatedAt, left.RecordedAt)
		if s.HeadSeq != left.Seq {
			t.Errorf("HeadSeq of the former member is %d, want %d", s.HeadSeq, left.Seq)
		}
		same(t, "UpdatedAt of a member", view(t, svc, session.GetRequest{Viewer: "ana"}).UpdatedAt, last.RecordedAt)
	}
	add(t, svc, say("ana", "b"))
	same(t, "UpdatedAt later", view(t, svc, session.GetRequest{Viewer: "ben"}).UpdatedAt, left.RecordedAt)
}

func viewState(t *testing.T, svc session.Service) {
	ok(svc.Create(t.Context(), &session.CreateRequest{
		Key: testKey, Kind: session.KindGroup, Members: []string{"ana", "ben"},
		State: session.State{"k": 1, "app:k": 2, "user:k": "olga's"},
	}))(t)
	add(t, svc, sets("ben", session.State{"user:k": "ben's", "b": 3}))
	same(t, "as a member", view(t, svc, session.GetRequest{Viewer: "ben"}).State, session.State{
		"k": num(1), "b": num(3), "app:k": num(2), "user:k": "ben's",
	})
	leave(t, svc, "ben")
	add(t, svc, sets("ana", session.State{"app:new": 4, "c": 5}))
	same(t, "as a former member", view(t, svc, session.GetRequest{Viewer: "ben"}).State, session.State{
		"app:k": num(2), "app:new": num(4), "user:k": "ben's",
	})
	join(t, svc, "ben")
	same(t, "as a member again", view(t, svc, session.GetRequest{Viewer: "ben"}).State, session.State{
		"k": num(1), "b": num(3), "c": num(5), "app:k": num(2), "app:new": num(4), "user:k": "ben's",
	})
}

func viewUserState(t *testing.T, svc session.Service) {
	ok(svc.Create(t.Context(), &session.CreateRequest{
		Key: testKey, Kind: session.KindDirect, Members: []string{"ana", "ben"}, State: session.State{"user:o": 1},
	}))(t)
	add(t, svc, sets("ana", session.State{"user:a": 2}))
	add(t, svc, sets("ben", session.State{"user:b": 3}))
	for viewer, want := range map[string]session.State{
		"": {"user:o": num(1)}, "ana": {"user:a": num(2)}, "ben": {"user:b": num(3)},
	} {
		same(t, fmt.Sprintf("Get as %q", viewer), view(t, svc, session.GetRequest{Viewer: viewer}).State, want)
	}
	for member, want := range map[string]session.State{"ana": {"user:a": num(2)}, "ben": {"user:b": num(3)}} {
		list := ok(svc.List(t.Context(), &session.ListRequest{AppName: "app", Member: member, WithState: true}))(t).Sessions
		same(t, "List of "+member, list[0].State, want)
	}
	list := ok(svc.List(t.Context(), &session.ListRequest{AppName: "app", WithState: true}))(t).Sessions
	same(t, "List of nobody in particular", list[0].State, session.State{"user:o": num(1)})
}

func viewStranger(t *testing.T, svc session.Service) {
	s := create(t, svc, session.KindGroup, "ana")
	none := testKey
	none.SessionID = "none"
	for _, tt := range []struct {
		key         session.Key
		uid, viewer string
	}{
		{testKey, "", "eve"}, {testKey, s.UID, "eve"}, {testKey, "", "Ana"}, {testKey, noUID, "ana"}, {testKey, "no UUID", "ana"}, {none, "", "ana"}, {none, "", "olga"},
	} {
		what := fmt.Sprintf("%+v", tt)
		wantNotMember(t, "Get "+what, errOf(svc.Get(t.Context(), &session.GetRequest{Key: tt.key, UID: tt.uid, Viewer: tt.viewer})))
		for _, epoch := range []int64{0, 2} { // the epoch is no business of strangers either
			wantNotMember(t, "ListEvents "+what, errOf(svc.ListEvents(t.Context(), &session.ListEventsRequest{
				Key: tt.key, UID: tt.uid, Viewer: tt.viewer, Epoch: epoch,
			})))
		}
	}
}

func viewOwner(t *testing.T, svc session.Service) {
	createState(t, svc, session.State{"k": 1, "user:k": 2})
	add(t, svc, say("agent", "hello"))
	same(t, "Get as the owner", view(t, svc, session.GetRequest{Viewer: "olga"}), get(t, svc))
	same(t, "ListEvents as the owner", page(t, svc, session.ListEventsRequest{Viewer: "olga"}), page(t, svc, session.ListEventsRequest{}))
	for _, viewer := range []string{"agent", "Olga", "pia"} { // who has appended is no viewer for that
		wantNotMember(t, "Get as "+viewer, errOf(svc.Get(t.Context(), &session.GetRequest{Key: testKey, Viewer: viewer})))
		wantNotMember(t, "ListEvents as "+viewer, errOf(svc.ListEvents(t.Context(), &session.ListEventsRequest{Key: testKey, Viewer: viewer})))
	}
}

func viewUnlisted(t *testing.T, svc session.Service) {
	create(t, svc, session.KindDirect, "ana", "ben")
	wantNotMember(t, "Get as the owner", errOf(svc.Get(t.Context(), &session.GetRequest{Key: testKey, Viewer: "olga"})))
	wantNotMember(t, "ListEvents as the owner", errOf(svc.ListEvents(t.Context(), &session.ListEventsRequest{Key: testKey, Viewer: "olga"})))
	list := ok(svc.List(t.Context(), &session.ListRequest{AppName: "app", Member: "olga"}))(t).Sessions
	if list != nil {
		t.Errorf("List of the owner as a member: got %s, want none", dump(list))
	}
	listed := session.Key{AppName: "app", UserID: "olga", SessionID: "listed"}
	ok(svc.Create(t.Context(), &session.CreateRequest{Key: listed, Kind: session.KindDirect, Members: []string{"ana", "olga"}}))(t)
	got := ok(svc.Get(t.Context(), &session.GetRequest{Key: listed, Viewer: "olga"}))(t).Session
	same(t, "Get as the owner who is listed", seqs(got.Events), upTo(2, 2))
}

func viewFilters(t *testing.T, svc session.Service) {
	room(t, svc)
	for _, tt := range []struct {
		req  session.GetRequest
		want []int64
	}{
		{session.GetRequest{AfterSeq: 3}, []int64{4, 7, 8, 9}},
		{session.GetRequest{AfterSeq: 5}, []int64{7, 8, 9}},
		{session.GetRequest{NumRecentEvents: 2}, []int64{8, 9}},
		{session.GetRequest{NumRecentEvents: 4}, []int64{4, 7, 8, 9}},
		{session.GetRequest{NumRecentEvents: 4, AfterSeq: 4}, []int64{7, 8, 9}},
		{session.GetRequest{AfterSeq: 9}, nil},
		{session.GetRequest{After: time.Now().Add(time.Hour)}, nil},
		{session.GetRequest{After: time.Now().Add(-time.Hour), NumRecentEvents: 100}, benSees},
	} {
		tt.req.Viewer = "ben"
		s := view(t, svc, tt.req)
		same(t, fmt.Sprintf("%+v", tt.req), seqs(s.Events), tt.want)
		if s.HeadSeq != 9 {
			t.Errorf("%+v: HeadSeq is %d, want 9", tt.req, s.HeadSeq)
		}
	}
}

func viewManyPeriods(t *testing.T, svc session.Service) {
	create(t, svc, session.KindGroup, "ana")
	var want []int64
	for range full(120, 30) {
		want = append(want, join(t, svc, "ben").Event.Seq, leave(t, svc, "ben").Event.Seq)
		add(t, svc, say("ana", "hidden"))
	}
	same(t, "Get", seqs(view(t, svc, session.GetRequest{Viewer: "ben"}).Events), want)
	same(t, "the 5 most recent", seqs(view(t, svc, session.GetRequest{Viewer: "ben", NumRecentEvents: 5}).Events), want[len(want)-5:])
	p := page(t, svc, session.ListEventsRequest{Viewer: "ben", Limit: 7})
	if same(t, "ListEvents", seqs(p.Events), want[:7]); !p.More {
		t.Error("More is false")
	}
	if n := len(members(t, svc, session.ListMembersRequest{History: true})); n != 1+len(want)/2 {
		t.Errorf("%d periods, want %d", n, 1+len(want)/2)
	}
}

func viewPages(t *testing.T, svc session.Service) {
	room(t, svc)
	for _, tt := range []struct {
		req  session.ListEventsRequest
		want []int64
		more bool
	}{
		{session.ListEventsRequest{Limit: 4}, []int64{2, 3, 4, 7}, true},
		{session.ListEventsRequest{Limit: 6}, benSees, false},
		{session.ListEventsRequest{Limit: 2, AfterSeq: 7}, []int64{8, 9}, false},
		{session.ListEventsRequest{Limit: 3, BeforeSeq: 5}, []int64{2, 3, 4}, false},
		{session.ListEventsRequest{Limit: 3, BeforeSeq: 8}, []int64{2, 3, 4}, true},
		{session.ListEventsRequest{Limit: 3, Descending: true}, []int64{9, 8, 7}, true},
		{session.ListEventsRequest{Limit: 3, BeforeSeq: 7, Descending: true}, []int64{4, 3, 2}, false},
		{session.ListEventsRequest{AfterSeq: 4, BeforeSeq: 7}, nil, false},
		{session.ListEventsRequest{AfterSeq: 9}, nil, false},
		{session.ListEventsRequest{BeforeSeq: 2}, nil, false},
	} {
		tt.req.Viewer = "ben"
		p := page(t, svc, tt.req)
		same(t, fmt.Sprintf("%+v", tt.req), seqs(p.Events), tt.want)
		if p.More != tt.more || p.HeadSeq != 9 {
			t.Errorf("%+v: More is %t and HeadSeq %d, want %t and 9", tt.req, p.More, p.HeadSeq, tt.more)
		}
	}
	var all []int64
	for e, err := range session.AllEvents(t.Context(), svc, session.ListEventsRequest{Key: testKey, Viewer: "ben", Limit: 1}) {
		all = append(all, ok(e, err)(t).Seq)
	}
	same(t, "AllEvents, one by one", all, benSees)
}
