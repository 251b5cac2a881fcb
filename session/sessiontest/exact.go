package sessiontest

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/hansardlog/hansard/session"
)

var exactTests = []test{
	{name: "rule 2: payload bytes come back as given", run: exactPayload},
	{name: "rule 2: payloads of joins and leaves come back as given", run: exactMembershipPayload},
	{name: "rule 3: numbers are exact through every scope and call", run: exactNumbers},
	{name: "rule 2: strings are exact through every scope and call", run: exactStrings},
	{name: "state values come back as encoding/json reads them with UseNumber", run: exactTypes},
	{name: "rule 2: deep values that can be read back are accepted", run: exactDeep},
	{name: "rule 1: names and keys at their limits come back as given", run: exactNames},
}

var exactPayloads = []string{
	`{"b":1,"a":2}`,
	` { "a" :	[ 1 , 2 ]` + "\r\n" + ` } ` + "\n",
	`{"a":1,"a":2}`,
	`{"zero":"\u0000","escaped":"\u0041\/\ud83d\ude00","raw":"😀é</script>&\u2028` + "\u2028" + `"}`,
	`[9007199254740993,1e400,1.10,-0,0.000,1E+2,123456789012345678901234567890]`,
	`"text"`, `null`, `true`, `0`, `""`, `{}`, `[]`, `"\ud800"`, `"\ufffd ` + "\ufffd" + `"`,
	`"` + strings.Repeat("x", 100_000) + `"`,
	strings.Repeat("[", 5000) + strings.Repeat("]", 5000),
}

func exactPayload(t *testing.T, svc session.Service) {
	create(t, svc, session.KindSession)
	for _, payload := range exactPayloads {
		e := add(t, svc, &session.Event{Author: "ana", Payload: json.RawMessage(payload)})
		samePayload(t, "the answer", e, payload)
	}
	s := get(t, svc)
	list := page(t, svc, session.ListEventsRequest{}).Events
	for i, payload := range exactPayloads {
		samePayload(t, "Get", s.Events[i], payload)
		samePayload(t, "ListEvents", list[i], payload)
	}
}

func samePayload(t *testing.T, what string, e *session.Event, want string) {
	t.Helper()
	if got := string(e.Payload); got != want {
		t.Errorf("%s, event %d: payload is %.200q (%d bytes), want %.200q (%d bytes)", what, e.Seq, got, len(got), want, len(want))
	}
}

func exactMembershipPayload(t *testing.T, svc session.Service) {
	create(t, svc, session.KindGroup, "ana")
	for _, payload := range exactPayloads {
		join := ok(svc.Join(t.Context(), &session.JoinRequest{Key: testKey, Member: "ben", Payload: json.RawMessage(payload)}))(t).Event
		leave := ok(svc.Leave(t.Context(), &session.LeaveRequest{Key: testKey, Member: "ben", Payload: json.RawMessage(payload)}))(t).Event
		samePayload(t, "Join", join, payload)
		samePayload(t, "Leave", leave, payload)
		read := page(t, svc, session.ListEventsRequest{AfterSeq: join.Seq - 1}).Events
		same(t, "ListEvents", read, []*session.Event{join, leave})
	}
}

func exactNumbers(t *testing.T, svc session.Service) {
	values := map[string]any{}
	for i, text := range []string{
		"9007199254740993", "-9007199254740993", "1e400", "-1E-400", "1.10", "0.10000000000000000000000000000000000001",
		"100000000000000000000000000000000000000000", "0", "-0", "1E5", "2.50e+02",
	} {
		values[fmt.Sprint("number ", i)] = json.Number(text)
		values[fmt.Sprint("raw ", i)] = json.RawMessage(" " + text + "\n")
	}
	exactThroughScopes(t, svc, values, func(v any) any {
		if raw, ok := v.(json.RawMessage); ok {
			return json.Number(strings.TrimSpace(string(raw)))
		}
		return v
	})
}

func exactStrings(t *testing.T, svc session.Service) {
	values := map[string]any{}
	for i, text := range []string{
		"", "a\x00b", "\x00", "\x01\x1f\x7f\u0085", "\ufffd", "\ufeffbom", "</script>&<!--", "\u2028\u2029", "😀 é e\u0301",
		`\u0000 "quoted" \`, " both ends ", "\n", "%s %d ? $1 :name @p1 '' -- ;",
	} {
		values[fmt.Sprint("string ", i)] = text
		values[fmt.Sprint("name ", i)] = map[string]any{text: text}
	}
	exactThroughScopes(t, svc, values, func(v any) any { return v })
}

// exactThroughScopes writes the values in every scope by every call that
// writes state, and compares what every call that reads state returns.
func exactThroughScopes(t *testing.T, svc session.Service, values map[string]any, read func(any) any) {
	t.Helper()
	under := func(prefix string, f func(any) any) session.State {
		s := session.State{}
		for name, v := range values {
			s[prefix+name] = f(v)
		}
		return s
	}
	given := func(v any) any { return v }
	for _, prefix := range []string{"", session.AppPrefix, session.UserPrefix} {
		in, want := under(prefix, given), under(prefix, read)
		key := session.Key{AppName: "app" + prefix, UserID: "olga", SessionID: "created"}
		created := ok(svc.Create(t.Context(), &session.CreateRequest{Key: key, State: in}))(t).Session
		same(t, prefix+" Create", created.State, want)
		same(t, prefix+" Get", ok(svc.Get(t.Context(), &session.GetRequest{Key: key}))(t).Session.State, want)

		key = session.Key{AppName: "append" + prefix, UserID: "olga", SessionID: "s"}
		ok(svc.Create(t.Context(), &session.CreateRequest{Key: key}))(t)
		e := ok(svc.AppendEvent(t.Context(), &session.AppendEventRequest{Key: key, Event: sets("x", in)}))(t).Event
		same(t, prefix+" AppendEvent", e.StateDelta, want)
		got := ok(svc.Get(t.Context(), &session.GetRequest{Key: key}))(t).Session
		same(t, prefix+" Get", got.State, want)
		same(t, prefix+" delta in Get", got.Events[0].StateDelta, want)
		page := ok(svc.ListEvents(t.Context(), &session.ListEventsRequest{Key: key}))(t)
		same(t, prefix+" delta in ListEvents", page.Events[0].StateDelta, want)
		list := ok(svc.List(t.Context(), &session.ListRequest{AppName: key.AppName, WithState: true}))(t)
		same(t, prefix+" List", list.Sessions[0].State, want)
		if prefix == "" {
			continue
		}
		same(t, prefix+" GetState", shared(t, svc, key.AppName, "olga"), want)
		updated := ok(svc.UpdateState(t.Context(), &session.UpdateStateRequest{
			AppName: "shared" + prefix, UserID: "olga", Delta: in,
		}))(t).State
		same(t, prefix+" UpdateState", updated, want)
		same(t, prefix+" GetState", shared(t, svc, "shared"+prefix, "olga"), want)
	}
}

func exactTypes(t *testing.T, svc session.Service) {
	type inner struct {
		A int    `json:"a,omitempty"`
		B string `json:"-"`
		C any
	}
	in := session.State{
		"int64": int64(math.MinInt64), "uint64": uint64(math.MaxUint64), "float32": float32(0.1), "float64": 0.1,
		"bool": false, "bytes": []byte("hi"), "time": at, "nil slice": []string(nil), "nil map": map[string]int(nil),
		"nil pointer": (*inner)(nil), "struct": &inner{A: 1, B: "no", C: []inner{{}}}, "int keys": map[int]string{2: "b"},
		"empty": []any{}, "object": map[string]any{}, "raw": json.RawMessage(`{"z":[1.0,{"b":null,"a":1e2}]}`),
	}
	want := session.State{
		"int64": json.Number("-9223372036854775808"), "uint64": json.Number("18446744073709551615"),
		"float32": json.Number("0.1"), "float64": json.Number("0.1"), "bool": false, "bytes": "aGk=",
		"time": at.Format(time.RFC3339Nano), "nil slice": nil, "nil map": nil, "nil pointer": nil,
		"struct":   map[string]any{"a": num(1), "C": []any{map[string]any{"C": nil}}},
		"int keys": map[string]any{"2": "b"}, "empty": []any{}, "object": map[string]any{},
		"raw": map[string]any{"z": []any{json.Number("1.0"), map[string]any{"b": nil, "a": json.Number("1e2")}}},
	}
	createState(t, svc, in)
	same(t, "Create", get(t, svc).State, want)
	same(t, "AppendEvent", add(t, svc, sets("x", in)).StateDelta, want)
	same(t, "Get", get(t, svc).Events[0].StateDelta, want)
}

func exactDeep(t *testing.T, svc session.Service) {
	var value any = "bottom"
	for range 500 {
		value = []any{map[string]any{"k": value}}
	}
	in := session.State{"k": value, "app:k": value, "user:k": value}
	createState(t, svc, in)
	add(t, svc, sets("x", in))
	s := get(t, svc)
	if !equalDeep(s.State, in) || !equalDeep(s.Events[0].StateDelta, in) {
		t.Error("a value 1000 levels deep does not come back as given")
	}
}

// equalDeep compares without printing: the values are long.
func equalDeep(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

func exactNames(t *testing.T, svc session.Service) {
	long := strings.Repeat("é", 127) + "x" // 255 bytes
	for _, name := range []string{long, strings.Repeat("n", 255), "a", " a ", "%_'\"\\;--", "a/b:c", "\u00a0\u200b", "😀"} {
		key := session.Key{AppName: name, UserID: name, SessionID: name}
		ok(svc.Create(t.Context(), &session.CreateRequest{Key: key, Kind: session.KindDirect, Members: []string{name, "ben"}}))(t)
		k := name[:min(len(name), 240)] // the prefix counts
		if name == long {
			k = strings.Repeat("é", 125)
		}
		user, app := session.UserPrefix+k, session.AppPrefix+k
		delta := session.State{name: name, user: name, app: name}
		in := &session.Event{
			ID: name, Author: name, InvocationID: name, Branch: strings.Repeat("b", 1024), Timestamp: at,
			IdempotencyKey: name, Format: name, StateDelta: delta,
		}
		e := ok(svc.AppendEvent(t.Context(), &session.AppendEventRequest{Key: key, Event: in}))(t).Event
		want := *in
		want.Kind, want.Seq, want.RecordedAt = session.EventMessage, 3, e.RecordedAt
		same(t, "event", e, &want)
		got := ok(svc.Get(t.Context(), &session.GetRequest{Key: key, Viewer: name}))(t).Session
		same(t, "key", got.Key, key)
		same(t, "state", got.State, delta)
		same(t, "event", got.Events[2], e)
		same(t, "subject", got.Events[0].Subject, name)
		again := ok(svc.AppendEvent(t.Context(), &session.AppendEventRequest{Key: key, Event: in}))(t)
		if !again.Replayed {
			t.Errorf("idempotency key %q: the repeated request is not Replayed", name)
		}
		list := ok(svc.List(t.Context(), &session.ListRequest{AppName: name, UserID: name, Member: name}))(t).Sessions
		if len(list) != 1 || list[0].Key != key {
			t.Errorf("List of %q: got %s", name, dump(list))
		}
	}
	exact := session.AppPrefix + strings.Repeat("k", 251) // 255 bytes with its prefix
	add255 := &session.UpdateStateRequest{AppName: "limits", Delta: session.State{exact: 1}}
	same(t, "state key of 255 bytes", ok(svc.UpdateState(t.Context(), add255))(t).State, session.State{exact: num(1)})
}
