package adk_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	adksession "google.golang.org/adk/v2/session"

	"github.com/hansardlog/hansard/adapters/adk"
	"github.com/hansardlog/hansard/session"
	"github.com/hansardlog/hansard/session/inmemory"
)

// loseReply appends an event and loses the answer.
func loseReply(t *testing.T, svc adksession.Service, backend *faulty, to adksession.Session, event *adksession.Event) {
	t.Helper()
	backend.after = errBroken
	defer func() { backend.after = nil }()
	if err := svc.AppendEvent(t.Context(), to, event); !errors.Is(err, errBroken) {
		t.Fatalf("append %s: %v, want a broken connection", event.ID, err)
	}
}

// What the run wrote is what it reads, even if it learns from the log only that
// it was stored.
func TestLostReplyKeepsTheRunsValues(t *testing.T) {
	for _, opts := range [][]adk.Option{nil, {adk.WithExclusiveRuns()}} {
		backend := &faulty{Service: inmemory.New()}
		svc := adk.New(backend, opts...)
		live := create(t, svc, nil)
		lost := said("lost", map[string]any{"n": 5, "temp:x": 6})
		loseReply(t, svc, backend, live, lost)
		mustAppend(t, svc, live, said("next", nil))
		for range 2 {
			if got := ids(live); !slices.Equal(got, []string{"lost", "next"}) {
				t.Errorf("the live session shows %v", got)
			}
			if n, x := value(t, live, "n"), value(t, live, "temp:x"); n != "int 5" || x != "int 6" {
				t.Errorf("n = %s, temp:x = %s", n, x)
			}
			mustAppend(t, svc, live, lost) // the caller tries again
		}
	}
}

// An event of the run whose answer was lost is not foreign to it; one of
// somebody else is.
func TestExclusiveRunKnowsItsLostEvent(t *testing.T) {
	t.Parallel()
	onBackends(t, func(t *testing.T, open opener) {
		backend := &faulty{Service: open(t)}
		svc, other := adk.New(backend, adk.WithExclusiveRuns()), adk.New(open(t))
		live := create(t, svc, nil)
		loseReply(t, svc, backend, live, said("1", nil))
		loseReply(t, svc, backend, live, said("2", nil))
		mustAppend(t, svc, live, said("3", nil))

		loseReply(t, svc, backend, live, said("4", nil))
		mustAppend(t, other, get(t, other), said("foreign", nil))
		for range 2 {
			if err := svc.AppendEvent(t.Context(), live, said("5", nil)); !errors.Is(err, session.ErrStale) {
				t.Errorf("append after a foreign event: %v, want ErrStale", err)
			}
		}
		mustAppend(t, svc, live, said("4", nil)) // a retry is answered as the first time
		if got := ids(live); !slices.Equal(got, []string{"1", "2", "3", "4"}) {
			t.Errorf("the live session shows %v", got)
		}
		if got := ids(get(t, other)); !slices.Equal(got, []string{"1", "2", "3", "4", "foreign"}) {
			t.Errorf("stored %v", got)
		}
	})
}

// Whether the append is stale cannot be said without the log.
func TestExclusiveRunCannotReadTheLog(t *testing.T) {
	backend := &faulty{Service: inmemory.New(), list: errors.New("the log cannot be read")}
	svc := adk.New(backend, adk.WithExclusiveRuns())
	live := create(t, svc, nil)
	loseReply(t, svc, backend, live, said("1", nil))
	if err := svc.AppendEvent(t.Context(), live, said("2", nil)); !errors.Is(err, backend.list) || errors.Is(err, session.ErrStale) {
		t.Errorf("AppendEvent: %v", err)
	}
	backend.list = nil
	mustAppend(t, svc, live, said("2", nil))
	if got := ids(live); !slices.Equal(got, []string{"1", "2"}) {
		t.Errorf("the live session shows %v", got)
	}
}

// A repeated event whose run has gone on does not turn anything back. In a
// session that was read after it was stored it sets its temp: keys.
func TestReplayTurnsNothingBack(t *testing.T) {
	svc, _ := inMemory()
	live := create(t, svc, nil)
	first := said("1", map[string]any{"k": 1, "temp:x": 1})
	mustAppend(t, svc, live, first, said("2", map[string]any{"k": 2, "temp:x": 2}), first)
	if k, x := value(t, live, "k"), value(t, live, "temp:x"); k != "int 2" || x != "int 2" {
		t.Errorf("k = %s, temp:x = %s", k, x)
	}
	later := get(t, svc)
	mustAppend(t, svc, later, first)
	if k, x := value(t, later, "k"), value(t, later, "temp:x"); k != "float64 2" || x != "int 1" {
		t.Errorf("in a session read later k = %s, temp:x = %s", k, x)
	}
}

// Somebody else's event is not taken for one of the run because it bears the
// same author and ID.
func TestForeignEventWithTheSameID(t *testing.T) {
	svc, core := inMemory()
	live := create(t, svc, nil)
	foreign := &session.Event{ID: "1", Author: "agent", StateDelta: session.State{"f": 1}}
	if _, err := core.AppendEvent(t.Context(), &session.AppendEventRequest{Key: key, Event: foreign}); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, svc, live, said("1", map[string]any{"n": 5}))
	if f, n := value(t, live, "f"), value(t, live, "n"); f != "float64 1" || n != "int 5" || live.Events().Len() != 2 {
		t.Errorf("f = %s, n = %s, %d events", f, n, live.Events().Len())
	}
}

// unreliable breaks at random, before or after the commit, and while it reads.
type unreliable struct{ session.Service }

func (u unreliable) AppendEvent(ctx context.Context, req *session.AppendEventRequest) (*session.AppendEventResponse, error) {
	chance := rand.IntN(4)
	if chance == 0 {
		return nil, errBroken
	}
	resp, err := u.Service.AppendEvent(ctx, req)
	if chance == 1 && err == nil {
		return nil, errBroken
	}
	return resp, err
}

func (u unreliable) ListEvents(ctx context.Context, req *session.ListEventsRequest) (*session.ListEventsResponse, error) {
	if rand.IntN(4) == 0 {
		return nil, errBroken
	}
	return u.Service.ListEvents(ctx, req)
}

// Parallel agents try again until they succeed: each event is stored once, each
// agent reads what it wrote, and the live session ends as the log is.
func TestParallelAgentsOnAnUnreliableStore(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]adk.Option{"default": nil, "exclusive runs": {adk.WithExclusiveRuns()}} {
		core := inmemory.New()
		svc, reliable := adk.New(unreliable{core}, opts...), adk.New(core)
		live := create(t, svc, nil)
		var wg sync.WaitGroup
		for a := range agents {
			wg.Go(func() {
				mine, temp := fmt.Sprint("agent", a), fmt.Sprint("temp:", a)
				for n := range each {
					event := said(fmt.Sprintf("%d.%d", a, n), map[string]any{mine: n, temp: n, "last": a})
					err := svc.AppendEvent(t.Context(), live, event)
					for errors.Is(err, errBroken) {
						err = svc.AppendEvent(t.Context(), live, event)
					}
					want := fmt.Sprint("int ", n)
					if err != nil || value(t, live, mine) != want || value(t, live, temp) != want {
						t.Errorf("%s: %v; %s = %s, %s = %s, want %s", name, err, mine, value(t, live, mine), temp, value(t, live, temp), want)
						return
					}
				}
			})
		}
		wg.Wait()
		now := get(t, reliable)
		if got, want := ids(live), ids(now); len(want) != agents*each || !slices.Equal(got, want) {
			t.Errorf("%s: %d events stored, want %d; shown %v, stored %v", name, len(want), agents*each, got, want)
		}
	}
}
