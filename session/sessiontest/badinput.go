package sessiontest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hansardlog/hansard/session"
)

var badInputTests = []test{
	{name: "rule 1: text fields refuse what is not text, over 255 bytes, or empty", run: badText},
	{name: "rule 2: payloads that are not JSON", run: badPayload},
	{name: "rule 2: payload limits at their edge, one event and one batch", run: badPayloadSize},
	{name: "rule 2: state values that could not be read back", run: badValues},
	{name: "rule 1: state keys", run: badKeys},
	{name: "requests and events that are nil", run: badNil},
	{name: "negative numbers and page sizes over the limit", run: badNumbers},
	{name: "kinds, orders and members", run: badKinds},
	{name: "rule 13: After lies in the years 1 to 9999", run: badAfter},
	{name: "nothing is refused that a lookup could answer", run: badLookups},
}

// refused checks that a call is refused for the field, and for nothing else
// when the context is over: arguments come first (rule 12).
func refused(t *testing.T, what string, call func(context.Context) error, fields ...string) {
	t.Helper()
	wantInvalid(t, what, call(t.Context()), fields...)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wantInvalid(t, what+", cancelled context", call(ctx), fields...)
}

// unchanged returns a check that nothing in the store has changed since.
func unchanged(t *testing.T, svc session.Service) func() {
	t.Helper()
	look := func() []any {
		list := ok(svc.List(t.Context(), &session.ListRequest{AppName: "app", WithState: true}))(t)
		return []any{get(t, svc), list.Sessions, shared(t, svc, "app", "olga"), shared(t, svc, "app", "ana")}
	}
	before := look()
	return func() {
		t.Helper()
		same(t, "the store after refusals", look(), before)
	}
}

// field is a text field of a request.
type field struct {
	call, name string // of a call there is one entry for each field
	maxBytes   int
	required   bool
	do         func(ctx context.Context, svc session.Service, v string) error
}

func badText(t *testing.T, svc session.Service) {
	create(t, svc, session.KindGroup, "ana")
	check := unchanged(t, svc)
	for _, f := range textFields() {
		bad := map[string]string{
			"invalid UTF-8":         "a\xffb",
			"half a rune":           "\xc3",
			"encoded surrogate":     "\xed\xa0\x80",
			"NUL":                   "a\x00",
			"tab":                   "\tb",
			"line feed":             "a\nb",
			"unit separator":        "\x1f",
			"DEL":                   "a\x7f",
			"C1 control":            "\u0085",
			"last C1 control":       "\u009f",
			"one byte too long":     strings.Repeat("x", f.maxBytes+1),
			"too long in bytes":     strings.Repeat("é", f.maxBytes/2) + "xy",
			"too long before a cut": strings.Repeat(" ", f.maxBytes+1),
		}
		if f.required {
			bad["empty"] = ""
		}
		for name, v := range bad {
			refused(t, fmt.Sprintf("%s, %s: %s", f.call, f.name, name), func(ctx context.Context) error {
				return f.do(ctx, svc, v)
			}, f.name)
		}
	}
	check()
	// At the limit nothing is refused as an argument.
	for _, f := range textFields() {
		for _, v := range []string{strings.Repeat("y", f.maxBytes), strings.Repeat("é", f.maxBytes/2), " ", "\u00a0", "😀"} {
			var arg *session.ArgumentError
			if err := f.do(t.Context(), svc, v); errors.As(err, &arg) && arg.Field == f.name {
				t.Errorf("%s, %s: %d bytes %.20q are refused: %v", f.call, f.name, len(v), v, err)
			}
		}
	}
}

func badNil(t *testing.T, svc session.Service) {
	create(t, svc, session.KindGroup, "ana")
	check := unchanged(t, svc)
	for name, call := range map[string]func(context.Context) error{
		"Create":       func(ctx context.Context) error { return errOf(svc.Create(ctx, nil)) },
		"Get":          func(ctx context.Context) error { return errOf(svc.Get(ctx, nil)) },
		"List":         func(ctx context.Context) error { return errOf(svc.List(ctx, nil)) },
		"Delete":       func(ctx context.Context) error { return svc.Delete(ctx, nil) },
		"AppendEvent":  func(ctx context.Context) error { return errOf(svc.AppendEvent(ctx, nil)) },
		"AppendEvents": func(ctx context.Context) error { return errOf(svc.AppendEvents(ctx, nil)) },
		"ListEvents":   func(ctx context.Context) error { return errOf(svc.ListEvents(ctx, nil)) },
		"Join":         func(ctx context.Context) error { return errOf(svc.Join(ctx, nil)) },
		"Leave":        func(ctx context.Context) error { return errOf(svc.Leave(ctx, nil)) },
		"ListMembers":  func(ctx context.Context) error { return errOf(svc.ListMembers(ctx, nil)) },
		"GetState":     func(ctx context.Context) error { return errOf(svc.GetState(ctx, nil)) },
		"UpdateState":  func(ctx context.Context) error { return errOf(svc.UpdateState(ctx, nil)) },
	} {
		refused(t, name, call, "request")
	}
	refused(t, "nil event", func(ctx context.Context) error {
		return errOf(svc.AppendEvent(ctx, &session.AppendEventRequest{Key: testKey}))
	}, "Event")
	refused(t, "nil event in a batch", func(ctx context.Context) error {
		return errOf(svc.AppendEvents(ctx, &session.AppendEventsRequest{
			Key: testKey, Events: []*session.Event{say("ana", "a"), nil},
		}))
	}, "Events[1]")
	check()
}

func badNumbers(t *testing.T, svc session.Service) {
	create(t, svc, session.KindGroup, "ana")
	check := unchanged(t, svc)
	for _, n := range []int64{-1, -1 << 63} {
		for _, tt := range []struct {
			field string
			call  func(context.Context) error
		}{
			{"NumRecentEvents", func(ctx context.Context) error {
				return errOf(svc.Get(ctx, &session.GetRequest{Key: testKey, NumRecentEvents: int(n)}))
			}},
			{"AfterSeq", func(ctx context.Context) error {
				return errOf(svc.Get(ctx, &session.GetRequest{Key: testKey, AfterSeq: n}))
			}},
			{"AfterSeq", func(ctx context.Context) error {
				return errOf(svc.ListEvents(ctx, &session.ListEventsRequest{Key: testKey, AfterSeq: n}))
			}},
			{"BeforeSeq", func(ctx context.Context) error {
				return errOf(svc.ListEvents(ctx, &session.ListEventsRequest{Key: testKey, BeforeSeq: n}))
			}},
			{"Limit", func(ctx context.Context) error {
				return errOf(svc.ListEvents(ctx, &session.ListEventsRequest{Key: testKey, Limit: int(n)}))
			}},
			{"Epoch", func(ctx context.Context) error {
				return errOf(svc.ListEvents(ctx, &session.ListEventsRequest{Key: testKey, Epoch: n}))
			}},
			{"AtSeq", func(ctx context.Context) error {
				return errOf(svc.ListMembers(ctx, &session.ListMembersRequest{Key: testKey, AtSeq: n}))
			}},
			{"PageSize", func(ctx context.Context) error {
				return errOf(svc.List(ctx, &session.ListRequest{AppName: "app", PageSize: int(n)}))
			}},
			{"ExpectedSeq", func(ctx context.Context) error {
				return errOf(svc.AppendEvent(ctx, &session.AppendEventRequest{
					Key: testKey, Event: say("ana", "a"), ExpectedSeq: &n,
				}))
			}},
			{"ExpectedSeq", func(ctx context.Context) error {
				return errOf(svc.AppendEvents(ctx, &session.AppendEventsRequest{
					Key: testKey, Events: []*session.Event{say("ana", "a")}, ExpectedSeq: &n,
				}))
			}},
		} {
			refused(t, fmt.Sprint(tt.field, " ", n), tt.call, tt.field)
		}
	}
	refused(t, "Limit 1001", func(ctx context.Context) error {
		return errOf(svc.ListEvents(ctx, &session.ListEventsRequest{Key: testKey, Limit: 1001}))
	}, "Limit")
	refused(t, "PageSize 1001", func(ctx context.Context) error {
		return errOf(svc.List(ctx, &session.ListRequest{AppName: "app", PageSize: 1001}))
	}, "PageSize")
	refused(t, "AtSeq together with History", func(ctx context.Context) error {
		return errOf(svc.ListMembers(ctx, &session.ListMembersRequest{Key: testKey, AtSeq: 1, History: true}))
	}, "History", "AtSeq")
	ok(svc.ListEvents(t.Context(), &session.ListEventsRequest{Key: testKey, Limit: 1000}))(t)
	ok(svc.List(t.Context(), &session.ListRequest{AppName: "app", PageSize: 1000}))(t)
	check()
}

func badLookups(t *testing.T, svc session.Service) {
	create(t, svc, session.KindGroup, "ana")
	const far = 1<<63 - 1
	if s := view(t, svc, session.GetRequest{AfterSeq: far, NumRecentEvents: 1 << 31}); s.Events != nil {
		t.Errorf("Get after the largest sequence: got %v, want none", s.Events)
	}
	if p := page(t, svc, session.ListEventsRequest{AfterSeq: far, BeforeSeq: far}); p.Events != nil || p.More {
		t.Errorf("ListEvents after the largest sequence: got %v, more %t, want none", p.Events, p.More)
	}
	same(t, "before the largest sequence", seqs(page(t, svc, session.ListEventsRequest{BeforeSeq: far, Descending: true}).Events), upTo(1, 1))
	same(t, "a state nobody wrote", shared(t, svc, "nobody's app", "nobody"), session.State{})
	if list := ok(svc.List(t.Context(), &session.ListRequest{AppName: "nobody's app"}))(t); list.Sessions != nil || list.NextPageToken != "" {
		t.Errorf("List of an unknown app: got %+v, want nothing", list)
	}
}
