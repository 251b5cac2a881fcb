package sessiontest

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/hansardlog/hansard/session"
)

var idempotencyTests = []test{
	{name: "a repeated request gets the first answer and stores nothing", run: replayFirstAnswer},
	{name: "ErrIdempotencyMismatch: each part of the request counts", run: replayMismatch},
	{name: "ID, Timestamp, temp keys, order of deletions and of object names do not count", run: replayIgnored},
	{name: "P2: the key is the author's, the session's and the incarnation's", run: replayScope},
	{name: "no key: the same event twice is two events", run: replayUnkeyed},
	{name: "rule 8: a replay comes before membership and ExpectedSeq", run: replayOrder},
	{name: "a replay has no effects: state stays as it is now", run: replayState},
	{name: "a refused request does not use up its key", run: replayRefused},
	{name: "joins and leaves: the first answer, even if much has changed", run: replayMembership},
	{name: "joins and leaves: ErrIdempotencyMismatch", run: replayMembershipMismatch},
}

// keyed returns a full request under the key "key".
func keyed(author string) *session.Event {
	return &session.Event{
		ID: "first", Author: author, InvocationID: "run", Branch: "root", Timestamp: at, IdempotencyKey: "key",
		StateDelta:  session.State{"a": json.RawMessage(`{"x":1,"y":[2.0]}`), "app:b": 1, "user:c": nil},
		StateDelete: []string{"d", "app:e"}, Format: "f", Payload: json.RawMessage(`{"p": 1}`),
	}
}

// replayed repeats a request on testKey and checks for the first answer.
func replayed(t *testing.T, what string, svc session.Service, e, first *session.Event) {
	t.Helper()
	resp, err := svc.AppendEvent(t.Context(), &session.AppendEventRequest{Key: testKey, Event: e})
	if err != nil {
		t.Errorf("%s: got error %v, want a replay", what, err)
		return
	}
	if !resp.Replayed {
		t.Errorf("%s: stored as sequence %d, want a replay", what, resp.Event.Seq)
	}
	same(t, what, resp.Event, first)
}

func replayFirstAnswer(t *testing.T, svc session.Service) {
	create(t, svc, session.KindSession)
	first := add(t, svc, keyed("ana"))
	before := get(t, svc)
	for i := range 3 {
		replayed(t, fmt.Sprint("repetition ", i), svc, keyed("ana"), first)
	}
	same(t, "the session", get(t, svc), before)
	if next := add(t, svc, say("ana", "next")); next.Seq != 2 {
		t.Errorf("the next event has sequence %d, want 2", next.Seq)
	}
	replayed(t, "after another event", svc, keyed("ana"), first)
}

func replayMismatch(t *testing.T, svc session.Service) {
	create(t, svc, session.KindSession)
	first := add(t, svc, keyed("ana"))
	before := get(t, svc)
	for name, change := range map[string]func(e *session.Event){
		"invocation":         func(e *session.Event) { e.InvocationID = "run2" },
		"branch":             func(e *session.Event) { e.Branch = "" },
		"format":             func(e *session.Event) { e.Format = "F" },
		"payload":            func(e *session.Event) { e.Payload = json.RawMessage(`{"p": 2}`) },
		"no payload":         func(e *session.Event) { e.Payload = nil },
		"white space":        func(e *session.Event) { e.Payload = json.RawMessage(`{"p":1}`) },
		"value":              func(e *session.Event) { e.StateDelta["app:b"] = 2 },
		"number as written":  func(e *session.Event) { e.StateDelta["app:b"] = json.Number("1.0") },
		"number as string":   func(e *session.Event) { e.StateDelta["app:b"] = "1" },
		"number inside":      func(e *session.Event) { e.StateDelta["a"] = json.RawMessage(`{"x":1,"y":[2]}`) },
		"null and absent":    func(e *session.Event) { delete(e.StateDelta, "user:c") },
		"one more key":       func(e *session.Event) { e.StateDelta["z"] = 1 },
		"another scope":      func(e *session.Event) { delete(e.StateDelta, "app:b"); e.StateDelta["b"] = 1 },
		"no delta":           func(e *session.Event) { e.StateDelta = nil },
		"one more deletion":  func(e *session.Event) { e.StateDelete = append(e.StateDelete, "z") },
		"other deletion":     func(e *session.Event) { e.StateDelete = []string{"d", "app:f"} },
		"no deletions":       func(e *session.Event) { e.StateDelete = nil },
		"deletion as null":   func(e *session.Event) { e.StateDelete = []string{"app:e"}; e.StateDelta["d"] = nil },
		"format into branch": func(e *session.Event) { e.Branch, e.Format = "rootf", "" },
	} {
		e := keyed("ana")
		change(e)
		wantErr(t, name, addErr(t, svc, e), session.ErrIdempotencyMismatch)
	}
	same(t, "the session", get(t, svc), before)
	replayed(t, "the request itself", svc, keyed("ana"), first)
}

func replayIgnored(t *testing.T, svc session.Service) {
	create(t, svc, session.KindSession)
	first := add(t, svc, keyed("ana"))
	for name, change := range map[string]func(e *session.Event){
		"ID":                 func(e *session.Event) { e.ID = "second" },
		"no ID":              func(e *session.Event) { e.ID = "" },
		"Timestamp":          func(e *session.Event) { e.Timestamp = at.Add(time.Hour) },
		"no Timestamp":       func(e *session.Event) { e.Timestamp = time.Time{} },
		"Kind by name":       func(e *session.Event) { e.Kind = session.EventMessage },
		"Seq and RecordedAt": func(e *session.Event) { e.Seq, e.RecordedAt = 9, at },
		"temp keys":          func(e *session.Event) { e.StateDelta["temp:x"] = make(chan int) },
		"temp deletions":     func(e *session.Event) { e.StateDelete = []string{"temp:y", "d", "app:e", "d"} },
		"order of deletions": func(e *session.Event) { e.StateDelete = []string{"app:e", "d"} },
		"order of names":     func(e *session.Event) { e.StateDelta["a"] = json.RawMessage(` {"y":[ 2.0 ],"x":1}`) },
		"Go types": func(e *session.Event) {
			e.StateDelta["a"] = map[string]any{"y": []json.Number{"2.0"}, "x": uint8(1)}
			e.StateDelta["user:c"] = []string(nil)
		},
	} {
		e := keyed("ana")
		change(e)
		replayed(t, name, svc, e, first)
	}
	// Nil and empty are the same request.
	bare := &session.Event{Author: "ana", IdempotencyKey: "bare"}
	first = add(t, svc, bare)
	replayed(t, "empty", svc, &session.Event{
		Author: "ana", IdempotencyKey: "bare", StateDelta: session.State{}, StateDelete: []string{}, Payload: json.RawMessage{},
	}, first)
	if head := get(t, svc).HeadSeq; head != 2 {
		t.Errorf("HeadSeq is %d, want 2", head)
	}
}

func replayScope(t *testing.T, svc session.Service) {
	s := create(t, svc, session.KindSession)
	first := add(t, svc, keyed("ana"))
	if e := add(t, svc, keyed("ben")); e.Seq != 2 {
		t.Errorf("the same key of another author: sequence %d, want 2", e.Seq)
	}
	for _, name := range []string{"Key", "key ", "kéy", "ke"} {
		e := keyed("ana")
		e.IdempotencyKey = name
		if resp := ok(svc.AppendEvent(t.Context(), &session.AppendEventRequest{Key: testKey, Event: e}))(t); resp.Replayed {
			t.Errorf("key %q is taken for %q", name, "key")
		}
	}
	other := testKey
	other.SessionID = "s2"
	ok(svc.Create(t.Context(), &session.CreateRequest{Key: other}))(t)
	resp := ok(svc.AppendEvent(t.Context(), &session.AppendEventRequest{Key: other, Event: keyed("ana")}))(t)
	if resp.Replayed || resp.Event.Seq != 1 {
		t.Errorf("the same key in another session: sequence %d, replayed %t", resp.Event.Seq, resp.Replayed)
	}
	with := ok(svc.AppendEvent(t.Context(), &session.AppendEventRequest{Key: testKey, UID: s.UID, Event: keyed("ana")}))(t)
	if !with.Replayed {
		t.Error("naming the UID makes it another request")
	}
	same(t, "the first answer", with.Event, first)
}

func replayUnkeyed(t *testing.T, svc session.Service) {
	create(t, svc, session.KindSession)
	for i := range 3 {
		e := keyed("ana")
		e.IdempotencyKey = ""
		resp := ok(svc.AppendEvent(t.Context(), &session.AppendEventRequest{Key: testKey, Event: e}))(t)
		if resp.Replayed || resp.Event.Seq != int64(i+1) {
			t.Errorf("got sequence %d, replayed %t, want %d and false", resp.Event.Seq, resp.Replayed, i+1)
		}
	}
}

func replayOrder(t *testing.T, svc session.Service) {
	create(t, svc, session.KindGroup, "ana", "ben")
	head := int64(2)
	req := &session.AppendEventRequest{Key: testKey, Event: keyed("ana"), ExpectedSeq: &head}
	first := ok(svc.AppendEvent(t.Context(), req))(t).Event
	again := ok(svc.AppendEvent(t.Context(), req))(t)
	if !again.Replayed {
		t.Error("the head moved by the request itself: not a replay")
	}
	same(t, "after the head moved", again.Event, first)
	ok(svc.Leave(t.Context(), &session.LeaveRequest{Key: testKey, Member: "ana"}))(t)
	again = ok(svc.AppendEvent(t.Context(), req))(t)
	if !again.Replayed {
		t.Error("the author has left: not a replay")
	}
	same(t, "after the author left", again.Event, first)

	other := keyed("ana")
	other.Format = "other"
	wantErr(t, "other request of a former member", addErr(t, svc, other), session.ErrIdempotencyMismatch)
	fresh := keyed("ana")
	fresh.IdempotencyKey = "fresh"
	wantNotMember(t, "new request of a former member", errOf(svc.AppendEvent(t.Context(),
		&session.AppendEventRequest{Key: testKey, Event: fresh, ExpectedSeq: &head})))
	fresh.Author = "ben"
	wantErr(t, "member with a stale ExpectedSeq", errOf(svc.AppendEvent(t.Context(),
		&session.AppendEventRequest{Key: testKey, Event: fresh, ExpectedSeq: &head})), session.ErrStale)
	wantNotMember(t, "another incarnation", errOf(svc.AppendEvent(t.Context(),
		&session.AppendEventRequest{Key: testKey, UID: noUID, Event: keyed("ana")})))
}

func replayState(t *testing.T, svc session.Service) {
	createState(t, svc, session.State{"d": 1})
	first := add(t, svc, keyed("ana"))
	add(t, svc, sets("ben", session.State{"a": "changed", "d": "back", "app:b": "changed", "user:c": "changed"}))
	before := get(t, svc)
	replayed(t, "the request", svc, keyed("ana"), first)
	same(t, "the session", get(t, svc), before)
}

func replayRefused(t *testing.T, svc session.Service) {
	create(t, svc, session.KindGroup, "ana")
	stale := int64(9)
	req := &session.AppendEventRequest{Key: testKey, Event: keyed("ana"), ExpectedSeq: &stale}
	wantErr(t, "stale", errOf(svc.AppendEvent(t.Context(), req)), session.ErrStale)
	wantNotMember(t, "stranger", addErr(t, svc, keyed("eve")))
	ok(svc.Join(t.Context(), &session.JoinRequest{Key: testKey, Member: "eve"}))(t)
	for i, author := range []string{"ana", "eve"} {
		e := keyed(author)
		e.Format = "changed since"
		if stored := add(t, svc, e); stored.Seq != int64(i+3) {
			t.Errorf("%s: sequence %d, want %d", author, stored.Seq, i+3)
		}
	}
}
