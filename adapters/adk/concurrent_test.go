package adk_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	adksession "google.golang.org/adk/v2/session"

	"github.com/hansardlog/hansard/adapters/adk"
	"github.com/hansardlog/hansard/session"
	"github.com/hansardlog/hansard/session/inmemory"
)

const (
	agents = 30 // parallel agents of one run
	each   = 5  // events of each
)

// parallel lets agents append to one live session and read it all the while.
func parallel(t *testing.T, svc adksession.Service, live adksession.Session, name string) {
	t.Helper()
	var wg sync.WaitGroup
	for a := range agents {
		wg.Go(func() {
			for n := range each {
				id := fmt.Sprintf("%s%d.%d", name, a, n)
				if err := live.State().Set("temp:"+id, n); err != nil {
					t.Error(err)
				}
				if err := svc.AppendEvent(t.Context(), live, said(id, map[string]any{id: n, "last": id})); err != nil {
					t.Errorf("append %s: %v", id, err)
					return
				}
				if !slices.Contains(ids(live), id) {
					t.Errorf("after the append of %s the live session does not show it", id)
				}
				if got := value(t, live, id); got != fmt.Sprint("int ", n) {
					t.Errorf("%s = %s, want the int %d of this run", id, got, n)
				}
				for range live.State().All() {
				}
				_ = live.LastUpdateTime()
			}
		})
	}
	wg.Wait()
}

func TestParallelAgentsOnOneLiveSession(t *testing.T) {
	t.Parallel()
	onBackends(t, func(t *testing.T, open opener) {
		svc, other := adk.New(open(t)), adk.New(open(t))
		create(t, svc, nil)
		live, foreign := get(t, svc), get(t, other)
		var wg sync.WaitGroup
		wg.Go(func() {
			for n := range 2 * each {
				if err := other.AppendEvent(t.Context(), foreign, said(fmt.Sprint("foreign", n), nil)); err != nil {
					t.Error(err)
				}
			}
		})
		parallel(t, svc, live, "a")
		wg.Wait()
		mustAppend(t, svc, live, said("end", nil))

		now := get(t, svc)
		want := ids(now)
		if len(want) != agents*each+2*each+1 {
			t.Errorf("%d events stored, want %d", len(want), agents*each+2*each+1)
		}
		if got := ids(live); !slices.Equal(got, want) {
			t.Errorf("the live session shows\n%v, stored is\n%v", got, want)
		}
		if got, want := value(t, live, "last"), value(t, now, "last"); got != want {
			t.Errorf("last = %s in the live session, stored is %s", got, want)
		}
	})
}

// One run's parallel agents do not disturb each other.
func TestParallelAgentsOfAnExclusiveRun(t *testing.T) {
	t.Parallel()
	onBackends(t, func(t *testing.T, open opener) {
		svc := adk.New(open(t), adk.WithExclusiveRuns())
		live := create(t, svc, nil)
		parallel(t, svc, live, "a")
		if got, want := ids(live), ids(get(t, svc)); len(want) != agents*each || !slices.Equal(got, want) {
			t.Errorf("%d events stored, %d shown, want %d", len(want), len(got), agents*each)
		}
	})
}

func TestRepeatedAppendIsStoredOnce(t *testing.T) {
	t.Parallel()
	onBackends(t, func(t *testing.T, open opener) {
		for i, opts := range [][]adk.Option{nil, {adk.WithExclusiveRuns()}} {
			svc := adk.New(open(t), opts...)
			live := createAs(t, svc, fmt.Sprint("s", i), nil)
			event := adksession.NewEvent(t.Context(), "run")
			event.Author, event.Actions.StateDelta["k"] = "agent", 1
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					if err := svc.AppendEvent(t.Context(), live, event); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			mustAppend(t, svc, live, event, said("next", nil), event)
			resp, err := svc.Get(t.Context(), &adksession.GetRequest{AppName: key.AppName, UserID: key.UserID, SessionID: live.ID()})
			if err != nil {
				t.Fatal(err)
			}
			want := []string{event.ID, "next"}
			if got := ids(resp.Session); !slices.Equal(got, want) {
				t.Errorf("stored %v, want %v", got, want)
			}
			if got := ids(live); !slices.Equal(got, want) {
				t.Errorf("the live session shows %v, want %v", got, want)
			}
		}
	})
}

// A caller that makes its event anew, with its ID and no time, repeats it too.
func TestRepeatedAppendWithoutTimestamp(t *testing.T) {
	t.Parallel()
	onBackends(t, func(t *testing.T, open opener) {
		svc := adk.New(open(t))
		live := create(t, svc, nil)
		first, again := said("1", map[string]any{"k": 1}), said("1", map[string]any{"k": 1})
		mustAppend(t, svc, live, first, said("2", nil), again)
		if got := ids(get(t, svc)); !slices.Equal(got, []string{"1", "2"}) {
			t.Errorf("stored %v", got)
		}
		if !again.Timestamp.Equal(first.Timestamp) {
			t.Errorf("timestamp %s, want the first one's %s", again.Timestamp, first.Timestamp)
		}
		// Another author's event with that ID is another event.
		other := said("1", nil)
		other.Author, other.Timestamp = "other", first.Timestamp.Add(time.Hour)
		mustAppend(t, svc, live, other)
		again = said("1", map[string]any{"k": 1})
		if mustAppend(t, svc, live, again); !again.Timestamp.Equal(first.Timestamp) {
			t.Errorf("timestamp %s, want the author's %s", again.Timestamp, first.Timestamp)
		}
		if err := svc.AppendEvent(t.Context(), live, said("1", map[string]any{"k": 2})); !errors.Is(err, session.ErrIdempotencyMismatch) {
			t.Errorf("another event with that ID: %v, want ErrIdempotencyMismatch", err)
		}
	})
}

// A timestamp that the event was not stored with does not stay in it: then no
// retry would be the same.
func TestRepeatedAppendCannotReadItsTimestamp(t *testing.T) {
	backend := &faulty{Service: inmemory.New()}
	svc := adk.New(backend)
	live := create(t, svc, nil)
	mustAppend(t, svc, live, said("1", nil))
	again := said("1", nil)
	backend.list = errBroken
	if err := svc.AppendEvent(t.Context(), live, again); !errors.Is(err, errBroken) || !again.Timestamp.IsZero() {
		t.Errorf("AppendEvent: %v; timestamp %s, want none", err, again.Timestamp)
	}
	backend.list = nil
	mustAppend(t, svc, live, again)
}
