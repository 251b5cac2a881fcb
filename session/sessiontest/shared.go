package sessiontest

import (
	"context"
	"fmt"
	"testing"

	"github.com/hansardlog/hansard/session"
)

var sharedTests = []test{
	{name: "rule 15: the answer has all keys of the named scopes", run: sharedAnswer},
	{name: "rule 15: app and user keys only", run: sharedScopes},
	{name: "rule 4: null, removal, the same key in both", run: sharedNull},
	{name: "P6: all keys or none", run: sharedAtomic},
	{name: "sessions and shared state are the same keys", run: sharedSessions},
	{name: "state that nobody wrote is empty, never nil", run: sharedEmpty},
}

// update changes shared state.
func update(t *testing.T, svc session.Service, app, user string, delta session.State, del ...string) session.State {
	t.Helper()
	return ok(svc.UpdateState(t.Context(), &session.UpdateStateRequest{AppName: app, UserID: user, Delta: delta, Delete: del}))(t).State
}

func sharedAnswer(t *testing.T, svc session.Service) {
	same(t, "first write", update(t, svc, "app", "olga", session.State{"app:a": 1, "user:u": 2}),
		session.State{"app:a": num(1), "user:u": num(2)})
	same(t, "of the app only", update(t, svc, "app", "", session.State{"app:b": 3}),
		session.State{"app:a": num(1), "app:b": num(3)})
	same(t, "of another user", update(t, svc, "app", "pia", session.State{"user:p": 4}),
		session.State{"app:a": num(1), "app:b": num(3), "user:p": num(4)})
	same(t, "of another app", update(t, svc, "app2", "olga", session.State{"app:a": 5}), session.State{"app:a": num(5)})
	same(t, "no change", update(t, svc, "app", "olga", nil), session.State{"app:a": num(1), "app:b": num(3), "user:u": num(2)})
	same(t, "removal", update(t, svc, "app", "olga", session.State{"app:b": 6}, "user:u", "app:a", "app:a", "user:none"),
		session.State{"app:b": num(6)})
	same(t, "GetState of olga", shared(t, svc, "app", "olga"), session.State{"app:b": num(6)})
	same(t, "GetState of pia", shared(t, svc, "app", "pia"), session.State{"app:b": num(6), "user:p": num(4)})
	same(t, "GetState of the app", shared(t, svc, "app", ""), session.State{"app:b": num(6)})
}

func sharedScopes(t *testing.T, svc session.Service) {
	want := update(t, svc, "app", "olga", session.State{"app:a": 1, "user:a": 1})
	for _, tt := range []struct{ user, key string }{
		{"olga", "a"}, {"olga", "temp:a"}, {"", "user:a"}, {"olga", "App:a"}, {"olga", "application"}, {"", "a"}, {"olga", " app:a"},
	} {
		refused(t, fmt.Sprintf("set %q, user %q", tt.key, tt.user), func(ctx context.Context) error {
			return errOf(svc.UpdateState(ctx, &session.UpdateStateRequest{
				AppName: "app", UserID: tt.user, Delta: session.State{"app:b": 2, tt.key: 2},
			}))
		}, fmt.Sprintf("Delta[%q]", tt.key))
		refused(t, fmt.Sprintf("remove %q, user %q", tt.key, tt.user), func(ctx context.Context) error {
			return errOf(svc.UpdateState(ctx, &session.UpdateStateRequest{
				AppName: "app", UserID: tt.user, Delete: []string{"app:a", tt.key},
			}))
		}, "Delete[1]")
	}
	same(t, "state after refusals", shared(t, svc, "app", "olga"), want)
}

func sharedNull(t *testing.T, svc session.Service) {
	want := session.State{"app:n": nil, "user:n": nil}
	same(t, "null", update(t, svc, "app", "olga", session.State{"app:n": nil, "user:n": nil}), want)
	same(t, "null read back", shared(t, svc, "app", "olga"), want)
	refused(t, "set and removed", func(ctx context.Context) error {
		return errOf(svc.UpdateState(ctx, &session.UpdateStateRequest{
			AppName: "app", Delta: session.State{"app:n": 1}, Delete: []string{"app:n"},
		}))
	}, "Delete[0]", `Delta["app:n"]`)
	same(t, "removed", update(t, svc, "app", "olga", nil, "app:n"), session.State{"user:n": nil})
	same(t, "set again", update(t, svc, "app", "olga", session.State{"app:n": 1}), session.State{"app:n": num(1), "user:n": nil})
}

func sharedAtomic(t *testing.T, svc session.Service) {
	want := update(t, svc, "app", "olga", session.State{"app:a": 1, "user:a": 1})
	err := errOf(svc.UpdateState(t.Context(), &session.UpdateStateRequest{
		AppName: "app", UserID: "olga",
		Delta:  session.State{"app:a": 2, "user:z": make(chan int), "app:new": 3},
		Delete: []string{"user:a"},
	}))
	wantInvalid(t, "UpdateState", err, `Delta["user:z"]`)
	same(t, "state", shared(t, svc, "app", "olga"), want)
}

func sharedSessions(t *testing.T, svc session.Service) {
	create(t, svc, session.KindSession)
	update(t, svc, "app", "olga", session.State{"app:k": "set outside", "user:k": "set outside"})
	same(t, "Get", get(t, svc).State, session.State{"app:k": "set outside", "user:k": "set outside"})
	add(t, svc, sets("x", session.State{"app:k": "set inside"}, "user:k"))
	same(t, "GetState", shared(t, svc, "app", "olga"), session.State{"app:k": "set inside"})
	update(t, svc, "app", "olga", session.State{"user:k": 1}, "app:k")
	s := get(t, svc)
	same(t, "Get", s.State, session.State{"user:k": num(1)})
	if s.HeadSeq != 1 {
		t.Errorf("HeadSeq is %d, want 1: a change of shared state is no event", s.HeadSeq)
	}
}

func sharedEmpty(t *testing.T, svc session.Service) {
	for _, user := range []string{"", "olga"} {
		same(t, "GetState", shared(t, svc, "app", user), session.State{})
		same(t, "UpdateState with nothing", update(t, svc, "app", user, session.State{}), session.State{})
	}
	update(t, svc, "app", "olga", session.State{"app:a": 1}, "user:a")
	same(t, "after removal", update(t, svc, "app", "olga", nil, "app:a"), session.State{})
	same(t, "GetState", shared(t, svc, "app", "olga"), session.State{})
	create(t, svc, session.KindSession)
	same(t, "Get", get(t, svc).State, session.State{})
}
