package sessiontest

import (
	"fmt"
	"testing"
	"time"

	"github.com/hansardlog/hansard/session"
)

var eventsTests = []test{
	{name: "ErrNotFound: Get and ListEvents of no such session", run: eventsUnknown},
	{name: "Get: AfterSeq and After filter first, NumRecentEvents keeps the last", run: eventsFilters},
	{name: "rule 13: After is cut to microseconds", run: eventsAfterCut},
	{name: "ListEvents: bounds are exclusive, both directions, More", run: eventsBounds},
	{name: "ListEvents: default limit 100, at most 1000", run: eventsLimit},
	{name: "ListEvents: position of the session in every page", run: eventsPosition},
	{name: "AllEvents: every event once, in pages, both directions", run: eventsAll},
	{name: "AllEvents: sees what is appended meanwhile, pins the UID", run: eventsAllPinned},
}

// fill creates testKey with n messages whose payload is their sequence.
func fill(t *testing.T, svc session.Service, n int) {
	t.Helper()
	create(t, svc, session.KindSession)
	batch := make([]*session.Event, n)
	for i := range batch {
		batch[i] = say("ana", fmt.Sprint(i+1))
	}
	addAll(t, svc, batch...)
}

func eventsUnknown(t *testing.T, svc session.Service) {
	none := session.Key{AppName: "app", UserID: "olga", SessionID: "none"}
	for _, uid := range []string{"", noUID} {
		wantErr(t, "Get", errOf(svc.Get(t.Context(), &session.GetRequest{Key: none, UID: uid})), session.ErrNotFound)
		wantErr(t, "ListEvents", errOf(svc.ListEvents(t.Context(), &session.ListEventsRequest{Key: none, UID: uid})), session.ErrNotFound)
	}
}

func eventsFilters(t *testing.T, svc session.Service) {
	create(t, svc, session.KindSession)
	for i, minutes := range []int{0, 10, 5, 10, 20, 0} { // timestamps are no order
		e := sets("ana", session.State{"n": i})
		e.Timestamp = at.Add(time.Duration(minutes) * time.Minute)
		add(t, svc, e)
	}
	whole := view(t, svc, session.GetRequest{WithoutEvents: true})
	for _, tt := range []struct {
		req  session.GetRequest
		want []int64
	}{
		{session.GetRequest{}, upTo(1, 6)},
		{session.GetRequest{AfterSeq: 4}, upTo(5, 6)},
		{session.GetRequest{AfterSeq: 6}, nil},
		{session.GetRequest{NumRecentEvents: 1}, upTo(6, 6)},
		{session.GetRequest{NumRecentEvents: 6}, upTo(1, 6)},
		{session.GetRequest{NumRecentEvents: 99}, upTo(1, 6)},
		{session.GetRequest{NumRecentEvents: 3, AfterSeq: 4}, upTo(5, 6)},
		{session.GetRequest{After: at}, upTo(1, 6)},
		{session.GetRequest{After: at.Add(5 * time.Minute)}, []int64{2, 3, 4, 5}},
		{session.GetRequest{After: at.Add(10 * time.Minute)}, []int64{2, 4, 5}}, // Timestamp >= After
		{session.GetRequest{After: at.Add(10*time.Minute + time.Microsecond)}, []int64{5}},
		{session.GetRequest{After: at.Add(10 * time.Minute).In(time.FixedZone("east", 7200))}, []int64{2, 4, 5}},
		{session.GetRequest{After: at.Add(21 * time.Minute)}, nil},
		{session.GetRequest{After: at.Add(10 * time.Minute), NumRecentEvents: 2}, []int64{4, 5}},
		{session.GetRequest{After: at.Add(5 * time.Minute), AfterSeq: 2, NumRecentEvents: 2}, []int64{4, 5}},
		{session.GetRequest{After: at.Add(5 * time.Minute), AfterSeq: 2, NumRecentEvents: 9}, []int64{3, 4, 5}},
		{session.GetRequest{After: at, NumRecentEvents: 2, WithoutEvents: true}, nil},
	} {
		s := view(t, svc, tt.req)
		what := fmt.Sprintf("%+v", tt.req)
		same(t, what, seqs(s.Events), tt.want)
		if tt.want == nil && s.Events != nil {
			t.Errorf("%s: Events is empty, want nil", what)
		}
		s.Events = nil
		same(t, what+": the rest of the session", s, whole)
	}
}

func eventsAfterCut(t *testing.T, svc session.Service) {
	create(t, svc, session.KindSession)
	for _, ns := range []int{0, 999, 1000, 1999} {
		e := say("ana", fmt.Sprint(ns))
		e.Timestamp = at.Add(time.Duration(ns))
		add(t, svc, e)
	}
	for ns, want := range map[int][]int64{0: upTo(1, 4), 999: upTo(1, 4), 1000: upTo(3, 4), 1999: upTo(3, 4), 2000: nil} {
		got := view(t, svc, session.GetRequest{After: at.Add(time.Duration(ns))}).Events
		same(t, fmt.Sprint("After ", ns, " ns"), seqs(got), want)
	}
}

func eventsBounds(t *testing.T, svc session.Service) {
	fill(t, svc, 9)
	for _, tt := range []struct {
		req  session.ListEventsRequest
		want []int64
		more bool
	}{
		{session.ListEventsRequest{}, upTo(1, 9), false},
		{session.ListEventsRequest{Limit: 9}, upTo(1, 9), false},
		{session.ListEventsRequest{Limit: 8}, upTo(1, 8), true},
		{session.ListEventsRequest{AfterSeq: 3, BeforeSeq: 6}, upTo(4, 5), false},
		{session.ListEventsRequest{AfterSeq: 3, BeforeSeq: 6, Limit: 1}, upTo(4, 4), true},
		{session.ListEventsRequest{AfterSeq: 3, BeforeSeq: 6, Limit: 1, Descending: true}, upTo(5, 5), true},
		{session.ListEventsRequest{AfterSeq: 3, BeforeSeq: 6, Limit: 2, Descending: true}, []int64{5, 4}, false},
		{session.ListEventsRequest{AfterSeq: 3, BeforeSeq: 4}, nil, false},
		{session.ListEventsRequest{AfterSeq: 5, BeforeSeq: 2}, nil, false},
		{session.ListEventsRequest{AfterSeq: 8}, upTo(9, 9), false},
		{session.ListEventsRequest{AfterSeq: 9}, nil, false},
		{session.ListEventsRequest{AfterSeq: 100}, nil, false},
		{session.ListEventsRequest{BeforeSeq: 1}, nil, false},
		{session.ListEventsRequest{BeforeSeq: 1, Descending: true}, nil, false},
		{session.ListEventsRequest{BeforeSeq: 100}, upTo(1, 9), false},
		{session.ListEventsRequest{Descending: true}, []int64{9, 8, 7, 6, 5, 4, 3, 2, 1}, false},
		{session.ListEventsRequest{Descending: true, Limit: 2}, []int64{9, 8}, true},
		{session.ListEventsRequest{Descending: true, BeforeSeq: 3, Limit: 2}, []int64{2, 1}, false},
		{session.ListEventsRequest{Descending: true, AfterSeq: 7}, []int64{9, 8}, false},
	} {
		p := page(t, svc, tt.req)
		what := fmt.Sprintf("%+v", tt.req)
		same(t, what, seqs(p.Events), tt.want)
		if tt.want == nil && p.Events != nil {
			t.Errorf("%s: Events is empty, want nil", what)
		}
		if p.More != tt.more {
			t.Errorf("%s: More is %t, want %t", what, p.More, tt.more)
		}
	}
}

func eventsLimit(t *testing.T, svc session.Service) {
	fill(t, svc, 1001)
	for limit, want := range map[int]int64{0: 100, 1: 1, 1000: 1000} {
		p := page(t, svc, session.ListEventsRequest{Limit: limit})
		same(t, fmt.Sprint("limit ", limit), seqs(p.Events), upTo(1, want))
		if !p.More {
			t.Errorf("limit %d: More is false", limit)
		}
	}
	if p := page(t, svc, session.ListEventsRequest{Limit: 1000, AfterSeq: 1}); len(p.Events) != 1000 || p.More {
		t.Errorf("the last 1000: %d events, more %t", len(p.Events), p.More)
	}
}

func eventsPosition(t *testing.T, svc session.Service) {
	s := create(t, svc, session.KindSession)
	same(t, "an empty log", page(t, svc, session.ListEventsRequest{}), &session.ListEventsResponse{UID: s.UID, MinSeq: 1, Epoch: 1})
	var want []*session.Event
	for i := range 3 {
		want = append(want, add(t, svc, say("ana", fmt.Sprint(i))))
	}
	same(t, "the middle", page(t, svc, session.ListEventsRequest{AfterSeq: 1, Limit: 1}), &session.ListEventsResponse{
		Events: want[1:2], UID: s.UID, MinSeq: 1, HeadSeq: 3, Epoch: 1, More: true,
	})
	same(t, "the end", page(t, svc, session.ListEventsRequest{AfterSeq: 3}), &session.ListEventsResponse{
		UID: s.UID, MinSeq: 1, HeadSeq: 3, Epoch: 1,
	})
}

func eventsAll(t *testing.T, svc session.Service) {
	fill(t, svc, 7)
	backwards := []int64{7, 6, 5, 4, 3, 2, 1}
	for _, limit := range []int{0, 1, 2, 7, 8} {
		for _, tt := range []struct {
			req  session.ListEventsRequest
			want []int64
		}{
			{session.ListEventsRequest{}, upTo(1, 7)},
			{session.ListEventsRequest{AfterSeq: 2, BeforeSeq: 6}, upTo(3, 5)},
			{session.ListEventsRequest{Descending: true}, backwards},
			{session.ListEventsRequest{Descending: true, BeforeSeq: 4}, backwards[4:]},
		} {
			tt.req.Key, tt.req.Limit = testKey, limit
			sequence := session.AllEvents(t.Context(), svc, tt.req)
			for range 2 { // a sequence may be ranged over twice
				var got []int64
				for e, err := range sequence {
					got = append(got, ok(e, err)(t).Seq)
				}
				same(t, fmt.Sprintf("%+v", tt.req), got, tt.want)
			}
		}
	}
}

func eventsAllPinned(t *testing.T, svc session.Service) {
	fill(t, svc, 3)
	var got []int64
	for e, err := range session.AllEvents(t.Context(), svc, session.ListEventsRequest{Key: testKey, Limit: 2}) {
		got = append(got, ok(e, err)(t).Seq)
		if e.Seq < 6 { // the loop body may use the service
			add(t, svc, say("ana", "meanwhile"))
		}
	}
	// The page [3 4] was read when there were 4 or more, the last one when none followed.
	same(t, "with appends meanwhile", got, upTo(1, get(t, svc).HeadSeq))

	got = nil
	var last error
	for e, err := range session.AllEvents(t.Context(), svc, session.ListEventsRequest{Key: testKey, Limit: 2}) {
		if err != nil {
			last = err
			continue
		}
		got = append(got, e.Seq)
		if e.Seq == 2 {
			remove(t, svc)
			fill(t, svc, 12) // a new incarnation with more events than the old one
		}
	}
	same(t, "before the session was replaced", got, upTo(1, 2))
	wantErr(t, "after it was replaced", last, session.ErrNotFound)
}
