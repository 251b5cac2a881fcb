package adk_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	adksession "google.golang.org/adk/v2/session"

	"github.com/hansardlog/hansard/adapters/adk"
	"github.com/hansardlog/hansard/session"
	"github.com/hansardlog/hansard/session/inmemory"
)

// faulty fails the calls for which an error is set.
type faulty struct {
	session.Service
	before, after error // of AppendEvent: nothing is stored, or the answer is lost
	list          error
}

func (f *faulty) AppendEvent(ctx context.Context, req *session.AppendEventRequest) (*session.AppendEventResponse, error) {
	if f.before != nil {
		return nil, f.before
	}
	resp, err := f.Service.AppendEvent(ctx, req)
	if f.after != nil && err == nil {
		return nil, f.after
	}
	return resp, err
}

func (f *faulty) ListEvents(ctx context.Context, req *session.ListEventsRequest) (*session.ListEventsResponse, error) {
	if f.list != nil {
		return nil, f.list
	}
	return f.Service.ListEvents(ctx, req)
}

// snapshot is all that a session shows.
func snapshot(s adksession.Session) any {
	return []any{ids(s), maps.Collect(s.State().All()), s.LastUpdateTime()}
}

var errBroken = errors.New("the connection broke")

func TestLiveSessionChangesOnlyAfterCommit(t *testing.T) {
	for _, opts := range [][]adk.Option{nil, {adk.WithExclusiveRuns()}} {
		backend := &faulty{Service: inmemory.New()}
		svc := adk.New(backend, opts...)
		live := create(t, svc, map[string]any{"k": "old"})
		mustAppend(t, svc, live, said("1", nil))
		unchanged := snapshot(live)
		event := said("2", map[string]any{"k": "new", "temp:x": 1, "user:u": 1})

		backend.before = errBroken
		if err := svc.AppendEvent(t.Context(), live, event); !errors.Is(err, errBroken) {
			t.Fatalf("AppendEvent: %v", err)
		}
		if d := difference(unchanged, snapshot(live)); d != "" {
			t.Errorf("after an append that failed:\n%s", d)
		}
		backend.before, backend.after = nil, errBroken
		if err := svc.AppendEvent(t.Context(), live, event); !errors.Is(err, errBroken) {
			t.Fatalf("AppendEvent: %v", err)
		}
		if d := difference(unchanged, snapshot(live)); d != "" {
			t.Errorf("after an answer that was lost:\n%s", d)
		}

		backend.after = nil
		mustAppend(t, svc, live, event) // the caller tries again
		mustAppend(t, svc, live, said("3", nil))
		if want := []string{"1", "2", "3"}; !slices.Equal(ids(live), want) || !slices.Equal(ids(get(t, svc)), want) {
			t.Errorf("live %v, stored %v, want %v", ids(live), ids(get(t, svc)), want)
		}
		if value(t, live, "k") != "string new" || value(t, live, "temp:x") != "int 1" {
			t.Errorf("k = %s, temp:x = %s", value(t, live, "k"), value(t, live, "temp:x"))
		}
	}
}

func TestLiveSessionCatchesUpInOrder(t *testing.T) {
	t.Parallel()
	onBackends(t, func(t *testing.T, open opener) {
		core := open(t)
		svc, other := adk.New(core), adk.New(open(t))
		create(t, svc, map[string]any{"removed": 1})
		live, foreign := get(t, svc), get(t, other)
		mustAppend(t, svc, live, said("a1", map[string]any{"last": "a1"}))
		mustAppend(t, other, foreign, said("b1", map[string]any{"last": "b1", "b": 1}), said("b2", map[string]any{"last": "b2"}))
		if _, err := core.AppendEvent(t.Context(), &session.AppendEventRequest{
			Key: key, Event: &session.Event{ID: "c1", Author: "cleaner", StateDelete: []string{"removed"}},
		}); err != nil {
			t.Fatal(err)
		}
		before := live.Events()
		mustAppend(t, svc, live, said("a2", map[string]any{"a": 2}))

		want := []string{"a1", "b1", "b2", "c1", "a2"}
		if got := ids(live); !slices.Equal(got, want) {
			t.Errorf("live events %v, want %v", got, want)
		}
		if before.Len() != 1 {
			t.Errorf("a list of events that was taken before grew to %d", before.Len())
		}
		now := get(t, svc)
		if got := ids(now); !slices.Equal(got, want) {
			t.Errorf("stored events %v, want %v", got, want)
		}
		for key, want := range map[string]string{
			"last": "string b2", "b": "float64 1", "a": "int 2", "removed": adksession.ErrStateKeyNotExist.Error(),
		} {
			if got := value(t, live, key); got != want {
				t.Errorf("%s = %s, want %s", key, got, want)
			}
		}
		if !live.LastUpdateTime().Equal(now.LastUpdateTime()) {
			t.Errorf("last update %s, stored %s", live.LastUpdateTime(), now.LastUpdateTime())
		}
	})
}

// More foreign events than a page holds.
func TestLiveSessionCatchesUpWithManyEvents(t *testing.T) {
	svc, core := inMemory()
	live := create(t, svc, nil)
	var batch []*session.Event
	for range 2*session.MaxPageSize + 1 {
		batch = append(batch, &session.Event{Author: "importer"})
	}
	if _, err := core.AppendEvents(t.Context(), &session.AppendEventsRequest{Key: key, Events: batch}); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, svc, live, said("mine", nil))
	if got := ids(live); len(got) != len(batch)+1 || got[len(batch)] != "mine" {
		t.Errorf("%d events, want %d with mine at the end", len(got), len(batch)+1)
	}
}

func TestCatchingUpFails(t *testing.T) {
	backend := &faulty{Service: inmemory.New()}
	svc := adk.New(backend)
	live := create(t, svc, nil)
	mustAppend(t, svc, get(t, svc), said("foreign", nil))
	backend.list = errBroken
	event := said("mine", map[string]any{"k": 1})
	if err := svc.AppendEvent(t.Context(), live, event); !errors.Is(err, errBroken) {
		t.Errorf("AppendEvent: %v: the run would go on without seeing its own event", err)
	}
	if n := live.Events().Len(); n != 0 {
		t.Errorf("%d events, want none out of order", n)
	}
	backend.list = nil
	mustAppend(t, svc, live, event)
	if got, want := ids(live), []string{"foreign", "mine"}; !slices.Equal(got, want) || value(t, live, "k") != "int 1" {
		t.Errorf("events %v, want %v; k = %s", got, want, value(t, live, "k"))
	}
	if got := get(t, svc).Events().Len(); got != 2 {
		t.Errorf("%d events stored, want 2", got)
	}
}

func TestLiveSessionPinsItsIncarnation(t *testing.T) {
	t.Parallel()
	onBackends(t, func(t *testing.T, open opener) {
		svc, other := adk.New(open(t)), adk.New(open(t))
		running := create(t, svc, map[string]any{"k": "old"})
		mustAppend(t, svc, running, said("1", nil))
		if err := other.Delete(t.Context(), &adksession.DeleteRequest{AppName: key.AppName, UserID: key.UserID, SessionID: key.SessionID}); err != nil {
			t.Fatal(err)
		}
		if err := svc.AppendEvent(t.Context(), running, said("2", nil)); !errors.Is(err, session.ErrNotFound) {
			t.Errorf("append to a deleted session: %v, want ErrNotFound", err)
		}
		create(t, other, map[string]any{"k": "new"})
		for _, s := range []adksession.Service{svc, adk.New(open(t), adk.WithExclusiveRuns())} {
			if err := s.AppendEvent(t.Context(), running, said("3", map[string]any{"k": "late"})); !errors.Is(err, session.ErrNotFound) {
				t.Errorf("append to a recreated session: %v, want ErrNotFound", err)
			}
		}
		now := get(t, other)
		if now.Events().Len() != 0 || value(t, now, "k") != "string new" {
			t.Errorf("the new session has %v, k = %s", ids(now), value(t, now, "k"))
		}
		if got := ids(running); !slices.Equal(got, []string{"1"}) {
			t.Errorf("the live session has %v", got)
		}
	})
}

func TestStateSetIsLocal(t *testing.T) {
	svc, core := inMemory()
	live := create(t, svc, map[string]any{"k": "old"})
	all := live.State().All()
	if err := live.State().Set("k", "new"); err != nil {
		t.Fatal(err)
	}
	if got := value(t, live, "k"); got != "string new" {
		t.Errorf("live k = %s", got)
	}
	if got := maps.Collect(all)["k"]; got != "old" {
		t.Errorf("a sequence taken before shows %v", got)
	}
	mustAppend(t, svc, live, said("1", nil))
	if got := value(t, get(t, svc), "k"); got != "string old" {
		t.Errorf("stored k = %s", got)
	}
	if got := stored(t, core)[0].StateDelta; got != nil {
		t.Errorf("stored delta = %v", got)
	}
}

// foreign is a session that the adapter did not make.
type foreign struct{ id string }

func (f foreign) ID() string              { return f.id }
func (foreign) AppName() string           { return key.AppName }
func (foreign) UserID() string            { return key.UserID }
func (foreign) State() adksession.State   { return nil }
func (foreign) Events() adksession.Events { return nil }
func (foreign) LastUpdateTime() time.Time { return time.Time{} }

func TestForeignSessionImplementations(t *testing.T) {
	svc, _ := inMemory(adk.WithExclusiveRuns())
	create(t, svc, nil)
	event := said("1", map[string]any{"k": 1, "temp:x": 1})
	mustAppend(t, svc, foreign{key.SessionID}, event, event, said("2", nil))
	if got := get(t, svc); !slices.Equal(ids(got), []string{"1", "2"}) || value(t, got, "k") != "float64 1" {
		t.Errorf("events %v, k = %s", ids(got), value(t, got, "k"))
	}
	if err := svc.AppendEvent(t.Context(), foreign{"none"}, said("1", nil)); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("append to no session: %v, want ErrNotFound", err)
	}
}
