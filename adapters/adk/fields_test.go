package adk_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"google.golang.org/adk/v2/model"
	adksession "google.golang.org/adk/v2/session"
	"google.golang.org/genai"

	"github.com/hansardlog/hansard/adapters/adk"
	"github.com/hansardlog/hansard/session"
)

// fullEvent returns an event with every exported field filled, those of a later
// ADK included.
func fullEvent(t *testing.T) *adksession.Event {
	t.Helper()
	event := new(adksession.Event)
	fill(t, event)
	event.Partial = false // else it is not stored
	event.Timestamp = time.Date(2025, 6, 7, 8, 9, 10, 123456789, time.UTC)
	return event
}

func TestEveryFieldComesBack(t *testing.T) {
	t.Parallel()
	onBackends(t, func(t *testing.T, open opener) {
		svc := adk.New(open(t))
		other := adk.New(open(t)) // another process
		create(t, svc, nil)
		live, early := get(t, svc), get(t, other)
		want := fullEvent(t)
		mustAppend(t, svc, live, want)

		if d := difference(fullEvent(t), want); d != "" {
			t.Errorf("the caller's event changed:\n%s", d)
		}
		if d := difference(want, live.Events().At(0)); d != "" {
			t.Errorf("in the session that it was appended through:\n%s", d)
		}
		if d := difference(want, get(t, other).Events().At(0)); d != "" {
			t.Errorf("read back:\n%s", d)
		}
		mustAppend(t, other, early, said("second", nil))
		if d := difference(want, early.Events().At(0)); d != "" {
			t.Errorf("caught up by a session that was read before:\n%s", d)
		}

		// The payload is all of it for whoever knows ADK's JSON only.
		resp, err := open(t).ListEvents(t.Context(), &session.ListEventsRequest{Key: key, Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		stored, got := resp.Events[0], new(adksession.Event)
		if err := json.Unmarshal(stored.Payload, got); err != nil {
			t.Fatal(err)
		}
		if d := difference(want, got); d != "" {
			t.Errorf("decoded from the payload:\n%s", d)
		}
		if stored.Format != "adk-go/v2" {
			t.Errorf("format = %q", stored.Format)
		}
	})
}

// A field without a JSON name could not come back: ADK's own JSON is the
// payload. There is none in ADK v2.2.0.
func TestEveryFieldHasAJSONName(t *testing.T) {
	for _, field := range nameless(reflect.TypeFor[adksession.Event](), "Event", map[reflect.Type]bool{}) {
		t.Errorf("%s has no name in ADK's JSON: the adapter loses it", field)
	}
}

// One event for each kind of part, as a model gives them.
func TestEveryPartComesBack(t *testing.T) {
	t.Parallel()
	onBackends(t, func(t *testing.T, open opener) {
		svc := adk.New(open(t))
		live := create(t, svc, nil)
		var want []*adksession.Event
		for f := range reflect.TypeFor[genai.Part]().Fields() {
			part := new(genai.Part)
			fill(t, part)
			only := new(genai.Part)
			reflect.ValueOf(only).Elem().FieldByIndex(f.Index).Set(reflect.ValueOf(part).Elem().FieldByIndex(f.Index))
			event := said(f.Name, nil)
			event.LLMResponse = model.LLMResponse{Content: &genai.Content{Role: "model", Parts: []*genai.Part{only}}}
			want = append(want, event)
		}
		mustAppend(t, svc, live, want...)
		var got []*adksession.Event
		for event := range get(t, svc).Events().All() {
			got = append(got, event)
		}
		if d := difference(want, got); d != "" {
			t.Error(d)
		}
	})
}

// ADK's own programs write into the maps of an event without asking whether
// they are there.
func TestNilAndEmptyMapsStayApart(t *testing.T) {
	t.Parallel()
	onBackends(t, func(t *testing.T, open opener) {
		svc := adk.New(open(t))
		create(t, svc, nil)
		live, early := get(t, svc), get(t, svc)
		empty := said("empty", map[string]any{})
		empty.Actions.ArtifactDelta = map[string]int64{}
		onlyTemp := said("temp", map[string]any{"temp:x": 1})
		mustAppend(t, svc, live, said("nil", nil), empty, onlyTemp)
		mustAppend(t, svc, early, said("last", nil))

		for name, s := range map[string]adksession.Session{"live": live, "read": get(t, svc), "caught up": early} {
			for id, want := range map[string][2]bool{"nil": {true, true}, "empty": {false, false}, "temp": {false, true}} {
				for event := range s.Events().All() {
					if event.ID != id {
						continue
					}
					if got := [2]bool{event.Actions.StateDelta == nil, event.Actions.ArtifactDelta == nil}; got != want {
						t.Errorf("%s: nil maps of event %q = %v, want %v", name, id, got, want)
					}
					if n := len(event.Actions.StateDelta); n != 0 {
						t.Errorf("%s: event %q has %d keys in its delta", name, id, n)
					}
				}
			}
		}
	})
}
