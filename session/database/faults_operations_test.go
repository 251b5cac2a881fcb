package database_test

import (
	"context"
	"database/sql"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/hansardlog/hansard/session"
)

// operation is one way to use a Service. Its requests are numbered: those of
// different numbers do not get into each other's way.
type operation struct {
	name     string
	prepare  []func(n int) any // what must have happened before
	req      func(n int) any
	events   int    // how many events it adds
	appKey   string // an app: key that it sets to its number
	removing bool   // takes more than one transaction
}

var (
	faultKey   = session.Key{AppName: "app", UserID: "olga", SessionID: "plain"}
	faultGroup = session.Key{AppName: "app", UserID: "olga", SessionID: "group"}
)

func numberedKey(name string, n int) session.Key {
	return session.Key{AppName: "app", UserID: "olga", SessionID: fmt.Sprintf("%s %d", name, n)}
}

// fixture is what every operation finds.
func fixture() []any {
	reqs := []any{
		&session.CreateRequest{Key: faultKey, State: session.State{"k": 1, "app:k": 1}},
		&session.CreateRequest{Key: faultGroup, Kind: session.KindGroup, Members: []string{"ana", "ben"}},
		&session.LeaveRequest{Key: faultGroup, Member: "ben"},
	}
	for n := range 3 {
		reqs = append(reqs, appendRequest(faultGroup, "known", n))
	}
	return reqs
}

func appendRequest(key session.Key, name string, n int) *session.AppendEventRequest {
	return &session.AppendEventRequest{Key: key, Event: &session.Event{
		Author: "ana", IdempotencyKey: fmt.Sprintf("%s %d", name, n), Payload: []byte(`"said"`),
		StateDelta: session.State{"k": n, "app:k": n, "user:k": n}, StateDelete: []string{"gone", "app:gone", "user:gone"},
	}}
}

func operations() []operation {
	return []operation{
		{
			name: "Create",
			req: func(n int) any {
				return &session.CreateRequest{Key: numberedKey("new", n), Kind: session.KindGroup, Members: []string{"ana", "ben"},
					State: session.State{"k": n, "app:c": n, "user:c": n}}
			},
			events: 2, appKey: "app:c",
		},
		{
			name: "AppendEvent",
			req: func(n int) any {
				return &session.AppendEventRequest{Key: faultKey, Event: &session.Event{Author: "ana", IdempotencyKey: fmt.Sprint("one ", n)}}
			},
			events: 1,
		},
		{
			name:   "AppendEvent with state",
			req:    func(n int) any { return appendRequest(faultGroup, "state", n) },
			events: 1, appKey: "app:k",
		},
		{
			name: "AppendEvent again",
			req:  func(int) any { return appendRequest(faultGroup, "known", 1) },
		},
		{
			name: "AppendEvents",
			req: func(n int) any {
				r := &session.AppendEventsRequest{Key: faultGroup}
				for i := range 3 {
					r.Events = append(r.Events, appendRequest(faultGroup, fmt.Sprint("batch ", i), n).Event)
				}
				return r
			},
			events: 3,
		},
		{
			name: "Join",
			req: func(n int) any {
				return &session.JoinRequest{Key: faultGroup, Actor: "ana", Member: fmt.Sprint("joins ", n), IdempotencyKey: fmt.Sprint("join ", n)}
			},
			events: 1,
		},
		{
			name: "Leave",
			prepare: []func(int) any{func(n int) any {
				return &session.JoinRequest{Key: faultGroup, Member: fmt.Sprint("leaves ", n)}
			}},
			req: func(n int) any {
				return &session.LeaveRequest{Key: faultGroup, Actor: "ana", Member: fmt.Sprint("leaves ", n), IdempotencyKey: fmt.Sprint("leave ", n)}
			},
			events: 1,
		},
		{
			name: "UpdateState",
			req: func(n int) any {
				return &session.UpdateStateRequest{AppName: "app", UserID: "olga", Delta: session.State{"app:u": n, "user:u": n}, Delete: []string{"app:gone"}}
			},
			appKey: "app:u",
		},
		{
			name: "Delete",
			prepare: []func(int) any{
				func(n int) any {
					return &session.CreateRequest{Key: numberedKey("deleted", n), Kind: session.KindDirect, Members: []string{"ana", "ben"}, State: session.State{"k": n}}
				},
			},
			req:      func(n int) any { return &session.DeleteRequest{Key: numberedKey("deleted", n)} },
			events:   -2,
			removing: true,
		},
		{name: "Get", req: func(int) any { return &session.GetRequest{Key: faultKey} }},
		{name: "Get as a former member", req: func(int) any { return &session.GetRequest{Key: faultGroup, Viewer: "ben"} }},
		{name: "List", req: func(int) any { return &session.ListRequest{AppName: "app", Member: "ana", WithState: true} }},
		{name: "ListEvents", req: func(int) any { return &session.ListEventsRequest{Key: faultGroup, Viewer: "ana"} }},
		{name: "ListMembers", req: func(int) any { return &session.ListMembersRequest{Key: faultGroup} }},
		{name: "GetState", req: func(int) any { return &session.GetStateRequest{AppName: "app", UserID: "ana"} }},
	}
}

// must makes calls that must succeed.
func (w *world) must(t *testing.T, reqs ...any) {
	t.Helper()
	for _, req := range reqs {
		if _, err := w.do(context.WithoutCancel(t.Context()), &call{req: req}); err != nil {
			t.Fatalf("%T: %v", req, err)
		}
	}
}

// try makes the n-th call of op, which must not change its request.
func (op operation) try(ctx context.Context, t *testing.T, w *world, n int) (any, error) {
	t.Helper()
	req := op.req(n)
	answer, err := w.do(ctx, &call{req: req})
	if !reflect.DeepEqual(req, op.req(n)) {
		t.Errorf("the request was modified: %s", dumpValue(req))
	}
	if err != nil && answer != nil && !reflect.ValueOf(answer).IsNil() {
		t.Errorf("an answer beside the error %v: %s", err, dumpValue(answer))
	}
	return answer, err
}

func (op operation) prepared(t *testing.T, w *world, n int) {
	t.Helper()
	for _, req := range op.prepare {
		w.must(t, req(n))
	}
}

// wantDone checks that the n-th call of op has had its effect.
func (op operation) wantDone(t *testing.T, w *world, n int) {
	t.Helper()
	if op.appKey == "" {
		return
	}
	resp := got(w.svc.GetState(context.WithoutCancel(t.Context()), &session.GetStateRequest{AppName: "app"}))(t)
	if v, err := session.Get[int](resp.State, op.appKey); err != nil || v != n {
		t.Errorf("%s is %v, %v, want %d", op.appKey, v, err, n)
	}
}

// stored sums up every table so that no row comes, goes or changes unnoticed.
func stored(t *testing.T, plain *sql.DB) string {
	t.Helper()
	sums := []string{
		"count(*) FROM hansard_events", "count(*) FROM hansard_state_checkpoints", "count(*) FROM hansard_discarded_logs",
		"count(*) FROM hansard_conversations", "sum(next_seq) FROM hansard_conversations",
		"count(*) FROM hansard_membership_periods", "sum(to_seq) FROM hansard_membership_periods",
		"sum(version) FROM hansard_session_states", "sum(version) FROM hansard_app_states", "sum(version) FROM hansard_user_states",
	}
	values, pointers := make([]sql.NullString, len(sums)), make([]any, len(sums))
	for i := range sums {
		pointers[i] = &values[i]
	}
	query := "SELECT (SELECT " + strings.Join(sums, "), (SELECT ") + ")"
	if err := plain.QueryRowContext(context.WithoutCancel(t.Context()), query).Scan(pointers...); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for i, sum := range sums {
		lines = append(lines, sum+": "+values[i].String)
	}
	return strings.Join(lines, "\n")
}

func countEvents(t *testing.T, plain *sql.DB) int {
	t.Helper()
	var n int
	if err := plain.QueryRowContext(context.WithoutCancel(t.Context()), "SELECT count(*) FROM hansard_events").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
