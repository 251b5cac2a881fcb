package adk_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	adksession "google.golang.org/adk/v2/session"

	"github.com/hansardlog/hansard/adapters/adk"
	"github.com/hansardlog/hansard/session"
)

// destinations of an import: others, and the very pool that it reads from.
var destinations = map[string]func(t *testing.T, src *sourceDB) session.Service{
	"memory": func(*testing.T, *sourceDB) session.Service { return memory() },
	"same pool": func(t *testing.T, src *sourceDB) session.Service {
		return newDestination(t, src.db, "hansard_")
	},
	"sqlite": func(t *testing.T, _ *sourceDB) session.Service {
		return newDestination(t, newSource(t, "sqlite").db, "hansard_")
	},
	"postgres": func(t *testing.T, _ *sourceDB) session.Service {
		return newDestination(t, newSource(t, "postgres").db, "hansard_")
	},
}

// writeWorld writes sessions of three users of two apps and returns their keys.
func writeWorld(t *testing.T, src *sourceDB) []session.Key {
	t.Helper()
	keys := []session.Key{
		keyOf("full"), keyOf("empty"), keyOf("order"), keyOf("Großes Ä"),
		{AppName: "app", UserID: "ben", SessionID: "full"}, {AppName: "other", UserID: "ana", SessionID: "full"},
	}
	for i, k := range keys {
		switch k.SessionID {
		case "full":
			var events []*adksession.Event
			for n := range 3 {
				event := src.fullEvent(t)
				event.ID = fmt.Sprintf("e%d", n)
				event.Timestamp = at(n)
				event.Actions.StateDelta = map[string]any{
					"count": n, "app:last": n, "user:name": k.UserID, fmt.Sprintf("user:k%d", n): []any{n, "x"}, "temp:x": 1,
				}
				events = append(events, event)
			}
			src.write(t, k, map[string]any{"start": map[string]any{"a": 1.5}, "app:made": true, "user:n": i}, events...)
		case "order":
			src.write(t, k, nil, timed("b", at(5), nil), timed("a", at(5), nil), timed("B", at(5), nil), timed("late", at(1), nil))
		default:
			src.write(t, k, map[string]any{"only": nil})
		}
	}
	return keys
}

func TestImport(t *testing.T) {
	t.Parallel()
	for name, destination := range destinations {
		t.Run("to "+name, func(t *testing.T) {
			t.Parallel()
			onSources(t, func(t *testing.T, src *sourceDB) {
				keys := writeWorld(t, src)
				dst := destination(t, src)
				before := src.dump(t)
				rep := mustImport(t, src, dst)
				if after := src.dump(t); after != before {
					t.Errorf("the source changed:\n%s\n%s", before, after)
				}
				want := adk.Report{
					Sessions: 6, Created: 6, Events: 13, Ties: 2,
					TieExamples: []adk.Tie{{Key: keyOf("order"), Events: 2, EventID: "b"}},
					AppKeys:     4, UserKeys: 15,
				}
				if d := difference(want, rep); d != "" {
					t.Errorf("report:\n%s", d)
				}
				for _, k := range keys {
					sameAsADK(t, src, dst, k)
				}
				again := mustImport(t, src, dst)
				want = adk.Report{Sessions: 6, Skipped: 6, Ties: 2, TieExamples: rep.TieExamples, KeptKeys: 19}
				if d := difference(want, again); d != "" {
					t.Errorf("report of the second import:\n%s", d)
				}
			})
		})
	}
}

// sameAsADK compares a session through the adapter with ADK's own service on
// the source.
func sameAsADK(t *testing.T, src *sourceDB, dst session.Service, k session.Key) {
	t.Helper()
	sameEvents(t, src, dst, k)
	state := func(s adksession.Session) map[string]any { return maps.Collect(s.State().All()) }
	if d := difference(state(adkSession(t, src.adk, k)), state(adkSession(t, adk.New(dst), k))); d != "" {
		t.Errorf("state of %s:\n%s", k, d)
	}
}

// sameEvents leaves out that ADK has no order for equal timestamps.
func sameEvents(t *testing.T, src *sourceDB, dst session.Service, k session.Key) {
	t.Helper()
	want := slices.SortedStableFunc(adkSession(t, src.adk, k).Events().All(), func(a, b *adksession.Event) int {
		return cmp.Or(a.Timestamp.Compare(b.Timestamp), cmp.Compare(a.ID, b.ID))
	})
	got := slices.Collect(adkSession(t, adk.New(dst), k).Events().All())
	if d := difference(utc(want), utc(got)); d != "" {
		t.Errorf("events of %s:\n%s", k, d)
	}
}

// utc returns copies with times in one zone, for a comparison of every field.
func utc(events []*adksession.Event) []*adksession.Event {
	var all []*adksession.Event
	for _, event := range events {
		event := *event
		event.Timestamp = event.Timestamp.UTC()
		all = append(all, &event)
	}
	return all
}

// What the core sees of an imported event.
func TestImportedEnvelope(t *testing.T) {
	t.Parallel()
	onSources(t, func(t *testing.T, src *sourceDB) {
		silent := timed(strings.Repeat("7", 300), at(1), map[string]any{"app:x": json.Number("9007199254740993")})
		silent.Author = ""
		src.write(t, keyOf("s"), nil, silent, timed("", at(2), nil))
		// ADK itself rounds the state of a session when it gets an event.
		exact := map[string]any{"big": json.Number("9007199254740993"), "price": json.Number("1.10")}
		src.write(t, keyOf("exact"), exact)
		var created struct{ Micros int64 }
		statement := `SELECT CAST(extract(epoch FROM create_time) * 1000000 AS bigint) AS micros FROM sessions WHERE id = 's'`
		if src.db.Name() == "sqlite" {
			statement = `SELECT CAST(round((julianday(create_time) - 2440587.5) * 86400000) AS integer) * 1000 AS micros
				FROM sessions WHERE id = 's'`
		}
		if err := src.db.Raw(statement).Scan(&created).Error; err != nil {
			t.Fatal(err)
		}

		dst := memory()
		mustImport(t, src, dst)
		resp, err := dst.Get(t.Context(), &session.GetRequest{Key: keyOf("s")})
		if err != nil {
			t.Fatal(err)
		}
		s := resp.Session
		if off := s.CreatedAt.UnixMicro() - created.Micros; off < -1000 || off > 1000 {
			t.Errorf("created at %v, in the source at %d µs", s.CreatedAt, created.Micros)
		}
		first, second := s.Events[0], s.Events[1]
		if first.Author != "unknown" || len(first.ID) != len("sha256:")+64 || first.IdempotencyKey != first.ID ||
			first.Format != adk.Format || !first.Timestamp.Equal(at(1)) || first.StateDelta != nil {
			t.Errorf("first event = %+v", first)
		}
		var payload struct {
			Actions struct{ StateDelta map[string]json.Number }
		}
		if err := json.Unmarshal(first.Payload, &payload); err != nil || payload.Actions.StateDelta["app:x"] != "9007199254740993" {
			t.Errorf("delta in the payload = %v, %v", payload.Actions.StateDelta, err)
		}
		if second.ID == "" || second.ID == first.ID || second.IdempotencyKey != second.ID {
			t.Errorf("event without an ID got %q, key %q", second.ID, second.IdempotencyKey)
		}
		sameEvents(t, src, dst, keyOf("s"))

		if resp, err = dst.Get(t.Context(), &session.GetRequest{Key: keyOf("exact")}); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(resp.Session.State); got != "map[app:x:9007199254740993 big:9007199254740993 price:1.10]" {
			t.Errorf("state = %s", got)
		}
	})
}
