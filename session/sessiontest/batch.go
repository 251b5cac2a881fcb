package sessiontest

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/hansardlog/hansard/session"
)

var batchTests = []test{
	{name: "rule 9: consecutive sequences, Events[i] answers request i", run: batchConsecutive},
	{name: "rule 9: all or none", run: batchAtomic},
	{name: "rule 9: the last write of a state key stands", run: batchLastWrite},
	{name: "rule 9: a batch of replays is one", run: batchReplay},
	{name: "rule 9: a mixture is ErrIdempotencyMismatch", run: batchMixture},
	{name: "rule 9: one author and key twice is refused", run: batchTwice},
	{name: "rule 7: partial events are answered with nil", run: batchPartial},
	{name: "rule 9: 1 to 10000 events", run: batchSize},
}

// addAll appends a batch to testKey.
func addAll(t *testing.T, svc session.Service, events ...*session.Event) *session.AppendEventsResponse {
	t.Helper()
	return ok(svc.AppendEvents(t.Context(), &session.AppendEventsRequest{Key: testKey, Events: events}))(t)
}

// addAllErr returns the error of appending a batch to testKey.
func addAllErr(t *testing.T, svc session.Service, events ...*session.Event) error {
	t.Helper()
	return errOf(svc.AppendEvents(t.Context(), &session.AppendEventsRequest{Key: testKey, Events: events}))
}

// withKey returns a message with an idempotency key.
func withKey(author, key string) *session.Event {
	return &session.Event{Author: author, IdempotencyKey: key, Payload: json.RawMessage(`"` + key + `"`)}
}

func batchConsecutive(t *testing.T, svc session.Service) {
	create(t, svc, session.KindSession)
	add(t, svc, say("ana", "before"))
	in := []*session.Event{keyed("ana"), say("ben", "b"), keyed("cleo"), sets("ana", session.State{"n": 1})}
	resp := addAll(t, svc, in...)
	if resp.Replayed {
		t.Error("a new batch is Replayed")
	}
	same(t, "sequences", seqs(resp.Events), upTo(2, 5))
	for i, e := range resp.Events {
		if e.Author != in[i].Author || string(e.Payload) != string(in[i].Payload) {
			t.Errorf("answer %d is %s, want that to %s", i, dump(e), dump(in[i]))
		}
	}
	s := get(t, svc)
	same(t, "Get", s.Events[1:], resp.Events)
	same(t, "ListEvents", page(t, svc, session.ListEventsRequest{AfterSeq: 1}).Events, resp.Events)
	same(t, "UpdatedAt", s.UpdatedAt, resp.Events[3].RecordedAt)
	if next := add(t, svc, say("ana", "after")); next.Seq != 6 {
		t.Errorf("the next event has sequence %d, want 6", next.Seq)
	}
}

func batchAtomic(t *testing.T, svc session.Service) {
	create(t, svc, session.KindGroup, "ana", "ben")
	check := unchanged(t, svc)
	good := func() *session.Event { return sets("ana", session.State{"k": 1, "app:k": 1, "user:k": 1}) }
	wantNotMember(t, "a stranger", addAllErr(t, svc, good(), say("eve", "b"), good()))
	wantNotMember(t, "a stranger last", addAllErr(t, svc, good(), good(), say("eve", "b")))
	wantInvalid(t, "a bad value", addAllErr(t, svc, good(), sets("ben", session.State{"k": make(chan int)})), `Events[1].StateDelta["k"]`)
	wantInvalid(t, "no author", addAllErr(t, svc, good(), good(), say("", "c")), "Events[2].Author")
	check()
	other := testKey
	other.SessionID = "none"
	req := &session.AppendEventsRequest{Key: other, Events: []*session.Event{good(), good()}}
	wantNotMember(t, "no such session", errOf(svc.AppendEvents(t.Context(), req)))
	req = &session.AppendEventsRequest{Key: testKey, UID: noUID, Events: []*session.Event{good(), good()}}
	wantNotMember(t, "another UID", errOf(svc.AppendEvents(t.Context(), req)))
	check()
}

func batchLastWrite(t *testing.T, svc session.Service) {
	createState(t, svc, session.State{"c": 0, "d": 0})
	addAll(t, svc,
		sets("x", session.State{"a": 1, "app:a": 1, "user:a": 1, "b": 1}),
		sets("y", session.State{"a": 2, "app:a": 2}, "b", "c"),
		sets("x", session.State{"c": 3, "user:a": nil}, "app:gone"),
		sets("x", session.State{"d": 4, "app:gone": 4}),
		sets("y", nil, "d"),
	)
	same(t, "state", get(t, svc).State, session.State{
		"a": num(2), "app:a": num(2), "user:a": nil, "c": num(3), "app:gone": num(4),
	})
}

func batchReplay(t *testing.T, svc session.Service) {
	create(t, svc, session.KindGroup, "ana", "ben")
	head := int64(2)
	req := &session.AppendEventsRequest{
		Key: testKey, ExpectedSeq: &head,
		Events: []*session.Event{withKey("ana", "1"), withKey("ben", "1"), withKey("ana", "2")},
	}
	first := ok(svc.AppendEvents(t.Context(), req))(t)
	before := get(t, svc)
	again := ok(svc.AppendEvents(t.Context(), req))(t)
	if !again.Replayed {
		t.Error("the repeated batch is not Replayed")
	}
	same(t, "the first answer", again.Events, first.Events)
	same(t, "the session", get(t, svc), before)
	replayed(t, "one of the batch by itself", svc, withKey("ben", "1"), first.Events[1])
	backwards := addAll(t, svc, withKey("ana", "2"), withKey("ana", "1"))
	if !backwards.Replayed {
		t.Error("a batch of known requests is not Replayed")
	}
	same(t, "answers in the order asked", seqs(backwards.Events), []int64{5, 3})
	ok(svc.Leave(t.Context(), &session.LeaveRequest{Key: testKey, Member: "ben"}))(t)
	if again := ok(svc.AppendEvents(t.Context(), req))(t); !again.Replayed {
		t.Error("after an author left: not Replayed")
	}
}

func batchMixture(t *testing.T, svc session.Service) {
	create(t, svc, session.KindGroup, "ana", "ben")
	addAll(t, svc, withKey("ana", "1"), withKey("ana", "2"))
	check := unchanged(t, svc)
	other := withKey("ana", "1")
	other.Format = "other"
	for name, events := range map[string][]*session.Event{
		"known, then new":         {withKey("ana", "1"), withKey("ana", "3")},
		"new, then known":         {withKey("ana", "3"), withKey("ana", "2")},
		"known and without a key": {withKey("ana", "1"), say("ana", "a")},
		"known key, other":        {other},
		"all known, one other":    {withKey("ana", "2"), other},
		"other, and a stranger":   {other, say("eve", "a")},
		"known of another author": {withKey("ana", "1"), withKey("ben", "1")},
		"known, with a delta":     {withKey("ana", "1"), sets("ana", session.State{"k": 1, "app:k": 1})},
	} {
		wantErr(t, name, addAllErr(t, svc, events...), session.ErrIdempotencyMismatch)
	}
	check()
	// None of the refused keys is used up.
	if resp := addAll(t, svc, withKey("ana", "3"), withKey("ben", "1")); resp.Replayed {
		t.Error("a refused mixture has stored a key")
	}
}

func batchTwice(t *testing.T, svc session.Service) {
	create(t, svc, session.KindSession)
	twice := []*session.Event{withKey("ana", "1"), say("ana", "a"), withKey("ana", "1")}
	wantInvalid(t, "author and key twice", addAllErr(t, svc, twice...), "Events[2]", "Events")
	other := withKey("ana", "1")
	other.Format = "other"
	wantInvalid(t, "author and key twice, other request", addAllErr(t, svc, withKey("ana", "1"), other), "Events[1]", "Events")
	if head := get(t, svc).HeadSeq; head != 0 {
		t.Errorf("HeadSeq is %d, want 0", head)
	}
	addAll(t, svc, withKey("ana", "1"), withKey("ben", "1"), withKey("ana", "2"), say("ana", "a"), say("ana", "a"))
	wantInvalid(t, "twice, though known", addAllErr(t, svc, withKey("ana", "1"), withKey("ana", "1")), "Events[1]", "Events")
}

func batchPartial(t *testing.T, svc session.Service) {
	create(t, svc, session.KindGroup, "ana")
	partial := func() *session.Event {
		return &session.Event{Author: "ana", Partial: true, StateDelta: session.State{"k": 1, "app:k": 1}}
	}
	resp := addAll(t, svc, partial(), withKey("ana", "1"), partial(), withKey("ana", "2"), partial())
	if len(resp.Events) != 5 || resp.Events[0] != nil || resp.Events[2] != nil || resp.Events[4] != nil {
		t.Fatalf("got %s, want nil for the partial ones", dump(resp.Events))
	}
	same(t, "sequences of the others", seqs([]*session.Event{resp.Events[1], resp.Events[3]}), upTo(2, 3))
	same(t, "state", get(t, svc).State, session.State{})
	again := addAll(t, svc, partial(), withKey("ana", "1"), partial(), withKey("ana", "2"), partial())
	if !again.Replayed {
		t.Error("the repeated batch is not Replayed")
	}
	same(t, "the first answer", again.Events, resp.Events)

	other := testKey
	other.SessionID = "none"
	eve := &session.Event{Author: "eve", Partial: true}
	none := ok(svc.AppendEvents(t.Context(), &session.AppendEventsRequest{Key: other, Events: []*session.Event{eve, eve}}))(t)
	same(t, "only partial events, no session", none, &session.AppendEventsResponse{Events: []*session.Event{nil, nil}})
	wantInvalid(t, "a bad partial event", addAllErr(t, svc, say("ana", "a"), &session.Event{Partial: true}), "Events[1].Author")
	if head := get(t, svc).HeadSeq; head != 3 {
		t.Errorf("HeadSeq is %d, want 3", head)
	}
}

func batchSize(t *testing.T, svc session.Service) {
	create(t, svc, session.KindSession)
	events := make([]*session.Event, session.MaxBatchEvents+1)
	for i := range events {
		events[i] = &session.Event{Author: "ana", IdempotencyKey: fmt.Sprint(i), Payload: json.RawMessage(fmt.Sprint(i))}
	}
	for name, batch := range map[string][]*session.Event{"nil": nil, "empty": {}, "10001": events} {
		refused(t, name, func(ctx context.Context) error {
			return errOf(svc.AppendEvents(ctx, &session.AppendEventsRequest{Key: testKey, Events: batch}))
		}, "Events")
	}
	addAll(t, svc, events[:1]...)
	resp := addAll(t, svc, events[1:]...)
	same(t, "sequences", seqs(resp.Events), upTo(2, session.MaxBatchEvents+1))
	s := get(t, svc)
	if len(s.Events) != len(events) {
		t.Fatalf("Get has %d events, want %d", len(s.Events), len(events))
	}
	for i, e := range s.Events {
		if e.Seq != int64(i+1) || string(e.Payload) != fmt.Sprint(i) {
			t.Fatalf("event %d has sequence %d and payload %s", i, e.Seq, e.Payload)
		}
	}
	repeat := events[1:full(len(events), 101)]
	if again := addAll(t, svc, repeat...); !again.Replayed || len(again.Events) != len(repeat) {
		t.Errorf("the largest batch again: %d events, replayed %t", len(again.Events), again.Replayed)
	}
}
