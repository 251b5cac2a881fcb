package sessiontest

import (
	"context"
	"fmt"
	"testing"

	"github.com/hansardlog/hansard/session"
)

func badKinds(t *testing.T, svc session.Service) {
	create(t, svc, session.KindGroup, "ana")
	check := unchanged(t, svc)
	for _, tt := range []struct {
		kind    session.Kind
		members []string
		field   string
	}{
		{"room", nil, "Kind"},
		{"Group", []string{"ana"}, "Kind"},
		{"session ", nil, "Kind"},
		{"", []string{"ana"}, "Members"},
		{session.KindSession, []string{"olga"}, "Members"},
		{session.KindDirect, nil, "Members"},
		{session.KindDirect, []string{"ana"}, "Members"},
		{session.KindDirect, []string{"ana", "ana"}, "Members[1]"},
		{session.KindDirect, []string{"ana", "ben", "cleo"}, "Members"},
		{session.KindDirect, []string{"ana", ""}, "Members[1]"},
		{session.KindGroup, nil, "Members"},
		{session.KindGroup, []string{}, "Members"},
		{session.KindGroup, []string{"ana", "ben", "ana"}, "Members[2]"},
		{session.KindGroup, []string{""}, "Members[0]"},
	} {
		refused(t, fmt.Sprintf("kind %q of %q", tt.kind, tt.members), func(ctx context.Context) error {
			key := session.Key{AppName: "app", UserID: "olga", SessionID: "new"}
			return errOf(svc.Create(ctx, &session.CreateRequest{Key: key, Kind: tt.kind, Members: tt.members}))
		}, tt.field)
	}
	for _, req := range []session.ListRequest{
		{AppName: "app", Order: "newest"},
		{AppName: "app", Order: "Created"},
		{AppName: "app", Order: session.OrderUpdated}, // needs UserID or Member
	} {
		refused(t, fmt.Sprintf("order %q", req.Order), func(ctx context.Context) error {
			return errOf(svc.List(ctx, &req))
		}, "Order")
	}
	check()
	// Names that merely look alike are different members.
	key := session.Key{AppName: "app", UserID: "olga", SessionID: "alike"}
	members := []string{"a", "A", "a ", "á", "a\u0301"}
	s := ok(svc.Create(t.Context(), &session.CreateRequest{Key: key, Kind: session.KindGroup, Members: members}))(t).Session
	if s.HeadSeq != int64(len(members)) {
		t.Errorf("HeadSeq is %d, want %d joins", s.HeadSeq, len(members))
	}
}

func badAfter(t *testing.T, svc session.Service) {
	create(t, svc, session.KindSession)
	add(t, svc, &session.Event{Author: "ana", Timestamp: at})
	for name, tt := range yearEdges {
		call := func(ctx context.Context) error {
			return errOf(svc.Get(ctx, &session.GetRequest{Key: testKey, After: tt.at}))
		}
		if tt.refused {
			refused(t, name, call, "After")
		} else if err := call(t.Context()); err != nil {
			t.Errorf("%s: got error %v", name, err)
		}
	}
}
