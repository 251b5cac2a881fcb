package session_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/hansardlog/hansard/session"
)

// fakeLog serves pages of a log of n events and notes the requests it gets.
type fakeLog struct {
	session.Log
	n        int64
	failFrom int // the request from which on it fails; 0: never
	requests []session.ListEventsRequest
}

var errFake = errors.New("fake failure")

func (f *fakeLog) ListEvents(_ context.Context, req *session.ListEventsRequest) (*session.ListEventsResponse, error) {
	f.requests = append(f.requests, *req)
	if f.failFrom > 0 && len(f.requests) >= f.failFrom {
		return nil, errFake
	}
	limit := req.Limit
	if limit == 0 {
		limit = session.DefaultPageSize
	}
	before := req.BeforeSeq
	if before == 0 {
		before = f.n + 1
	}
	resp := &session.ListEventsResponse{UID: "uid", Epoch: 3, MinSeq: 1, HeadSeq: f.n}
	var all []int64
	for seq := req.AfterSeq + 1; seq < before && seq <= f.n; seq++ {
		all = append(all, seq)
	}
	if req.Descending {
		slices.Reverse(all)
	}
	for i, seq := range all {
		if i == limit {
			resp.More = true
			break
		}
		resp.Events = append(resp.Events, &session.Event{Seq: seq})
	}
	return resp, nil
}

func collect(t *testing.T, f *fakeLog, req session.ListEventsRequest) (seqs []int64, last error) {
	t.Helper()
	for e, err := range session.AllEvents(t.Context(), f, req) {
		if last != nil {
			t.Fatal("the iteration went on after an error")
		}
		if err != nil {
			if e != nil {
				t.Errorf("event %v beside an error", e)
			}
			last = err
			continue
		}
		seqs = append(seqs, e.Seq)
	}
	return seqs, last
}

func TestAllEventsPages(t *testing.T) {
	for _, tt := range []struct {
		n     int64
		req   session.ListEventsRequest
		want  []int64
		pages int
	}{
		{0, session.ListEventsRequest{}, nil, 1},
		{5, session.ListEventsRequest{}, []int64{1, 2, 3, 4, 5}, 1},
		{5, session.ListEventsRequest{Limit: 2}, []int64{1, 2, 3, 4, 5}, 3},
		{4, session.ListEventsRequest{Limit: 2}, []int64{1, 2, 3, 4}, 2},
		{5, session.ListEventsRequest{Limit: 2, AfterSeq: 1, BeforeSeq: 5}, []int64{2, 3, 4}, 2},
		{5, session.ListEventsRequest{Limit: 2, Descending: true}, []int64{5, 4, 3, 2, 1}, 3},
		{5, session.ListEventsRequest{Limit: 2, Descending: true, AfterSeq: 1, BeforeSeq: 5}, []int64{4, 3, 2}, 2},
	} {
		f := &fakeLog{n: tt.n}
		got, err := collect(t, f, tt.req)
		if err != nil || !slices.Equal(got, tt.want) || len(f.requests) != tt.pages {
			t.Errorf("%+v of %d: got %v in %d pages, error %v, want %v in %d", tt.req, tt.n, got, len(f.requests), err, tt.want, tt.pages)
		}
	}
}

func TestAllEventsPinsFirstPage(t *testing.T) {
	f := &fakeLog{n: 5}
	req := session.ListEventsRequest{
		Key: session.Key{AppName: "app", UserID: "olga", SessionID: "s"}, Viewer: "ana", Limit: 2,
	}
	if _, err := collect(t, f, req); err != nil {
		t.Fatal(err)
	}
	if f.requests[0] != req {
		t.Errorf("first request is %+v, want the caller's %+v", f.requests[0], req)
	}
	for _, later := range f.requests[1:] {
		if later.UID != "uid" || later.Epoch != 3 || later.Viewer != "ana" || later.Limit != 2 || later.Key != req.Key {
			t.Errorf("later request is %+v, want UID and epoch of the first page and the rest of the caller's", later)
		}
	}
}

func TestAllEventsEndsWithTheError(t *testing.T) {
	f := &fakeLog{n: 5, failFrom: 2}
	got, err := collect(t, f, session.ListEventsRequest{Limit: 2})
	if !errors.Is(err, errFake) || !slices.Equal(got, []int64{1, 2}) || len(f.requests) != 2 {
		t.Errorf("got %v, error %v after %d requests, want [1 2] and the error after 2", got, err, len(f.requests))
	}
}

func TestAllEventsStopsWhenTheLoopDoes(t *testing.T) {
	f := &fakeLog{n: 5}
	sequence := session.AllEvents(t.Context(), f, session.ListEventsRequest{Limit: 2})
	for range 2 { // and begins anew when ranged over again
		for e, err := range sequence {
			if err != nil {
				t.Fatal(err)
			}
			if e.Seq == 2 {
				break
			}
		}
	}
	if len(f.requests) != 2 || f.requests[1].AfterSeq != 0 || f.requests[1].UID != "" {
		t.Errorf("requests are %+v, want the first page twice", f.requests)
	}
	f = &fakeLog{failFrom: 1}
	for _, err := range session.AllEvents(t.Context(), f, session.ListEventsRequest{}) {
		if !errors.Is(err, errFake) {
			t.Errorf("got error %v, want the log's", err)
		}
		break
	}
	if len(f.requests) != 1 {
		t.Errorf("%d requests, want 1", len(f.requests))
	}
}

// fakeSessions serves pages of one session, the token being its number.
type fakeSessions struct {
	session.Sessions
	n, failAt int
	requests  []session.ListRequest
}

func (f *fakeSessions) List(_ context.Context, req *session.ListRequest) (*session.ListResponse, error) {
	f.requests = append(f.requests, *req)
	i := len(req.PageToken) // one x a page
	if i == f.failAt {
		return nil, errFake
	}
	resp := &session.ListResponse{Sessions: []*session.Session{{HeadSeq: int64(i)}}}
	if i+1 < f.n {
		resp.NextPageToken = req.PageToken + "x"
	}
	return resp, nil
}

func TestAllSessions(t *testing.T) {
	for _, failAt := range []int{-1, 0, 2} {
		f := &fakeSessions{n: 4, failAt: failAt}
		var got []int64
		var last error
		for s, err := range session.AllSessions(t.Context(), f, session.ListRequest{AppName: "app", Member: "ana", PageSize: 1}) {
			if last = err; err == nil {
				got = append(got, s.HeadSeq)
			}
		}
		want := []int64{0, 1, 2, 3}
		if failAt >= 0 {
			want = want[:failAt]
		}
		if !slices.Equal(got, want) || (failAt >= 0) != errors.Is(last, errFake) {
			t.Errorf("failing at %d: got %v, error %v, want %v", failAt, got, last, want)
		}
		for i, req := range f.requests {
			if req.AppName != "app" || req.Member != "ana" || req.PageSize != 1 || len(req.PageToken) != i {
				t.Errorf("request %d is %+v", i, req)
			}
		}
	}
}

func TestAllSessionsStopsWhenTheLoopDoes(t *testing.T) {
	f := &fakeSessions{n: 4, failAt: -1}
	sequence := session.AllSessions(t.Context(), f, session.ListRequest{AppName: "app"})
	for range 2 { // and begins anew when ranged over again
		for s, err := range sequence {
			if err != nil {
				t.Fatal(err)
			}
			if s.HeadSeq == 1 {
				break
			}
		}
	}
	var tokens []string
	for _, req := range f.requests {
		tokens = append(tokens, req.PageToken)
	}
	if want := []string{"", "x", "", "x"}; !slices.Equal(tokens, want) {
		t.Errorf("tokens of the requests are %s, want %s", fmt.Sprintf("%q", tokens), fmt.Sprintf("%q", want))
	}
}
