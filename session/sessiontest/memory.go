package sessiontest

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/hansardlog/hansard/session"
)

var memoryTests = []test{
	{name: "P9: requests are never modified, accepted or refused", run: memoryInputs},
	{name: "P9: changing a request after the call changes nothing", run: memoryAfterwards},
	{name: "P9: changing what is returned changes nothing", run: memoryReturned},
	{name: "P9: two answers share no memory", run: memoryAnswers},
}

// richEvent is an event with everything that can be shared or modified.
func richEvent() *session.Event {
	e := keyed("ana")
	e.Timestamp = time.Date(2024, 5, 6, 7, 8, 9, 123456789, time.FixedZone("west", -3600))
	e.StateDelta = session.State{
		"deep": map[string]any{"list": []any{map[string]any{"x": "y"}, json.Number("1")}}, "raw": json.RawMessage(`{"a": 1}`),
		"app:list": []any{"a", "b"}, "user:map": map[string]any{"k": "v"}, "temp:x": []any{"kept"},
	}
	e.StateDelete = []string{"z", "temp:y", "a", "z"}
	return e
}

func memoryInputs(t *testing.T, svc session.Service) {
	ctx := t.Context()
	stale := int64(77)
	unchangedBy := func(what string, build func() any, call func(req any) error, wanted error) {
		t.Helper()
		req := build()
		if err := call(req); wanted == nil && err != nil {
			t.Errorf("%s: got error %v", what, err)
		} else if wanted != nil {
			wantErr(t, what, err, wanted)
		}
		same(t, what+": the request afterwards", req, build())
	}
	unchangedBy("Create", func() any {
		return &session.CreateRequest{Key: testKey, Kind: session.KindGroup, Members: []string{"zoe", "ana"}, State: richEvent().StateDelta, CreatedAt: richEvent().Timestamp}
	}, func(req any) error { return errOf(svc.Create(ctx, req.(*session.CreateRequest))) }, nil)
	unchangedBy("Create without an ID", func() any {
		return &session.CreateRequest{Key: session.Key{AppName: "app", UserID: "olga"}}
	}, func(req any) error { return errOf(svc.Create(ctx, req.(*session.CreateRequest))) }, nil)
	appendOne := func(req any) error { return errOf(svc.AppendEvent(ctx, req.(*session.AppendEventRequest))) }
	one := func() any { return &session.AppendEventRequest{Key: testKey, Event: richEvent()} }
	unchangedBy("AppendEvent", one, appendOne, nil)
	unchangedBy("AppendEvent, replay", one, appendOne, nil)
	unchangedBy("AppendEvent, bare", func() any {
		return &session.AppendEventRequest{Key: testKey, Event: &session.Event{Author: "ana"}}
	}, appendOne, nil)
	unchangedBy("AppendEvent, partial", func() any {
		e := richEvent()
		e.Partial = true
		return &session.AppendEventRequest{Key: testKey, Event: e}
	}, appendOne, nil)
	unchangedBy("AppendEvent, stale", func() any {
		e := richEvent()
		e.IdempotencyKey = "other"
		return &session.AppendEventRequest{Key: testKey, Event: e, ExpectedSeq: &stale}
	}, appendOne, session.ErrStale)
	unchangedBy("AppendEvent, mismatch", func() any {
		e := richEvent()
		e.Format = "other"
		return &session.AppendEventRequest{Key: testKey, Event: e}
	}, appendOne, session.ErrIdempotencyMismatch)
	unchangedBy("AppendEvent, invalid", func() any {
		e := richEvent()
		e.Format = "\n"
		return &session.AppendEventRequest{Key: testKey, Event: e}
	}, appendOne, session.ErrInvalidArgument)
	unchangedBy("AppendEvents", func() any {
		e := richEvent()
		e.IdempotencyKey = "batch"
		return &session.AppendEventsRequest{Key: testKey, Events: []*session.Event{e, {Author: "ana", Partial: true}, {Author: "ana"}}}
	}, func(req any) error { return errOf(svc.AppendEvents(ctx, req.(*session.AppendEventsRequest))) }, nil)
	unchangedBy("UpdateState", func() any {
		return &session.UpdateStateRequest{AppName: "app", UserID: "olga", Delta: session.State{"app:k": []any{"a"}}, Delete: []string{"user:b", "app:a", "user:b"}}
	}, func(req any) error { return errOf(svc.UpdateState(ctx, req.(*session.UpdateStateRequest))) }, nil)
	unchangedBy("Get", func() any {
		return &session.GetRequest{Key: testKey, After: richEvent().Timestamp, NumRecentEvents: 1}
	}, func(req any) error { return errOf(svc.Get(ctx, req.(*session.GetRequest))) }, nil)
	unchangedBy("List", func() any { return &session.ListRequest{AppName: "app"} },
		func(req any) error { return errOf(svc.List(ctx, req.(*session.ListRequest))) }, nil)
	unchangedBy("ListEvents", func() any { return &session.ListEventsRequest{Key: testKey} },
		func(req any) error { return errOf(svc.ListEvents(ctx, req.(*session.ListEventsRequest))) }, nil)
	unchangedBy("Join", func() any {
		return &session.JoinRequest{Key: testKey, Member: "ben", Payload: json.RawMessage(` "hi" `)}
	}, func(req any) error { return errOf(svc.Join(ctx, req.(*session.JoinRequest))) }, nil)
}

// scribble overwrites everything that can be reached from an event.
func scribble(e *session.Event) {
	for i := range e.Payload {
		e.Payload[i] = '#'
	}
	for i := range e.StateDelete {
		e.StateDelete[i] = "scribbled"
	}
	scribbleValue(map[string]any(e.StateDelta))
	payload, deletions, delta := e.Payload, e.StateDelete, e.StateDelta
	*e = session.Event{Seq: -1, Author: "scribbled", Payload: payload, StateDelete: deletions, StateDelta: delta}
}

func scribbleValue(v any) {
	switch v := v.(type) {
	case map[string]any:
		for key, inner := range v {
			scribbleValue(inner)
			v[key] = "scribbled"
		}
		if v != nil {
			v["scribbled"] = true
		}
	case []any:
		for i, inner := range v {
			scribbleValue(inner)
			v[i] = "scribbled"
		}
	case json.RawMessage:
		for i := range v {
			v[i] = '#'
		}
	}
}

func scribbleSession(s *session.Session) {
	scribbleValue(map[string]any(s.State))
	for i, e := range s.Events {
		scribble(e)
		s.Events[i] = nil
	}
	*s = session.Session{UID: "scribbled", HeadSeq: -1}
}

func memoryAfterwards(t *testing.T, svc session.Service) {
	initial := session.State{"deep0": map[string]any{"x": []any{"y"}}, "app:raw": json.RawMessage(`[1]`)}
	members := []string{"zoe", "ana"}
	ok(svc.Create(t.Context(), &session.CreateRequest{Key: testKey, Kind: session.KindGroup, Members: members, State: initial}))(t)
	one, two, three := richEvent(), richEvent(), json.RawMessage(`"hello"`)
	two.IdempotencyKey = "two"
	add(t, svc, one)
	events := []*session.Event{two}
	addAll(t, svc, events...)
	ok(svc.Join(t.Context(), &session.JoinRequest{Key: testKey, Member: "ben", Payload: three}))(t)
	delta := session.State{"app:deep": map[string]any{"x": []any{"y"}}}
	update(t, svc, "app", "", delta)
	before := get(t, svc)

	scribbleValue(map[string]any(initial))
	scribbleValue(map[string]any(delta))
	members[0], three[1] = "scribbled", '#'
	scribble(one)
	scribble(two)
	events[0] = nil
	same(t, "the session", get(t, svc), before)
	if string(before.Events[4].Payload) != `"hello"` || string(before.Events[2].Payload) != string(keyed("ana").Payload) {
		t.Errorf("payloads are %s and %s", before.Events[4].Payload, before.Events[2].Payload)
	}
	replayed(t, "the first request", svc, richEvent(), before.Events[2])
}

func memoryReturned(t *testing.T, svc session.Service) {
	created := ok(svc.Create(t.Context(), &session.CreateRequest{
		Key: testKey, Kind: session.KindGroup, Members: []string{"zoe", "ana"}, State: richEvent().StateDelta,
	}))(t).Session
	stored := add(t, svc, richEvent())
	batch := addAll(t, svc, withKey("ana", "b"), sets("ana", richEvent().StateDelta))
	joined := ok(svc.Join(t.Context(), &session.JoinRequest{Key: testKey, Member: "ben", Payload: json.RawMessage(`{"a":1}`)}))(t)
	updated := update(t, svc, "app", "olga", session.State{"app:deep": []any{map[string]any{"x": "y"}}})

	look := func() []any {
		return []any{
			get(t, svc), page(t, svc, session.ListEventsRequest{}), view(t, svc, session.GetRequest{Viewer: "ben"}),
			list(t, svc, session.ListRequest{AppName: "app", WithState: true}), shared(t, svc, "app", "ana"),
			members(t, svc, session.ListMembersRequest{History: true}),
		}
	}
	before, again := look(), look()
	scribbleSession(created)
	scribble(stored)
	scribble(batch.Events[0])
	scribble(batch.Events[1])
	scribble(joined.Event)
	scribbleValue(map[string]any(updated))
	same(t, "after changing what writes returned", look(), before)

	scribbleSession(again[0].(*session.Session))
	for _, e := range again[1].(*session.ListEventsResponse).Events {
		scribble(e)
	}
	scribbleSession(again[2].(*session.Session))
	for _, s := range again[3].(*session.ListResponse).Sessions {
		scribbleSession(s)
	}
	scribbleValue(map[string]any(again[4].(session.State)))
	periods := again[5].([]session.Period)
	for i := range periods {
		periods[i] = session.Period{Member: "scribbled"}
	}
	same(t, "after changing what reads returned", look(), before)
	again0 := ok(svc.AppendEvent(t.Context(), &session.AppendEventRequest{Key: testKey, Event: richEvent()}))(t)
	same(t, "the first answer", again0.Event, before[0].(*session.Session).Events[2])
	scribble(again0.Event)
	same(t, "after changing a replay", look(), before)
}

func memoryAnswers(t *testing.T, svc session.Service) {
	create(t, svc, session.KindGroup, "ana")
	first := add(t, svc, richEvent())
	reads := []*session.Event{
		ok(svc.AppendEvent(t.Context(), &session.AppendEventRequest{Key: testKey, Event: richEvent()}))(t).Event,
		get(t, svc).Events[1], get(t, svc).Events[1], page(t, svc, session.ListEventsRequest{}).Events[1],
	}
	want := get(t, svc).Events[1]
	for i, read := range reads {
		same(t, "the event", read, want)
		scribble(read)
		for _, later := range reads[i+1:] {
			same(t, "the event after another answer was changed", later, want)
		}
	}
	same(t, "the event of the append", first, want)
	// State and the delta that set it are not the same memory either.
	s := get(t, svc)
	scribble(s.Events[1])
	same(t, "state beside a changed event", s.State, get(t, svc).State)
}
