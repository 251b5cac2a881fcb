package sessiontest

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/hansardlog/hansard/session"
)

var appendTests = []test{
	{name: "every field comes back as given", run: appendFields},
	{name: "defaults: kind message, a new UUIDv7, the clock", run: appendDefaults},
	{name: "rule 13: nil and empty are the same and come back nil", run: appendEmpty},
	{name: "rule 13: Timestamp in UTC, cut to microseconds, years 1 to 9999", run: appendTimestamps},
	{name: "rule 1: Seq and RecordedAt of a caller are ignored", run: appendIgnored},
	{name: "rule 7: joins, leaves and recalls are not appended", run: appendKinds},
	{name: "rule 7: a partial event is validated and not stored", run: appendPartial},
	{name: "rule 8: two events may bear the same ID", run: appendSameID},
	{name: "rule 10: in kind session anybody may append", run: appendAnybody},
	{name: "ErrNotMember: no such session", run: appendUnknown},
	{name: "rule 2: WithMaxPayload, exactly and over by one", with: appendMaxPayload},
}

func appendFields(t *testing.T, svc session.Service) {
	create(t, svc, session.KindSession)
	e := &session.Event{
		ID: "event-1", Kind: session.EventMessage, Author: "ana", InvocationID: "run-1", Branch: "root.child",
		Timestamp: at, IdempotencyKey: "key-1",
		StateDelta:  session.State{"k": "v", "app:n": 1, "user:list": []any{true, nil, "x"}},
		StateDelete: []string{"gone", "app:gone"},
		Format:      "adk-go/v2", Payload: json.RawMessage(`{"text": "hello"}`),
	}
	resp := ok(svc.AppendEvent(t.Context(), &session.AppendEventRequest{Key: testKey, Event: e}))(t)
	if resp.Replayed {
		t.Error("a new event is Replayed")
	}
	want := *e
	want.Seq, want.RecordedAt = 1, resp.Event.RecordedAt
	want.StateDelta = session.State{"k": "v", "app:n": num(1), "user:list": []any{true, nil, "x"}}
	same(t, "the answer", resp.Event, &want)
	s := get(t, svc)
	same(t, "Get", s.Events, []*session.Event{&want})
	same(t, "ListEvents", page(t, svc, session.ListEventsRequest{}).Events, []*session.Event{&want})
	same(t, "UpdatedAt and RecordedAt", s.UpdatedAt, want.RecordedAt)
	if s.HeadSeq != 1 {
		t.Errorf("HeadSeq is %d, want 1", s.HeadSeq)
	}
}

func appendDefaults(t *testing.T, svc session.Service) {
	create(t, svc, session.KindSession)
	before := time.Now().Truncate(time.Microsecond)
	e := add(t, svc, &session.Event{Author: "ana"})
	after := time.Now()
	if !uuidV7.MatchString(e.ID) {
		t.Errorf("ID is %q, want a UUIDv7", e.ID)
	}
	for name, got := range map[string]time.Time{"Timestamp": e.Timestamp, "RecordedAt": e.RecordedAt} {
		if got.Before(before) || got.After(after) {
			t.Errorf("%s is %v, want it between %v and %v", name, got, before, after)
		}
		same(t, name, got, got.UTC().Truncate(time.Microsecond))
	}
	want := &session.Event{
		Seq: 1, ID: e.ID, Kind: session.EventMessage, Author: "ana", Timestamp: e.Timestamp, RecordedAt: e.RecordedAt,
	}
	same(t, "the answer", e, want)
	same(t, "Get", get(t, svc).Events[0], want)
	if other := add(t, svc, &session.Event{Author: "ana"}); other.ID == e.ID {
		t.Errorf("two events have the new ID %s", e.ID)
	}
}

func appendEmpty(t *testing.T, svc session.Service) {
	create(t, svc, session.KindSession)
	e := add(t, svc, &session.Event{
		Author: "ana", StateDelta: session.State{}, StateDelete: []string{}, Payload: json.RawMessage{},
	})
	if e.StateDelta != nil || e.StateDelete != nil || e.Payload != nil {
		t.Errorf("got delta %#v, deletions %#v, payload %#v, want nil", e.StateDelta, e.StateDelete, e.Payload)
	}
	temp := add(t, svc, sets("ana", session.State{"temp:x": 1}, "temp:y"))
	if temp.StateDelta != nil || temp.StateDelete != nil {
		t.Errorf("nothing but temp keys: got delta %#v, deletions %#v, want nil", temp.StateDelta, temp.StateDelete)
	}
	same(t, "Get", get(t, svc).Events, []*session.Event{e, temp})
	same(t, "ListEvents", page(t, svc, session.ListEventsRequest{}).Events, []*session.Event{e, temp})
	if null := add(t, svc, &session.Event{Author: "ana", Payload: json.RawMessage("null")}); string(null.Payload) != "null" {
		t.Errorf("payload null comes back as %q", null.Payload)
	}
}

func appendTimestamps(t *testing.T, svc session.Service) {
	create(t, svc, session.KindSession)
	for name, tt := range yearEdges {
		e := say("ana", name)
		e.Timestamp = tt.at
		if tt.refused {
			wantInvalid(t, name, addErr(t, svc, e), "Event.Timestamp")
			continue
		}
		stored := add(t, svc, e)
		same(t, name, stored.Timestamp, tt.want)
		read := page(t, svc, session.ListEventsRequest{AfterSeq: stored.Seq - 1}).Events[0]
		same(t, name, read.Timestamp, tt.want)
	}
	early := say("ana", "before 1970")
	early.Timestamp = time.Date(1960, 1, 1, 0, 0, 0, 1999, time.FixedZone("east", 3600))
	same(t, "before 1970", add(t, svc, early).Timestamp, time.Date(1959, 12, 31, 23, 0, 0, 1000, time.UTC))
}

func appendIgnored(t *testing.T, svc session.Service) {
	create(t, svc, session.KindSession)
	e := say("ana", "hello")
	e.Seq, e.RecordedAt = 77, time.Date(20000, 1, 1, 0, 0, 0, 0, time.UTC)
	stored := add(t, svc, e)
	if stored.Seq != 1 || stored.RecordedAt.Year() == 20000 {
		t.Errorf("got Seq %d, RecordedAt %v, want the store's own", stored.Seq, stored.RecordedAt)
	}
	same(t, "Get", get(t, svc).Events, []*session.Event{stored})
}

func appendKinds(t *testing.T, svc session.Service) {
	create(t, svc, session.KindGroup, "ana")
	for _, kind := range []session.EventKind{session.EventJoin, session.EventLeave, session.EventRecall, "Message", "note"} {
		e := &session.Event{Kind: kind, Author: "ana"}
		wantInvalid(t, string(kind), addErr(t, svc, e), "Event.Kind")
		batch := &session.AppendEventsRequest{Key: testKey, Events: []*session.Event{say("ana", "a"), e}}
		wantInvalid(t, string(kind)+" in a batch", errOf(svc.AppendEvents(t.Context(), batch)), "Events[1].Kind")
	}
	wantInvalid(t, "subject", addErr(t, svc, &session.Event{Author: "ana", Subject: "ben"}), "Event.Subject")
	if head := get(t, svc).HeadSeq; head != 1 {
		t.Errorf("HeadSeq is %d, want 1: refusals take no sequence", head)
	}
}

func appendPartial(t *testing.T, svc session.Service) {
	create(t, svc, session.KindGroup, "ana")
	before := get(t, svc)
	stale := int64(40)
	for name, req := range map[string]session.AppendEventRequest{
		"member":     {Key: testKey, Event: sets("ana", session.State{"k": 1, "app:k": 1, "user:k": 1})},
		"stranger":   {Key: testKey, Event: say("eve", "hello")},
		"no session": {Key: session.Key{AppName: "app", UserID: "olga", SessionID: "none"}, Event: say("ana", "hello")},
		"stale":      {Key: testKey, ExpectedSeq: &stale, Event: say("ana", "hello")},
		"other UID":  {Key: testKey, UID: noUID, Event: say("ana", "hello")},
		"keyed":      {Key: testKey, Event: &session.Event{Author: "ana", IdempotencyKey: "k"}},
		"keyed once more, other request": {Key: testKey, Event: &session.Event{
			Author: "ana", IdempotencyKey: "k", Format: "x",
		}},
	} {
		req.Event.Partial = true
		resp := ok(svc.AppendEvent(t.Context(), &req))(t)
		if resp.Event != nil || resp.Replayed {
			t.Errorf("%s: got event %v, replayed %t, want neither", name, resp.Event, resp.Replayed)
		}
	}
	for field, e := range map[string]*session.Event{
		"Event.Author":          {Partial: true},
		"Event.Kind":            {Partial: true, Author: "ana", Kind: session.EventJoin},
		"Event.Payload":         {Partial: true, Author: "ana", Payload: json.RawMessage("{")},
		`Event.StateDelta["k"]`: {Partial: true, Author: "ana", StateDelta: session.State{"k": make(chan int)}},
	} {
		wantInvalid(t, field, addErr(t, svc, e), field)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	req := &session.AppendEventRequest{Key: testKey, Event: &session.Event{Partial: true, Author: "ana"}}
	wantErr(t, "cancelled", errOf(svc.AppendEvent(ctx, req)), context.Canceled)
	same(t, "the session", get(t, svc), before)
	keyed := &session.Event{Author: "ana", IdempotencyKey: "k", Format: "y"}
	if e := add(t, svc, keyed); e.Seq != 2 {
		t.Errorf("first message has sequence %d, want 2: partial events take none", e.Seq)
	}
}

func appendSameID(t *testing.T, svc session.Service) {
	create(t, svc, session.KindSession)
	var want []*session.Event
	for range 3 {
		want = append(want, add(t, svc, &session.Event{ID: "same", Author: "ana"}))
	}
	same(t, "sequences", seqs(want), upTo(1, 3))
	same(t, "Get", get(t, svc).Events, want)
}

func appendAnybody(t *testing.T, svc session.Service) {
	create(t, svc, session.KindSession)
	for i, author := range []string{"olga", "agent", "tool 7"} {
		if e := add(t, svc, say(author, "hello")); e.Seq != int64(i+1) || e.Author != author {
			t.Errorf("got event %d of %q, want %d of %q", e.Seq, e.Author, i+1, author)
		}
	}
}

func appendUnknown(t *testing.T, svc session.Service) {
	zero := int64(0)
	req := &session.AppendEventRequest{Key: testKey, Event: say("ana", "hello"), ExpectedSeq: &zero}
	req.Event.IdempotencyKey = "key"
	req.Event.StateDelta = session.State{"app:k": 1, "user:k": 1}
	wantNotMember(t, "AppendEvent", errOf(svc.AppendEvent(t.Context(), req)))
	batch := &session.AppendEventsRequest{Key: testKey, Events: []*session.Event{req.Event}, ExpectedSeq: &zero}
	wantNotMember(t, "AppendEvents", errOf(svc.AppendEvents(t.Context(), batch)))
	wantErr(t, "Get", errOf(svc.Get(t.Context(), &session.GetRequest{Key: testKey})), session.ErrNotFound)
	same(t, "app and user state", shared(t, svc, "app", "olga"), session.State{})
}

func appendMaxPayload(t *testing.T, newWith func(Options) session.Service) {
	svc := newWith(Options{MaxPayload: 8})
	create(t, svc, session.KindGroup, "ana")
	fits, over := json.RawMessage(`"123456"`), json.RawMessage(`"1234567"`)
	if e := add(t, svc, &session.Event{Author: "ana", Payload: fits}); string(e.Payload) != string(fits) {
		t.Errorf("payload comes back as %s, want %s", e.Payload, fits)
	}
	ok(svc.Join(t.Context(), &session.JoinRequest{Key: testKey, Member: "ben", Payload: fits}))(t)
	wantInvalid(t, "AppendEvent", addErr(t, svc, &session.Event{Author: "ana", Payload: over}), "Event.Payload")
	batch := &session.AppendEventsRequest{Key: testKey, Events: []*session.Event{{Author: "ana", Payload: over}}}
	wantInvalid(t, "AppendEvents", errOf(svc.AppendEvents(t.Context(), batch)), "Events[0].Payload")
	join := &session.JoinRequest{Key: testKey, Member: "cleo", Payload: over}
	wantInvalid(t, "Join", errOf(svc.Join(t.Context(), join)), "Payload")
	leave := &session.LeaveRequest{Key: testKey, Member: "ana", Payload: over}
	wantInvalid(t, "Leave", errOf(svc.Leave(t.Context(), leave)), "Payload")
	if head := get(t, svc).HeadSeq; head != 3 {
		t.Errorf("HeadSeq is %d, want 3", head)
	}
}
