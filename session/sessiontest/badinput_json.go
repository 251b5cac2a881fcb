package sessiontest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hansardlog/hansard/session"
)

func badPayload(t *testing.T, svc session.Service) {
	create(t, svc, session.KindGroup, "ana")
	check := unchanged(t, svc)
	for name, text := range map[string]string{
		"blank": " ", "open": `{"a":`, "two values": `{} {}`, "single quotes": `{'a':1}`, "comment": `1 // one`,
		"NaN": `NaN`, "leading zero": `01`, "trailing comma": `[1,]`, "byte order mark": "\ufeff{}",
		"raw NUL": "\"\x00\"", "raw control character": "\"a\nb\"", "bad escape": `"\x"`, "half an escape": `"\u00"`,
		"invalid UTF-8 in a string": "\"\xff\"", "invalid UTF-8 in a name": "{\"\xc3\":1}", "invalid UTF-8 behind": "1\xff",
		"too deep": strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001),
	} {
		payload := json.RawMessage(text)
		refused(t, "AppendEvent, "+name, func(ctx context.Context) error {
			return errOf(svc.AppendEvent(ctx, &session.AppendEventRequest{Key: testKey, Event: &session.Event{Author: "ana", Payload: payload}}))
		}, "Event.Payload")
		refused(t, "AppendEvents, "+name, func(ctx context.Context) error {
			return errOf(svc.AppendEvents(ctx, &session.AppendEventsRequest{
				Key: testKey, Events: []*session.Event{say("ana", "a"), {Author: "ana", Payload: payload}},
			}))
		}, "Events[1].Payload")
		refused(t, "Join, "+name, func(ctx context.Context) error {
			return errOf(svc.Join(ctx, &session.JoinRequest{Key: testKey, Member: "ben", Payload: payload}))
		}, "Payload")
		refused(t, "Leave, "+name, func(ctx context.Context) error {
			return errOf(svc.Leave(ctx, &session.LeaveRequest{Key: testKey, Member: "ana", Payload: payload}))
		}, "Payload")
	}
	check()
}

// The default limits, 16 MiB for an event and 64 MiB for a batch: what is
// refused costs nothing, what is accepted is stored whole.
func badPayloadSize(t *testing.T, svc session.Service) {
	create(t, svc, session.KindSession)
	fits := json.RawMessage(`"` + strings.Repeat("x", session.DefaultMaxPayload-2) + `"`)
	over := json.RawMessage(`"` + strings.Repeat("x", session.DefaultMaxPayload-1) + `"`)
	refused(t, "one byte over", func(ctx context.Context) error {
		return errOf(svc.AppendEvent(ctx, &session.AppendEventRequest{Key: testKey, Event: &session.Event{Author: "ana", Payload: over}}))
	}, "Event.Payload")
	var batch []*session.Event
	for range session.MaxBatchPayload / session.DefaultMaxPayload {
		batch = append(batch, &session.Event{Author: "ana", Payload: fits})
	}
	wantInvalid(t, "batch, one byte over", addAllErr(t, svc, append(batch[:len(batch):len(batch)],
		&session.Event{Author: "ana", Payload: json.RawMessage("1")})...), "Events")
	if head := get(t, svc).HeadSeq; head != 0 {
		t.Errorf("HeadSeq after refusals is %d, want 0", head)
	}
	batch = batch[:full(len(batch), 1)]
	if stored := addAll(t, svc, batch...).Events; len(stored) != len(batch) {
		t.Errorf("the largest batch: %d events stored, want %d", len(stored), len(batch))
	}
	last := page(t, svc, session.ListEventsRequest{Descending: true, Limit: 1}).Events[0]
	if string(last.Payload) != string(fits) {
		t.Errorf("the largest payload comes back with %d bytes, or others, want %d", len(last.Payload), len(fits))
	}
}

// failing is a value that refuses to be encoded.
type failing struct{}

func (failing) MarshalJSON() ([]byte, error) { return nil, errors.New("not today") }

// plainText is a value that encodes itself as text.
type plainText string

func (p plainText) MarshalText() ([]byte, error) { return []byte(p), nil }

func badValues(t *testing.T, svc session.Service) {
	create(t, svc, session.KindGroup, "ana")
	var deep any = 1
	for range 10_001 {
		deep = []any{deep}
	}
	cycle := map[string]any{}
	cycle["self"] = cycle
	type named struct{ Name string }
	values := map[string]any{
		"channel": make(chan int), "function": func() {}, "complex": 1i, "NaN": math.NaN(), "infinity": math.Inf(-1),
		"nested channel": map[string]any{"a": []any{make(chan int)}}, "NaN in float32": []float32{float32(math.NaN())},
		"bad number": json.Number("1.2.3"), "bad raw": json.RawMessage("{"), "failing": failing{},
		"year 10000": time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), "too deep": deep, "cycle": cycle,
		"map with struct keys": map[named]int{{"a"}: 1},
		"invalid UTF-8":        "a\xff", "in a slice": []any{"ok", []string{"\xc3"}}, "in a map": map[string]any{"a": map[string]string{"b": "\xff"}},
		"in a name": map[string]any{"a": map[string]any{"\xff": 1}}, "in a struct": []*named{{Name: "\xed\xa0\x80"}},
		"in raw JSON": json.RawMessage("[\"\xff\"]"), "in text": plainText("\xff"), "in a pointer": ptr("\xff"),
		"half a surrogate pair": json.RawMessage(`"\ud800"`),
		"beside a rightful U+FFFD": []any{
			"\ufffd", json.RawMessage(`"\ufffd"`), "\xff",
		},
	}
	check := unchanged(t, svc)
	keys := []string{"k", "app:k", "user:k"}
	for i, name := range slices.Sorted(maps.Keys(values)) {
		v, key := values[name], keys[i%len(keys)] // every scope has its turn
		state := session.State{"a": 1, key: v}
		in := func(field string) string { return fmt.Sprintf("%s[%q]", field, key) }
		refused(t, "Create, "+name, func(ctx context.Context) error {
			return errOf(svc.Create(ctx, &session.CreateRequest{Key: session.Key{AppName: "app", UserID: "olga", SessionID: "new"}, State: state}))
		}, in("State"))
		refused(t, "AppendEvent, "+name, func(ctx context.Context) error {
			return errOf(svc.AppendEvent(ctx, &session.AppendEventRequest{Key: testKey, Event: sets("ana", state)}))
		}, in("Event.StateDelta"))
		refused(t, "AppendEvents, "+name, func(ctx context.Context) error {
			return errOf(svc.AppendEvents(ctx, &session.AppendEventsRequest{
				Key: testKey, Events: []*session.Event{say("ana", "a"), sets("ana", state)},
			}))
		}, in("Events[1].StateDelta"))
		key = keys[1+i%2] // app: or user:
		refused(t, "UpdateState, "+name, func(ctx context.Context) error {
			return errOf(svc.UpdateState(ctx, &session.UpdateStateRequest{AppName: "app", UserID: "olga", Delta: session.State{key: v, "app:a": 1}}))
		}, in("Delta"))
	}
	check()
	// What merely looks like a replaced byte is accepted.
	rightful := session.State{"a": "\ufffd", "b": json.RawMessage(`["\ufffd","\ud83d\ude00"]`), "c": plainText("é\ufffd")}
	add(t, svc, sets("ana", rightful))
	same(t, "state", get(t, svc).State, session.State{"a": "\ufffd", "b": []any{"\ufffd", "😀"}, "c": "é\ufffd"})
}

func ptr[T any](v T) *T { return &v }

func badKeys(t *testing.T, svc session.Service) {
	createState(t, svc, session.State{"k": 1, "app:k": 1, "user:k": 1})
	check := unchanged(t, svc)
	for _, key := range []string{
		"app:", "user:", "temp:", "a\x00", "app:\n", "user:\x7f", "\u0080", "\xff", "app:\xff", "temp:\xff",
		strings.Repeat("k", 256), session.AppPrefix + strings.Repeat("k", 252), session.UserPrefix + strings.Repeat("é", 126),
	} {
		state, one := session.State{key: 1}, fmt.Sprintf("[%q]", key)
		refused(t, "Create, "+key, func(ctx context.Context) error {
			return errOf(svc.Create(ctx, &session.CreateRequest{Key: session.Key{AppName: "app", UserID: "olga", SessionID: "new"}, State: state}))
		}, "State"+one)
		for field, e := range map[string]*session.Event{
			"StateDelta" + one: sets("x", state),
			"StateDelete[1]":   sets("x", nil, "k", key),
		} {
			refused(t, "AppendEvent, "+key, func(ctx context.Context) error {
				return errOf(svc.AppendEvent(ctx, &session.AppendEventRequest{Key: testKey, Event: e}))
			}, "Event."+field)
			refused(t, "AppendEvents, "+key, func(ctx context.Context) error {
				return errOf(svc.AppendEvents(ctx, &session.AppendEventsRequest{Key: testKey, Events: []*session.Event{e}}))
			}, "Events[0]."+field)
		}
		for field, req := range map[string]*session.UpdateStateRequest{
			"Delta" + one: {AppName: "app", UserID: "olga", Delta: state},
			"Delete[1]":   {AppName: "app", UserID: "olga", Delete: []string{"app:k", key}},
		} {
			refused(t, "UpdateState, "+key, func(ctx context.Context) error {
				return errOf(svc.UpdateState(ctx, req))
			}, field)
		}
	}
	check()
}
