package sessiontest

import (
	"fmt"
	"maps"
	"testing"

	"github.com/hansardlog/hansard/session"
)

var stateTests = []test{
	{name: "P8: state at creation, then every delta in sequence order", run: stateReplay},
	{name: "rule 4: nil stores JSON null, only StateDelete removes", run: stateNull},
	{name: "rule 4: the same key set and removed is refused", run: stateBoth},
	{name: "rule 4: StateDelete comes back in order, without temp keys and repeats", run: stateDeletions},
	{name: "rule 5: temp keys reach nobody, the caller's event keeps them", run: stateTemp},
	{name: "rule 6: user state is the owner's in kind session", run: stateUserSession},
	{name: "rule 6: user state is the author's in direct and group", run: stateUserMembers},
	{name: "scopes: the same name in three scopes is three keys", run: stateScopes},
	{name: "scopes: who shares which keys", run: stateSharing},
	{name: "P6: wide deltas of every scope are stored whole", run: stateWide},
}

func stateReplay(t *testing.T, svc session.Service) {
	createState(t, svc, session.State{"a": 1, "b": 2, "app:a": 3, "user:a": 4})
	want := session.State{"a": num(1), "b": num(2), "app:a": num(3), "user:a": num(4)}
	for i, step := range []*session.Event{
		sets("x", session.State{"a": 10, "c": 11}),
		sets("x", session.State{"app:a": 12}, "b", "user:a"),
		sets("x", session.State{"b": 13, "user:b": 14}, "c", "never there", "app:never there"),
		sets("x", nil, "a", "app:a"),
		say("x", "no delta"),
		sets("x", session.State{"a": 15}),
	} {
		add(t, svc, step)
		for key, v := range step.StateDelta {
			want[key] = num(v.(int))
		}
		for _, key := range step.StateDelete {
			delete(want, key)
		}
		same(t, fmt.Sprint("state after step ", i), get(t, svc).State, want)
	}
	final := session.State{"a": num(15), "b": num(13), "user:b": num(14)}
	same(t, "final state", want, final)
}

func stateNull(t *testing.T, svc session.Service) {
	createState(t, svc, session.State{"created": nil, "app:created": nil, "user:created": nil})
	e := add(t, svc, sets("x", session.State{"k": nil, "app:k": nil, "user:k": nil}))
	same(t, "delta", e.StateDelta, session.State{"k": nil, "app:k": nil, "user:k": nil})
	want := session.State{
		"created": nil, "app:created": nil, "user:created": nil, "k": nil, "app:k": nil, "user:k": nil,
	}
	same(t, "state", get(t, svc).State, want)
	add(t, svc, sets("x", nil, "k", "app:k", "user:k"))
	for _, key := range []string{"k", "app:k", "user:k"} {
		delete(want, key)
	}
	same(t, "state after removal", get(t, svc).State, want)
	add(t, svc, sets("x", session.State{"k": nil, "app:k": 1}))
	want["k"], want["app:k"] = nil, num(1)
	same(t, "state after setting again", get(t, svc).State, want)
}

func stateBoth(t *testing.T, svc session.Service) {
	createState(t, svc, session.State{"k": 1})
	for _, key := range []string{"k", "app:k", "user:k"} {
		err := addErr(t, svc, sets("x", session.State{key: 2}, "other", key))
		wantInvalid(t, key, err, "Event.StateDelete[1]", fmt.Sprintf("Event.StateDelta[%q]", key))
	}
	same(t, "state", get(t, svc).State, session.State{"k": num(1)})
	// k and app:k are two keys.
	add(t, svc, sets("x", session.State{"app:k": 2}, "k"))
	same(t, "state", get(t, svc).State, session.State{"app:k": num(2)})
}

func stateDeletions(t *testing.T, svc session.Service) {
	createState(t, svc, session.State{"a": 1, "b": 2, "app:c": 3, "left": 4})
	e := add(t, svc, sets("x", nil, "b", "temp:x", "app:c", "none", "b", "a", "app:c", "temp:x", "user:none"))
	want := []string{"b", "app:c", "none", "a", "user:none"}
	same(t, "the answer", e.StateDelete, want)
	s := get(t, svc)
	same(t, "Get", s.Events[0].StateDelete, want)
	same(t, "state", s.State, session.State{"left": num(4)})
}

func stateTemp(t *testing.T, svc session.Service) {
	createState(t, svc, session.State{"k": 0})
	channel := make(chan int)
	build := func() *session.Event {
		return sets("x", session.State{"temp:a": channel, "temp:b": "\xff", "temp:user:c": 1, "k": 2}, "temp:d", "e")
	}
	e := build()
	stored := add(t, svc, e)
	same(t, "the caller's event", e, build())
	same(t, "delta of the answer", stored.StateDelta, session.State{"k": num(2)})
	same(t, "deletions of the answer", stored.StateDelete, []string{"e"})
	s := get(t, svc)
	same(t, "state", s.State, session.State{"k": num(2)})
	same(t, "event read back", s.Events, []*session.Event{stored})
	batch := ok(svc.AppendEvents(t.Context(), &session.AppendEventsRequest{
		Key: testKey, Events: []*session.Event{build(), sets("x", session.State{"temp:f": 1})},
	}))(t).Events
	same(t, "batch", batch[0].StateDelta, session.State{"k": num(2)})
	same(t, "batch, nothing but temp", batch[1].StateDelta, session.State(nil))
	// Names that merely resemble the prefix belong to the session.
	like := session.State{"temp": num(1), "Temp:x": num(2), "temporary:x": num(3), " temp:x": num(4), "apps:x": num(5)}
	add(t, svc, sets("x", like))
	want := maps.Clone(like)
	want["k"] = num(2)
	same(t, "state", get(t, svc).State, want)
}

func stateUserSession(t *testing.T, svc session.Service) {
	create(t, svc, session.KindSession)
	add(t, svc, sets("agent", session.State{"user:k": 1}))
	same(t, "the owner's state", shared(t, svc, "app", "olga"), session.State{"user:k": num(1)})
	same(t, "the author's state", shared(t, svc, "app", "agent"), session.State{})
	same(t, "Get", get(t, svc).State, session.State{"user:k": num(1)})
	same(t, "Get of the owner", view(t, svc, session.GetRequest{Viewer: "olga"}).State, session.State{"user:k": num(1)})
}

func stateUserMembers(t *testing.T, svc session.Service) {
	for _, kind := range []session.Kind{session.KindDirect, session.KindGroup} {
		key := session.Key{AppName: "app " + string(kind), UserID: "olga", SessionID: "s"}
		ok(svc.Create(t.Context(), &session.CreateRequest{
			Key: key, Kind: kind, Members: []string{"ana", "ben"}, State: session.State{"user:k": "olga's", "k": 1},
		}))(t)
		ok(svc.AppendEvent(t.Context(), &session.AppendEventRequest{Key: key, Event: sets("ana", session.State{"user:k": "ana's"})}))(t)
		ok(svc.AppendEvents(t.Context(), &session.AppendEventsRequest{Key: key, Events: []*session.Event{
			sets("ben", session.State{"user:k": "ben's", "user:gone": 1}),
			sets("ana", session.State{"user:gone": 2}),
			sets("ben", nil, "user:gone"),
		}}))(t)
		for user, want := range map[string]session.State{
			"olga": {"user:k": "olga's"},
			"ana":  {"user:k": "ana's", "user:gone": num(2)},
			"ben":  {"user:k": "ben's"},
		} {
			same(t, fmt.Sprint(kind, ": state of ", user), shared(t, svc, key.AppName, user), want)
			viewer := user
			if user == "olga" {
				viewer = "" // the owner is no member: no viewer is named
			}
			got := ok(svc.Get(t.Context(), &session.GetRequest{Key: key, Viewer: viewer}))(t).Session.State
			want["k"] = num(1)
			same(t, fmt.Sprint(kind, ": Get as ", user), got, want)
		}
	}
}

func stateScopes(t *testing.T, svc session.Service) {
	create(t, svc, session.KindSession)
	all := session.State{"k": num(1), "app:k": num(2), "user:k": num(3), "app:app:k": num(4), "user:app:k": num(5), "app:user:k": num(6)}
	add(t, svc, sets("x", all))
	same(t, "state", get(t, svc).State, all)
	add(t, svc, sets("x", nil, "app:k"))
	want := maps.Clone(all)
	delete(want, "app:k")
	same(t, "state after one removal", get(t, svc).State, want)
	delete(want, "k")
	same(t, "shared state", shared(t, svc, "app", "olga"), want)
}

func stateSharing(t *testing.T, svc session.Service) {
	keys := map[string]session.Key{
		"same":       testKey,
		"other":      {AppName: "app", UserID: "olga", SessionID: "s2"},
		"other user": {AppName: "app", UserID: "pia", SessionID: "s1"},
		"other app":  {AppName: "app2", UserID: "olga", SessionID: "s1"},
	}
	for _, key := range keys {
		ok(svc.Create(t.Context(), &session.CreateRequest{Key: key}))(t)
	}
	add(t, svc, sets("x", session.State{"k": 1, "user:k": 2, "app:k": 3}))
	for name, want := range map[string]session.State{
		"same":       {"k": num(1), "user:k": num(2), "app:k": num(3)},
		"other":      {"user:k": num(2), "app:k": num(3)},
		"other user": {"app:k": num(3)},
		"other app":  {},
	} {
		got := ok(svc.Get(t.Context(), &session.GetRequest{Key: keys[name]}))(t).Session
		same(t, name, got.State, want)
		if name != "same" && got.HeadSeq != 0 {
			t.Errorf("%s: HeadSeq is %d, want 0", name, got.HeadSeq)
		}
	}
}

// More keys than one statement of some engines takes as parameters.
func stateWide(t *testing.T, svc session.Service) {
	n := full(11_200, 1_200)
	create(t, svc, session.KindSession)
	delta, want := session.State{}, session.State{}
	for i := range n {
		prefix := ""
		if i%100 < 2 { // most keys in one scope: each scope is a statement
			prefix = []string{session.AppPrefix, session.UserPrefix}[i%100]
		}
		key := fmt.Sprint(prefix, "k", i)
		delta[key], want[key] = i, num(i)
	}
	e := add(t, svc, sets("x", delta))
	if !maps.Equal(e.StateDelta, want) {
		t.Errorf("delta of %d keys comes back with %d keys, or other values", n, len(e.StateDelta))
	}
	if got := get(t, svc).State; !maps.Equal(got, want) {
		t.Errorf("state has %d keys, or other values than the %d set", len(got), n)
	}
	var remove []string
	for key := range want {
		remove = append(remove, key)
	}
	add(t, svc, sets("x", session.State{"left": true}, remove...))
	same(t, "state after removal", get(t, svc).State, session.State{"left": true})
}
