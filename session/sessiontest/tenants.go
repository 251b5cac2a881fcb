package sessiontest

import (
	"fmt"
	"testing"

	"github.com/hansardlog/hansard/session"
)

var tenantTests = []test{
	{name: "rule 1: names compare byte for byte, no two tenants meet", run: tenantNames},
	{name: "keys whose parts join to the same text are different", run: tenantJoined},
	{name: "wildcards and quotes in names are only characters", run: tenantWildcards},
	{name: "members of one app are nobody in another", run: tenantMembers},
}

// tenantNames lets every key write in all scopes and then looks at each: what
// one wrote no other sees.
func tenantNames(t *testing.T, svc session.Service) {
	var keys []session.Key
	for _, app := range alike {
		for _, user := range alike {
			keys = append(keys, session.Key{AppName: app, UserID: user, SessionID: "s"})
		}
	}
	for _, id := range alike {
		keys = append(keys, session.Key{AppName: "ids", UserID: "u", SessionID: id})
	}
	for i, key := range keys {
		ok(svc.Create(t.Context(), &session.CreateRequest{Key: key, State: session.State{"k": i}}))(t)
		e := sets("x", session.State{fmt.Sprint("user:", i): i, fmt.Sprint("app:", i): i})
		e.IdempotencyKey = "same"
		resp := ok(svc.AppendEvent(t.Context(), &session.AppendEventRequest{Key: key, Event: e}))(t)
		if resp.Replayed || resp.Event.Seq != 1 {
			t.Errorf("%v: sequence %d, replayed %t, want 1 and false", key, resp.Event.Seq, resp.Replayed)
		}
	}
	for i, key := range keys {
		want := session.State{"k": num(i)}
		for j, other := range keys {
			if other.AppName == key.AppName {
				want[fmt.Sprint("app:", j)] = num(j)
				if other.UserID == key.UserID {
					want[fmt.Sprint("user:", j)] = num(j)
				}
			}
		}
		s := ok(svc.Get(t.Context(), &session.GetRequest{Key: key}))(t).Session
		same(t, fmt.Sprint("key of ", key), s.Key, key)
		same(t, fmt.Sprint("state of ", key), s.State, want)
		delete(want, "k")
		same(t, fmt.Sprint("shared state of ", key), shared(t, svc, key.AppName, key.UserID), want)
	}
	for _, app := range alike {
		if n := len(list(t, svc, session.ListRequest{AppName: app}).Sessions); n != len(alike) {
			t.Errorf("app %q has %d sessions, want %d", app, n, len(alike))
		}
		for _, user := range alike {
			if n := len(list(t, svc, session.ListRequest{AppName: app, UserID: user}).Sessions); n != 1 {
				t.Errorf("user %q of app %q has %d sessions, want 1", user, app, n)
			}
		}
	}
	for i, key := range keys { // every other one goes
		if i%2 == 0 {
			continue
		}
		if err := svc.Delete(t.Context(), &session.DeleteRequest{Key: key}); err != nil {
			t.Errorf("Delete %v: got error %v", key, err)
		}
	}
	for i, key := range keys {
		err := errOf(svc.Get(t.Context(), &session.GetRequest{Key: key, WithoutEvents: true}))
		if i%2 == 1 {
			wantErr(t, fmt.Sprint("Get of the deleted ", key), err, session.ErrNotFound)
		} else if err != nil {
			t.Errorf("Get of %v: got error %v", key, err)
		}
	}
}

// alike are names that a careless comparison takes for one another.
var alike = []string{"a", "A", "a ", "á", "a\u0301", "ａ", "а"} // the last two: full-width, Cyrillic

func tenantJoined(t *testing.T, svc session.Service) {
	keys := []session.Key{
		{AppName: "a", UserID: "bc", SessionID: "d"}, {AppName: "ab", UserID: "c", SessionID: "d"}, {AppName: "a", UserID: "b", SessionID: "cd"},
		{AppName: "a/b", UserID: "c", SessionID: "d"}, {AppName: "a", UserID: "b/c", SessionID: "d"}, {AppName: "a", UserID: "b", SessionID: "c/d"},
		{AppName: "a:b", UserID: "c", SessionID: "d"}, {AppName: "a", UserID: "b:c", SessionID: "d"}, {AppName: "a", UserID: "b", SessionID: "c:d"},
	}
	for i, key := range keys {
		ok(svc.Create(t.Context(), &session.CreateRequest{Key: key, State: session.State{"k": i, "user:k": i}}))(t)
	}
	for i, key := range keys {
		s := ok(svc.Get(t.Context(), &session.GetRequest{Key: key}))(t).Session
		if s.Key != key || s.State["k"] != num(i) {
			t.Errorf("Get %v: got %v with k = %v, want %d", key, s.Key, s.State["k"], i)
		}
	}
}

func tenantWildcards(t *testing.T, svc session.Service) {
	wild := []string{"%", "_", "*", "?", "a%", "'", `"`, "`", `\`, "a' OR 'a'='a", "--", ";", "[a-z]", "$1", "{}"}
	for _, name := range append([]string{"plain", "ab"}, wild...) {
		key := session.Key{AppName: name, UserID: name, SessionID: name}
		ok(svc.Create(t.Context(), &session.CreateRequest{Key: key, Kind: session.KindGroup, Members: []string{name}, State: session.State{"app:" + name: 1}}))(t)
	}
	for _, name := range wild {
		key := session.Key{AppName: name, UserID: name, SessionID: name}
		for _, req := range []session.ListRequest{{AppName: name}, {AppName: name, UserID: name}, {AppName: name, Member: name}} {
			got := list(t, svc, req).Sessions
			if len(got) != 1 || got[0].Key != key {
				t.Errorf("List %+v: got %s, want the one of that name", req, dump(got))
			}
		}
		same(t, "state of "+name, shared(t, svc, name, name), session.State{"app:" + name: num(1)})
		got := update(t, svc, name, "", nil, "app:"+name)
		same(t, "state after removal", got, session.State{})
		if err := svc.Delete(t.Context(), &session.DeleteRequest{Key: key}); err != nil {
			t.Errorf("Delete %v: got error %v", key, err)
		}
	}
	same(t, "untouched state", shared(t, svc, "ab", ""), session.State{"app:ab": num(1)})
	if n := len(list(t, svc, session.ListRequest{AppName: "plain"}).Sessions); n != 1 {
		t.Errorf("app plain has %d sessions, want 1", n)
	}
}

func tenantMembers(t *testing.T, svc session.Service) {
	create(t, svc, session.KindGroup, "ana")
	other := session.Key{AppName: "app2", UserID: "olga", SessionID: "s1"}
	ok(svc.Create(t.Context(), &session.CreateRequest{Key: other, Kind: session.KindGroup, Members: []string{"ben"}}))(t)
	wantNotMember(t, "append", addErr(t, svc, say("ben", "hello")))
	wantNotMember(t, "view", errOf(svc.Get(t.Context(), &session.GetRequest{Key: other, Viewer: "ana"})))
	if got := list(t, svc, session.ListRequest{AppName: "app2", Member: "ana"}).Sessions; got != nil {
		t.Errorf("ana's sessions in app2: got %s, want none", dump(got))
	}
	add(t, svc, sets("ana", session.State{"user:k": 1, "app:k": 1}))
	same(t, "ana's state in app2", shared(t, svc, "app2", "ana"), session.State{})
}
