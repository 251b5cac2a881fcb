package database_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/hansardlog/hansard/session"
	"github.com/hansardlog/hansard/session/database"
	"github.com/hansardlog/hansard/session/database/pgdirect"
)

// trip is a call and what it may cost.
type trip struct {
	name string
	call func(ctx context.Context, svc *database.Service, n int) error // n differs for each call
	want error
	sent string // one word for each round trip, without BEGIN and the end
	end  string // COMMIT, ROLLBACK, empty for no transaction
}

var tripGroup, tripSession = sessionKey("group"), sessionKey("session")

// trips: an append is BEGIN, the lock, the statement that decides and writes,
// COMMIT, whatever state it changes. A refusal ends sooner.
func trips() []trip {
	add := func(key session.Key, event func(n int) *session.Event) func(context.Context, *database.Service, int) error {
		return func(ctx context.Context, svc *database.Service, n int) error {
			_, err := svc.AppendEvent(ctx, &session.AppendEventRequest{Key: key, Event: event(n)})
			return err
		}
	}
	changing := func(keys ...string) func(int) *session.Event {
		return func(n int) *session.Event {
			e := keyed("ana", fmt.Sprintf("%s %d", strings.Join(keys, " "), n), "words")
			e.StateDelta = session.State{}
			for _, key := range keys {
				e.StateDelta[key], e.StateDelta[key+"2"] = n, n
			}
			e.StateDelete = []string{keys[0] + "3"}
			return e
		}
	}
	plain := func(int) *session.Event { return words("ana", "words") }
	fresh := func(n int) *session.Event { return keyed("ana", fmt.Sprint(n), "words") }
	known := func(text string) func(int) *session.Event {
		return func(int) *session.Event { return keyed("ana", "known", text) }
	}
	read := func(req session.GetRequest) func(context.Context, *database.Service, int) error {
		return func(ctx context.Context, svc *database.Service, _ int) error {
			_, err := svc.Get(ctx, &req)
			return err
		}
	}
	return []trip{
		{"append", add(tripSession, plain), nil, "SELECT WITH", "COMMIT"},
		{"append with key", add(tripSession, fresh), nil, "SELECT WITH", "COMMIT"},
		{"append of a member", add(tripGroup, plain), nil, "SELECT WITH", "COMMIT"},
		{"append of a member with key", add(tripGroup, fresh), nil, "SELECT WITH", "COMMIT"},
		{"append with session state", add(tripGroup, changing("a")), nil, "SELECT WITH", "COMMIT"},
		{"append with app state", add(tripGroup, changing("app:a")), nil, "SELECT WITH", "COMMIT"},
		{"append with two scopes", add(tripGroup, changing("user:a", "a")), nil, "SELECT WITH", "COMMIT"},
		{"append with three scopes", add(tripGroup, changing("a", "app:a", "user:a")), nil, "SELECT WITH", "COMMIT"},
		{"batch with three scopes", func(ctx context.Context, svc *database.Service, n int) error {
			var events []*session.Event
			for i := range 20 {
				e := changing("a", "app:a", "user:a")(n)
				e.Author, e.IdempotencyKey = []string{"ana", "ben"}[i%2], fmt.Sprintf("batch %d %d", n, i)
				events = append(events, e)
			}
			_, err := svc.AppendEvents(ctx, &session.AppendEventsRequest{Key: tripGroup, Events: events})
			return err
		}, nil, "SELECT WITH", "COMMIT"},

		{"replay", add(tripGroup, known("words")), nil, "SELECT WITH SELECT", "COMMIT"},
		{"another request under a known key", add(tripGroup, known("other words")), session.ErrIdempotencyMismatch, "SELECT WITH SELECT", "ROLLBACK"},
		{"append of a stranger", add(tripGroup, func(n int) *session.Event { return keyed("mallory", fmt.Sprint(n), "words") }),
			session.ErrNotMember, "SELECT WITH", "ROLLBACK"},
		{"append at another head", func(ctx context.Context, svc *database.Service, _ int) error {
			_, err := svc.AppendEvent(ctx, &session.AppendEventRequest{Key: tripSession, Event: plain(0), ExpectedSeq: new(int64)})
			return err
		}, session.ErrStale, "SELECT WITH", "ROLLBACK"},
		{"append to an unknown session", add(sessionKey("none"), fresh), session.ErrNotMember, "SELECT", "ROLLBACK"},
		{"partial event", add(tripGroup, func(int) *session.Event { return &session.Event{Author: "ana", Partial: true} }), nil, "", ""},
		{"invalid event", add(tripGroup, func(int) *session.Event { return &session.Event{} }), session.ErrInvalidArgument, "", ""},

		{"get without events", read(session.GetRequest{Key: tripGroup, WithoutEvents: true}), nil, "SELECT SELECT", "COMMIT"},
		{"get recent", read(session.GetRequest{Key: tripGroup, NumRecentEvents: 3}), nil, "SELECT SELECT SELECT", "COMMIT"},
		{"get as a viewer", read(session.GetRequest{Key: tripGroup, Viewer: "ana", NumRecentEvents: 3}), nil, "SELECT SELECT SELECT SELECT", "COMMIT"},
		{"page of events", func(ctx context.Context, svc *database.Service, _ int) error {
			_, err := svc.ListEvents(ctx, &session.ListEventsRequest{Key: tripGroup, Limit: 3})
			return err
		}, nil, "SELECT SELECT", "COMMIT"},
	}
}

func fillForTrips(t *testing.T, svc *database.Service) {
	t.Helper()
	made(t, svc, tripSession.SessionID, nil)
	made(t, svc, tripGroup.SessionID, nil, "ana", "ben")
	said(t, svc, tripSession, words("ana", "words"))
	said(t, svc, tripGroup, keyed("ana", "known", "words"))
}

func TestRoundTripsOnPostgres(t *testing.T) {
	t.Parallel()
	w, db, svc := watched(t)
	fillForTrips(t, svc)
	n := 0
	for _, tt := range trips() {
		t.Run(tt.name, func(t *testing.T) {
			call := func(svc *database.Service) {
				n++
				if err := tt.call(t.Context(), svc, n); !errors.Is(err, tt.want) {
					t.Fatalf("got error %v, want %v", err, tt.want)
				}
			}
			call(svc) // prepares the statements
			trips, sent := w.count(func() { call(svc) })
			want := strings.Fields(tt.sent)
			if tt.end != "" {
				want = append(append([]string{"BEGIN"}, want...), tt.end)
			}
			if trips != len(want) || sent != strings.Join(want, " ") {
				t.Errorf("%d round trips: %s; want %d: %s", trips, sent, len(want), strings.Join(want, " "))
			}

			// In the caller's transaction nothing begins or ends, and a refusal
			// needs no savepoint.
			must(t, db.WithContext(t.Context()).Transaction(func(tx *gorm.DB) error {
				trips, sent = w.count(func() { call(svc.WithTx(tx)) })
				return nil
			}))
			if want := strings.Fields(tt.sent); trips != len(want) || sent != tt.sent {
				t.Errorf("in a transaction %d round trips: %s; want %d: %s", trips, sent, len(want), tt.sent)
			}
		})
	}
}

// On the direct path everything that the server decides is one round trip; a
// replay goes the other way after it.
func TestRoundTripsDirect(t *testing.T) {
	t.Parallel()
	w, _, svc := watched(t, database.WithDirect(pgdirect.New()))
	fillForTrips(t, svc)
	n := 0
	for _, tt := range trips() {
		want := 1
		switch known := strings.HasSuffix(tt.sent, "WITH SELECT"); {
		case tt.end == "":
			want = 0
		case known:
			want = 6
		case !strings.Contains(tt.name, "append") && !strings.Contains(tt.name, "batch"):
			continue // reads go the same way as ever
		}
		t.Run(tt.name, func(t *testing.T) {
			call := func() {
				n++
				if err := tt.call(t.Context(), svc, n); !errors.Is(err, tt.want) {
					t.Fatalf("got error %v, want %v", err, tt.want)
				}
			}
			call() // prepares the statements
			if trips, sent := w.count(call); trips != want {
				t.Errorf("%d round trips, want %d: %s", trips, want, sent)
			}
		})
	}
}
