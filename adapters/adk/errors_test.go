package adk_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	adksession "google.golang.org/adk/v2/session"

	"github.com/hansardlog/hansard/adapters/adk"
	"github.com/hansardlog/hansard/session"
)

func TestErrorsAreHansards(t *testing.T) {
	t.Parallel()
	onBackends(t, func(t *testing.T, open opener) {
		svc := adk.New(open(t))
		live := create(t, svc, nil)
		mustAppend(t, svc, live, said("1", map[string]any{"k": "v"}))
		gone := createAs(t, svc, "gone", nil)
		if err := svc.Delete(t.Context(), &adksession.DeleteRequest{AppName: "app", UserID: "ana", SessionID: "gone"}); err != nil {
			t.Fatal(err)
		}
		stale := adk.New(open(t), adk.WithExclusiveRuns())
		run := get(t, stale)
		mustAppend(t, svc, live, said("2", nil))
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()

		get := func(app, user, id string) error {
			_, err := svc.Get(t.Context(), &adksession.GetRequest{AppName: app, UserID: user, SessionID: id})
			return err
		}
		create := func(app, user, id string, state map[string]any) error {
			_, err := svc.Create(t.Context(), &adksession.CreateRequest{AppName: app, UserID: user, SessionID: id, State: state})
			return err
		}
		list := func(req *adksession.ListRequest) error {
			_, err := svc.List(t.Context(), req)
			return err
		}
		appended := func(to adksession.Session, event *adksession.Event) error {
			return svc.AppendEvent(t.Context(), to, event)
		}
		_, nilGet := svc.Get(t.Context(), nil)
		_, nilCreate := svc.Create(t.Context(), nil)
		for _, tt := range []struct {
			name string
			err  error
			want error
		}{
			{"get: no such session", get("app", "ana", "none"), session.ErrNotFound},
			{"get: another's session", get("app", "ben", "s"), session.ErrNotFound},
			{"get: empty app", get("", "ana", "s"), session.ErrInvalidArgument},
			{"get: empty user", get("app", "", "s"), session.ErrInvalidArgument},
			{"get: empty session", get("app", "ana", ""), session.ErrInvalidArgument},
			{"get: nil", nilGet, session.ErrInvalidArgument},
			{"create: exists", create("app", "ana", "s", nil), session.ErrAlreadyExists},
			{"create: empty app", create("", "ana", "s", nil), session.ErrInvalidArgument},
			{"create: empty user", create("app", "", "s", nil), session.ErrInvalidArgument},
			{"create: control character", create("app", "ana", "s\n", nil), session.ErrInvalidArgument},
			{"create: state without JSON", create("app", "ana", "new", map[string]any{"c": make(chan int)}), session.ErrInvalidArgument},
			{"create: nil", nilCreate, session.ErrInvalidArgument},
			{"list: empty app", list(&adksession.ListRequest{}), session.ErrInvalidArgument},
			{"list: nil", list(nil), session.ErrInvalidArgument},
			{"delete: empty session", svc.Delete(t.Context(), &adksession.DeleteRequest{AppName: "app", UserID: "ana"}), session.ErrInvalidArgument},
			{"delete: nil", svc.Delete(t.Context(), nil), session.ErrInvalidArgument},
			{"append: nil session", appended(nil, said("x", nil)), session.ErrInvalidArgument},
			{"append: nil event", appended(live, nil), session.ErrInvalidArgument},
			{"append: long state key", appended(live, said("x", map[string]any{strings.Repeat("k", 256): 1})), session.ErrInvalidArgument},
			{"append: deleted session", appended(gone, said("x", nil)), session.ErrNotFound},
			{"append: known ID, other content", appended(live, said("1", map[string]any{"k": "w"})), session.ErrIdempotencyMismatch},
			{"append: foreign event in between", stale.AppendEvent(t.Context(), run, said("x", nil)), session.ErrStale},
			{"append: cancelled", svc.AppendEvent(cancelled, live, said("x", nil)), context.Canceled},
		} {
			if !errors.Is(tt.err, tt.want) {
				t.Errorf("%s: %v, want %v", tt.name, tt.err, tt.want)
			}
		}
		if got := ids(live); !slices.Equal(got, []string{"1", "2"}) {
			t.Errorf("events after refusals = %v", got)
		}
	})
}

// What ADK's own services take.
func TestLeniency(t *testing.T) {
	svc, _ := inMemory()
	mustAppend(t, svc, create(t, svc, nil), said("1", nil), said("2", nil))
	got, err := svc.Get(t.Context(), &adksession.GetRequest{AppName: key.AppName, UserID: key.UserID, SessionID: key.SessionID, NumRecentEvents: -1})
	if err != nil || got.Session.Events().Len() != 2 {
		t.Errorf("a negative number of events: %v", err)
	}
	if got.Session.Events().At(2) != nil || got.Session.Events().At(-1) != nil {
		t.Error("an event out of range is not nil")
	}
	if err := svc.Delete(t.Context(), &adksession.DeleteRequest{AppName: "app", UserID: "ana", SessionID: "never"}); err != nil {
		t.Errorf("delete of what is not there: %v", err)
	}
	list, err := svc.List(t.Context(), &adksession.ListRequest{AppName: "other"})
	if err != nil || list.Sessions == nil || len(list.Sessions) != 0 {
		t.Errorf("empty list = %v, %v", list, err)
	}
	partial := said("3", map[string]any{"k": 1})
	partial.Partial = true
	if err := svc.AppendEvent(t.Context(), got.Session, partial); err != nil || got.Session.Events().Len() != 2 {
		t.Errorf("partial event: %v, %d events", err, got.Session.Events().Len())
	}
}
