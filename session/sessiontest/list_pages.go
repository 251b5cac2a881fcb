package sessiontest

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/hansardlog/hansard/session"
)

func listPages(t *testing.T, svc session.Service) {
	var want []string
	for i := range 6 {
		path := fmt.Sprint([]string{"olga/", "pia/"}[i/3], i)
		makeSession(t, svc, path, session.CreateRequest{CreatedAt: at})
		want = append(want, path)
	}
	for size := 1; size <= 7; size++ {
		var got []string
		req := session.ListRequest{AppName: "app", PageSize: size}
		for {
			resp := list(t, svc, req)
			if n := len(resp.Sessions); n == 0 || n > size {
				t.Fatalf("page size %d: a page of %d", size, n)
			}
			got = append(got, paths(resp.Sessions)...)
			if resp.NextPageToken == "" {
				break // the last page, also when it is full
			}
			req.PageToken = resp.NextPageToken
		}
		same(t, fmt.Sprint("page size ", size), got, want)
	}
	// The size is no part of the token.
	first := list(t, svc, session.ListRequest{AppName: "app", PageSize: 2})
	rest := list(t, svc, session.ListRequest{AppName: "app", PageSize: 3, PageToken: first.NextPageToken})
	same(t, "another size", paths(rest.Sessions), want[2:5])
	again := list(t, svc, session.ListRequest{AppName: "app", PageSize: 3, PageToken: first.NextPageToken})
	same(t, "the same token again", again, rest)
}

func listPageSize(t *testing.T, svc session.Service) {
	for i := range full(1001, 101) {
		makeSession(t, svc, fmt.Sprintf("olga/%04d", i), session.CreateRequest{CreatedAt: at, State: session.State{"k": i}})
	}
	resp := list(t, svc, session.ListRequest{AppName: "app"})
	if len(resp.Sessions) != 100 || resp.NextPageToken == "" {
		t.Errorf("default page: %d sessions, token %q", len(resp.Sessions), resp.NextPageToken)
	}
	resp = list(t, svc, session.ListRequest{AppName: "app", PageSize: 1000, WithState: true})
	if n := len(resp.Sessions); n != full(1000, 101) {
		t.Errorf("largest page: %d sessions, want %d", n, full(1000, 101))
	}
	for i, s := range resp.Sessions {
		same(t, "state in the largest page", s.State, session.State{"k": num(i)})
	}
}

func listTokens(t *testing.T, svc session.Service) {
	for _, path := range []string{"olga/1", "olga/2", "olga/3", "pia/1", "pia/2"} {
		group := session.CreateRequest{Kind: session.KindGroup, Members: []string{"ana", "ben", "olga"}}
		group.Key = makeSession(t, svc, path, group)
		group.Key.AppName = "app2"
		ok(svc.Create(t.Context(), &group))(t)
	}
	lists := []session.ListRequest{
		{AppName: "app"},
		{AppName: "app2"},
		{AppName: "app", UserID: "olga"},
		{AppName: "app", UserID: "pia"},
		{AppName: "app", Member: "olga"},
		{AppName: "app", Member: "ana"},
		{AppName: "app", UserID: "olga", Member: "ana"},
		{AppName: "app", UserID: "olga", Order: session.OrderUpdated},
		{AppName: "app", Member: "olga", Order: session.OrderUpdated},
		{AppName: "app", Member: "ana", Order: session.OrderUpdated},
		{AppName: "app", UserID: "olga", Member: "ana", Order: session.OrderUpdated},
	}
	for i, from := range lists {
		from.PageSize = 1
		token := list(t, svc, from).NextPageToken
		if token == "" {
			t.Fatalf("%+v: no token", from)
		}
		for j, to := range lists {
			to.PageToken = token
			if i == j {
				list(t, svc, to)
				continue
			}
			refused(t, fmt.Sprintf("token of %+v for %+v", from, to), func(ctx context.Context) error {
				return errOf(svc.List(ctx, &to))
			}, "PageToken")
		}
		for _, bad := range mangled(token) {
			from.PageToken = bad
			refused(t, fmt.Sprintf("token %.50q", bad), func(ctx context.Context) error {
				return errOf(svc.List(ctx, &from))
			}, "PageToken")
		}
	}
	// The default order and its name are the same list.
	token := list(t, svc, session.ListRequest{AppName: "app", PageSize: 1}).NextPageToken
	list(t, svc, session.ListRequest{AppName: "app", PageToken: token, Order: session.OrderCreated})
}

func listBetween(t *testing.T, svc session.Service) {
	for _, id := range []string{"1", "2", "3", "5"} {
		makeSession(t, svc, "olga/"+id, session.CreateRequest{CreatedAt: at})
	}
	first := list(t, svc, session.ListRequest{AppName: "app", PageSize: 2})
	same(t, "first page", paths(first.Sessions), []string{"olga/1", "olga/2"})
	for _, id := range []string{"2", "1"} { // the token's own place is gone
		err := svc.Delete(t.Context(), &session.DeleteRequest{Key: session.Key{AppName: "app", UserID: "olga", SessionID: id}})
		if err != nil {
			t.Fatalf("Delete: got error %v", err)
		}
	}
	makeSession(t, svc, "olga/0", session.CreateRequest{CreatedAt: at})
	makeSession(t, svc, "olga/4", session.CreateRequest{CreatedAt: at})
	rest := list(t, svc, session.ListRequest{AppName: "app", PageToken: first.NextPageToken})
	same(t, "second page", paths(rest.Sessions), []string{"olga/3", "olga/4", "olga/5"})
	if !slices.Equal(paths(list(t, svc, session.ListRequest{AppName: "app"}).Sessions), []string{"olga/0", "olga/3", "olga/4", "olga/5"}) {
		t.Error("the whole list is not as it was left")
	}
}
