package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hansardlog/hansard/session"
	"github.com/hansardlog/hansard/session/inmemory"
)

var key = session.Key{AppName: "travel", UserID: "olga", SessionID: "lisbon"}

// must keeps the examples short: a program handles its errors.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func Example() {
	ctx := context.Background()
	svc := inmemory.New()
	must(svc.Create(ctx, &session.CreateRequest{Key: key}))
	must(svc.AppendEvent(ctx, &session.AppendEventRequest{Key: key, Event: &session.Event{
		Author: "olga", Payload: json.RawMessage(`"a window seat, please"`),
	}}))
	must(svc.AppendEvent(ctx, &session.AppendEventRequest{Key: key, Event: &session.Event{
		Author:     "agent",
		StateDelta: session.State{"seat": "12A", "user:likes": "window"},
		Payload:    json.RawMessage(`"booked 12A"`),
	}}))
	s := must(svc.Get(ctx, &session.GetRequest{Key: key})).Session
	for _, e := range s.Events {
		fmt.Println(e.Seq, e.Author, string(e.Payload))
	}
	fmt.Println(s.State["seat"], s.State["user:likes"])
	// Output:
	// 1 olga "a window seat, please"
	// 2 agent "booked 12A"
	// 12A window
}

// A retry after a lost reply bears the same idempotency key and gets the first
// answer.
func ExampleLog_idempotency() {
	ctx := context.Background()
	svc := inmemory.New()
	must(svc.Create(ctx, &session.CreateRequest{Key: key}))
	req := &session.AppendEventRequest{Key: key, Event: &session.Event{Author: "olga", IdempotencyKey: "request-17"}}
	for range 2 {
		resp := must(svc.AppendEvent(ctx, req))
		fmt.Println(resp.Event.Seq, resp.Replayed)
	}
	// Output:
	// 1 false
	// 1 true
}

// ExpectedSeq lets an append fail that is based on an outdated read.
func ExampleStaleError() {
	ctx := context.Background()
	svc := inmemory.New()
	s := must(svc.Create(ctx, &session.CreateRequest{Key: key})).Session
	e := &session.Event{Author: "agent"}
	must(svc.AppendEvent(ctx, &session.AppendEventRequest{Key: key, Event: e}))

	_, err := svc.AppendEvent(ctx, &session.AppendEventRequest{Key: key, Event: e, ExpectedSeq: &s.HeadSeq})
	var stale *session.StaleError
	if errors.As(err, &stale) {
		fmt.Println("expected", stale.Expected, "have", stale.Head, session.Code(err))
	}
	// Output: expected 0 have 1 STALE
}

func ExampleGet() {
	state := session.State{"order": json.Number("9007199254740993"), "seats": []any{"12A", "12B"}}
	fmt.Println(session.Get[int64](state, "order"))
	fmt.Println(session.Get[[]string](state, "seats"))
	_, err := session.Get[float64](state, "order") // not exact in a float64
	fmt.Println(session.Code(err))
	_, err = session.Get[string](state, "gate")
	fmt.Println(session.Code(err))
	// Output:
	// 9007199254740993 <nil>
	// [12A 12B] <nil>
	// INVALID_ARGUMENT
	// NOT_FOUND
}

func ExampleAllEvents() {
	ctx := context.Background()
	svc := inmemory.New()
	must(svc.Create(ctx, &session.CreateRequest{Key: key}))
	for i := range 5 {
		must(svc.AppendEvent(ctx, &session.AppendEventRequest{Key: key, Event: &session.Event{
			Author: "agent", Payload: json.RawMessage(fmt.Sprint(i)),
		}}))
	}
	for e, err := range session.AllEvents(ctx, svc, session.ListEventsRequest{Key: key, AfterSeq: 2, Limit: 2}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(e.Seq, string(e.Payload))
	}
	// Output:
	// 3 2
	// 4 3
	// 5 4
}

// Members see the log from when they joined until they left.
func ExampleMembership() {
	ctx := context.Background()
	svc := inmemory.New()
	must(svc.Create(ctx, &session.CreateRequest{Key: key, Kind: session.KindGroup, Members: []string{"ana"}}))
	must(svc.AppendEvent(ctx, &session.AppendEventRequest{Key: key, Event: &session.Event{Author: "ana"}}))
	must(svc.Join(ctx, &session.JoinRequest{Key: key, Member: "ben", Actor: "ana"}))
	s := must(svc.Get(ctx, &session.GetRequest{Key: key, Viewer: "ben"})).Session
	for _, e := range s.Events {
		fmt.Println("ben sees", e.Seq, e.Kind, e.Subject)
	}
	_, err := svc.Get(ctx, &session.GetRequest{Key: key, Viewer: "eve"})
	fmt.Println(session.Code(err))
	// Output:
	// ben sees 3 join ben
	// NOT_MEMBER
}
