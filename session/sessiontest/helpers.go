package sessiontest

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hansardlog/hansard/session"
)

// Most subtests need one session: every service is fresh, so all use this key.
var testKey = session.Key{AppName: "app", UserID: "olga", SessionID: "s1"}

// noUID is a UUID that no store made.
const noUID = "00000000-0000-4000-8000-000000000000"

// full returns n, or the smaller count with -short.
func full(n, short int) int {
	if testing.Short() {
		return short
	}
	return n
}

// ok returns the value of a call that must succeed: ok(svc.Get(ctx, req))(t).
func ok[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatalf("got error %v", err)
		}
		return v
	}
}

// errOf returns the error of a call: errOf(svc.Get(ctx, req)).
func errOf[T any](_ T, err error) error { return err }

// wantErr checks that err matches the sentinel.
func wantErr(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: got error %v, want %v", what, err, want)
	}
	if code := session.Code(want); session.Code(err) != code {
		t.Errorf("%s: code of %v is %q, want %q", what, err, session.Code(err), code)
	}
}

// wantNotMember checks for the very value ErrNotMember: a wrapped one could
// tell a stranger whether the session exists.
func wantNotMember(t *testing.T, what string, err error) {
	t.Helper()
	if err != session.ErrNotMember { //nolint:errorlint // the same value is the contract
		t.Errorf("%s: got error %v, want the value ErrNotMember itself", what, err)
	}
}

// wantInvalid checks for an *ArgumentError that names the field, or a part of
// it: "Members" takes Members[1] too. Several fields are alternatives; none
// means any.
func wantInvalid(t *testing.T, what string, err error, fields ...string) {
	t.Helper()
	wantErr(t, what, err, session.ErrInvalidArgument)
	var arg *session.ArgumentError
	if !errors.As(err, &arg) {
		t.Errorf("%s: got error %v, want an *ArgumentError", what, err)
		return
	}
	if arg.Field == "" || arg.Reason == "" {
		t.Errorf("%s: %#v does not name field and reason", what, arg)
	}
	for _, field := range fields {
		rest, found := strings.CutPrefix(arg.Field, field)
		if found && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return
		}
	}
	if len(fields) > 0 {
		t.Errorf("%s: error %v names field %q, want %s", what, err, arg.Field, strings.Join(fields, " or "))
	}
}

// same checks that got is deeply equal to want, nil and empty told apart.
func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got\n  %s\nwant\n  %s", what, dump(got), dump(want))
	}
}

func dump(v any) string {
	plain := fmt.Sprintf("%#v", v)
	if data, err := json.Marshal(v); err == nil {
		plain = string(data) + "  " + plain
	}
	if len(plain) > 4000 {
		plain = plain[:4000] + " ..."
	}
	return plain
}

// create creates a session of the kind under testKey.
func create(t *testing.T, svc session.Service, kind session.Kind, members ...string) *session.Session {
	t.Helper()
	return ok(svc.Create(t.Context(), &session.CreateRequest{Key: testKey, Kind: kind, Members: members}))(t).Session
}

// createState creates a session of kind session with initial state.
func createState(t *testing.T, svc session.Service, state session.State) *session.Session {
	t.Helper()
	return ok(svc.Create(t.Context(), &session.CreateRequest{Key: testKey, State: state}))(t).Session
}

// add appends an event to testKey.
func add(t *testing.T, svc session.Service, e *session.Event) *session.Event {
	t.Helper()
	return ok(svc.AppendEvent(t.Context(), &session.AppendEventRequest{Key: testKey, Event: e}))(t).Event
}

// addErr returns the error of appending an event to testKey.
func addErr(t *testing.T, svc session.Service, e *session.Event) error {
	t.Helper()
	return errOf(svc.AppendEvent(t.Context(), &session.AppendEventRequest{Key: testKey, Event: e}))
}

// say returns a message with a payload.
func say(author, text string) *session.Event {
	payload, _ := json.Marshal(text)
	return &session.Event{Author: author, Payload: payload}
}

// sets returns a message with a state delta.
func sets(author string, delta session.State, deletions ...string) *session.Event {
	return &session.Event{Author: author, StateDelta: delta, StateDelete: deletions}
}

// get reads testKey whole.
func get(t *testing.T, svc session.Service) *session.Session {
	t.Helper()
	return view(t, svc, session.GetRequest{})
}

// view reads testKey as the request says.
func view(t *testing.T, svc session.Service, req session.GetRequest) *session.Session {
	t.Helper()
	req.Key = testKey
	return ok(svc.Get(t.Context(), &req))(t).Session
}

// page reads a page of the events of testKey.
func page(t *testing.T, svc session.Service, req session.ListEventsRequest) *session.ListEventsResponse {
	t.Helper()
	req.Key = testKey
	return ok(svc.ListEvents(t.Context(), &req))(t)
}

// shared reads the shared state of an app and, if not empty, one of its users.
func shared(t *testing.T, svc session.Service, app, user string) session.State {
	t.Helper()
	return ok(svc.GetState(t.Context(), &session.GetStateRequest{AppName: app, UserID: user}))(t).State
}

// seqs returns the sequences of events.
func seqs(events []*session.Event) []int64 {
	var s []int64
	for _, e := range events {
		s = append(s, e.Seq)
	}
	return s
}

// upTo returns the numbers from first to last.
func upTo(first, last int64) []int64 {
	var s []int64
	for n := first; n <= last; n++ {
		s = append(s, n)
	}
	return s
}

// num is a number as State returns it.
func num(n int) json.Number { return json.Number(fmt.Sprint(n)) }

// at is a time for fields that are data.
var at = time.Date(2024, 2, 29, 12, 0, 0, 123456000, time.UTC)

// together runs f(0) to f(n-1) at the same time and waits for them. In f
// report with t.Error: Fatal is for the test's goroutine.
func together(n int, f func(i int)) {
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-start
			f(i)
		})
	}
	close(start)
	wg.Wait()
}
