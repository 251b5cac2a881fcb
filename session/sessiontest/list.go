package sessiontest

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hansardlog/hansard/session"
)

var listTests = []test{
	{name: "filters: app, owner, current member", run: listFilters},
	{name: "sessions come without events, with state if asked", run: listContent},
	{name: "OrderCreated: by owner, creation, SessionID, in byte order", run: listCreated},
	{name: "OrderUpdated: last change first", run: listUpdated},
	{name: "OrderUpdated: ties by owner and SessionID, descending", with: listUpdatedTies},
	{name: "rule 14: pages cover everything once, the last has no token", run: listPages},
	{name: "rule 14: default page size 100, at most 1000", run: listPageSize},
	{name: "rule 14: a token is bound to its filters and order", run: listTokens},
	{name: "rule 14: pages survive deletion and creation between them", run: listBetween},
	{name: "AllSessions: every session once", run: listAll},
}

// list reads a page of sessions.
func list(t *testing.T, svc session.Service, req session.ListRequest) *session.ListResponse {
	t.Helper()
	return ok(svc.List(t.Context(), &req))(t)
}

// paths names sessions as owner/session.
func paths(sessions []*session.Session) []string {
	var s []string
	for _, one := range sessions {
		s = append(s, one.Key.UserID+"/"+one.Key.SessionID)
	}
	return s
}

// makeSession creates a session "owner/session" of app.
func makeSession(t *testing.T, svc session.Service, path string, req session.CreateRequest) session.Key {
	t.Helper()
	user, id, _ := strings.Cut(path, "/")
	req.Key = session.Key{AppName: "app", UserID: user, SessionID: id}
	ok(svc.Create(t.Context(), &req))(t)
	return req.Key
}

func listFilters(t *testing.T, svc session.Service) {
	group := session.CreateRequest{Kind: session.KindGroup, Members: []string{"ana", "ben"}, CreatedAt: at}
	makeSession(t, svc, "olga/1", group)
	left := makeSession(t, svc, "olga/2", group)
	makeSession(t, svc, "pia/3", session.CreateRequest{Kind: session.KindDirect, Members: []string{"ben", "cleo"}, CreatedAt: at})
	makeSession(t, svc, "ana/4", session.CreateRequest{CreatedAt: at})
	ok(svc.Leave(t.Context(), &session.LeaveRequest{Key: left, Member: "ana"}))(t)
	for _, tt := range []struct {
		req  session.ListRequest
		want []string
	}{
		{session.ListRequest{}, []string{"ana/4", "olga/1", "olga/2", "pia/3"}},
		{session.ListRequest{UserID: "olga"}, []string{"olga/1", "olga/2"}},
		{session.ListRequest{UserID: "ana"}, []string{"ana/4"}},
		{session.ListRequest{UserID: "olg"}, nil},
		{session.ListRequest{UserID: "Olga"}, nil},
		{session.ListRequest{Member: "ana"}, []string{"olga/1"}}, // has left 2, owns 4
		{session.ListRequest{Member: "ben"}, []string{"olga/1", "olga/2", "pia/3"}},
		{session.ListRequest{Member: "ben", UserID: "olga"}, []string{"olga/1", "olga/2"}},
		{session.ListRequest{Member: "cleo", UserID: "olga"}, nil},
		{session.ListRequest{Member: "olga"}, nil},
	} {
		tt.req.AppName = "app"
		resp := list(t, svc, tt.req)
		what := fmt.Sprintf("%+v", tt.req)
		same(t, what, paths(resp.Sessions), tt.want)
		if resp.NextPageToken != "" || (tt.want == nil && resp.Sessions != nil) {
			t.Errorf("%s: got token %q and %#v, want neither", what, resp.NextPageToken, resp.Sessions)
		}
		if tt.req.UserID+tt.req.Member != "" {
			tt.req.Order = session.OrderUpdated
			got := paths(list(t, svc, tt.req).Sessions)
			slices.Sort(got)
			same(t, what+" by change", got, tt.want)
		}
	}
	ok(svc.Join(t.Context(), &session.JoinRequest{Key: left, Member: "ana"}))(t)
	same(t, "after the return", paths(list(t, svc, session.ListRequest{AppName: "app", Member: "ana"}).Sessions), []string{"olga/1", "olga/2"})
}

func listContent(t *testing.T, svc session.Service) {
	makeSession(t, svc, "olga/1", session.CreateRequest{State: session.State{"k": 1, "app:k": 2, "user:k": 3}})
	two := makeSession(t, svc, "pia/2", session.CreateRequest{Kind: session.KindGroup, Members: []string{"ana"}, State: session.State{"k": nil, "user:k": 4}})
	ok(svc.AppendEvent(t.Context(), &session.AppendEventRequest{Key: two, Event: sets("ana", session.State{"user:k": 5})}))(t)
	for _, order := range []session.Order{session.OrderCreated, session.OrderUpdated} {
		for user, want := range map[string]session.State{
			"olga": {"k": num(1), "app:k": num(2), "user:k": num(3)}, "pia": {"k": nil, "app:k": num(2), "user:k": num(4)},
		} {
			req := session.ListRequest{AppName: "app", UserID: user, Order: order, WithState: true}
			got := list(t, svc, req).Sessions[0]
			whole := ok(svc.Get(t.Context(), &session.GetRequest{Key: got.Key, WithoutEvents: true}))(t).Session
			same(t, "with state", got, whole)
			same(t, "state", got.State, want)
			req.WithState = false
			whole.State = session.State{}
			same(t, "without state", list(t, svc, req).Sessions[0], whole)
		}
	}
	got := list(t, svc, session.ListRequest{AppName: "app", Member: "ana", WithState: true}).Sessions[0]
	asAna := ok(svc.Get(t.Context(), &session.GetRequest{Key: two, Viewer: "ana", WithoutEvents: true}))(t).Session
	same(t, "as a member", got, asAna)
	same(t, "state of the member", got.State, session.State{"k": nil, "app:k": num(2), "user:k": num(5)})
}

func listCreated(t *testing.T, svc session.Service) {
	early, late := at, at.Add(time.Microsecond)
	want := []string{"B/z", "a/2", "a/1", "a/x", "a /1", "á/1"}
	for _, path := range []string{"a/x", "á/1", "B/z", "a/1", "a /1", "a/2"} {
		created := late
		if path == "a/2" {
			created = early
		}
		makeSession(t, svc, path, session.CreateRequest{CreatedAt: created})
	}
	same(t, "every owner", paths(list(t, svc, session.ListRequest{AppName: "app"}).Sessions), want)
	same(t, "by name", paths(list(t, svc, session.ListRequest{AppName: "app", Order: session.OrderCreated}).Sessions), want)
	same(t, "one owner", paths(list(t, svc, session.ListRequest{AppName: "app", UserID: "a"}).Sessions), []string{"a/2", "a/1", "a/x"})
	for _, id := range []string{"a", "B", "á", "a ", "Z", "_"} {
		makeSession(t, svc, "tie/"+id, session.CreateRequest{CreatedAt: late.Add(999)}) // the same microsecond
	}
	same(t, "ties", paths(list(t, svc, session.ListRequest{AppName: "app", UserID: "tie"}).Sessions),
		[]string{"tie/B", "tie/Z", "tie/_", "tie/a", "tie/a ", "tie/á"})
	var got []string
	for s, err := range session.AllSessions(t.Context(), svc, session.ListRequest{AppName: "app", PageSize: 1}) {
		got = append(got, ok(s, err)(t).Key.UserID)
	}
	same(t, "owners page by page", slices.Compact(got), []string{"B", "a", "a ", "tie", "á"})
}

func listUpdated(t *testing.T, svc session.Service) {
	keys := map[string]session.Key{}
	for _, path := range []string{"olga/1", "olga/2", "pia/3", "olga/4"} {
		// The date of creation is no change.
		keys[path] = makeSession(t, svc, path, session.CreateRequest{Kind: session.KindGroup, Members: []string{"ana"}, CreatedAt: at})
		time.Sleep(2 * time.Millisecond)
	}
	byOlga := session.ListRequest{AppName: "app", UserID: "olga", Order: session.OrderUpdated}
	byAna := session.ListRequest{AppName: "app", Member: "ana", Order: session.OrderUpdated}
	same(t, "as created", paths(list(t, svc, byOlga).Sessions), []string{"olga/4", "olga/2", "olga/1"})
	ok(svc.AppendEvent(t.Context(), &session.AppendEventRequest{Key: keys["olga/2"], Event: say("ana", "a")}))(t)
	time.Sleep(2 * time.Millisecond)
	ok(svc.Join(t.Context(), &session.JoinRequest{Key: keys["olga/1"], Member: "ben"}))(t)
	same(t, "olga's", paths(list(t, svc, byOlga).Sessions), []string{"olga/1", "olga/2", "olga/4"})
	same(t, "of ana", paths(list(t, svc, byAna).Sessions), []string{"olga/1", "olga/2", "olga/4", "pia/3"})
	var got []string
	byAna.PageSize = 1
	for s, err := range session.AllSessions(t.Context(), svc, byAna) {
		got = append(got, ok(s, err)(t).Key.SessionID)
	}
	same(t, "page by page", got, []string{"1", "2", "4", "3"})
}

func listUpdatedTies(t *testing.T, newWith func(Options) session.Service) {
	svc := newWith(Options{Clock: func(context.Context) time.Time { return at }})
	for _, path := range []string{"a/1", "B/2", "á/1", "a/10", "a/B", "a /1"} {
		makeSession(t, svc, path, session.CreateRequest{Kind: session.KindGroup, Members: []string{"ana"}})
	}
	want := []string{"á/1", "a /1", "a/B", "a/10", "a/1", "B/2"}
	req := session.ListRequest{AppName: "app", Member: "ana", Order: session.OrderUpdated}
	same(t, "one page", paths(list(t, svc, req).Sessions), want)
	req.PageSize = 1
	var got []string
	for s, err := range session.AllSessions(t.Context(), svc, req) {
		got = append(got, paths([]*session.Session{ok(s, err)(t)})...)
	}
	same(t, "page by page", got, want)
}

func listAll(t *testing.T, svc session.Service) {
	var want []string
	for i := range 7 {
		path := fmt.Sprint("olga/", i)
		makeSession(t, svc, path, session.CreateRequest{CreatedAt: at})
		want = append(want, path)
	}
	for _, size := range []int{0, 1, 3, 7, 8} {
		sequence := session.AllSessions(t.Context(), svc, session.ListRequest{AppName: "app", PageSize: size})
		for range 2 { // a sequence may be ranged over twice
			var got []string
			for s, err := range sequence {
				one := ok(s, err)(t)
				got = append(got, one.Key.UserID+"/"+one.Key.SessionID)
				ok(svc.Get(t.Context(), &session.GetRequest{Key: one.Key}))(t) // the loop body may use the service
			}
			same(t, fmt.Sprint("pages of ", size), got, want)
		}
	}
	for _, err := range session.AllSessions(t.Context(), svc, session.ListRequest{AppName: "app", PageToken: "x"}) {
		wantInvalid(t, "a bad token", err, "PageToken")
	}
}

// mangled returns tokens that are none.
func mangled(token string) []string {
	return []string{
		"x", "!", " ", "\x00", "\xff", "0", "null", "{}", token + "x", " " + token, token[1:], token[:len(token)-1], token[:len(token)/2], token + token,
		strings.ToLower(token) + "-", base64.RawURLEncoding.EncodeToString([]byte("{}")), base64.StdEncoding.EncodeToString([]byte("olga/1")),
		strings.Repeat("A", 10_000),
	}
}
