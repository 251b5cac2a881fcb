package adk_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	adksession "google.golang.org/adk/v2/session"

	"github.com/hansardlog/hansard/adapters/adk"
	"github.com/hansardlog/hansard/session"
)

func TestExclusiveRunFindsAForeignEvent(t *testing.T) {
	t.Parallel()
	onBackends(t, func(t *testing.T, open opener) {
		core := open(t)
		svc, other := adk.New(core, adk.WithExclusiveRuns()), adk.New(open(t), adk.WithExclusiveRuns())
		create(t, svc, nil)
		a, b := get(t, svc), get(t, other)
		mustAppend(t, svc, a, said("a1", nil))
		mustAppend(t, svc, a, said("a2", map[string]any{"k": "a"}))

		late := said("b1", map[string]any{"k": "b", "user:u": "b", "app:x": "b", "temp:t": "b"})
		err := other.AppendEvent(t.Context(), b, late)
		var stale *session.StaleError
		if !errors.Is(err, session.ErrStale) || !errors.As(err, &stale) || stale.Expected != 0 || stale.Head != 2 {
			t.Fatalf("the second run: %v, want a StaleError from 0 to 2", err)
		}
		if b.Events().Len() != 0 || value(t, b, "k") != value(t, b, "temp:t") {
			t.Errorf("the second run shows %v, k = %s", ids(b), value(t, b, "k"))
		}
		now := get(t, svc)
		if got := ids(now); !slices.Equal(got, []string{"a1", "a2"}) {
			t.Errorf("stored %v", got)
		}
		shared, err := core.GetState(t.Context(), &session.GetStateRequest{AppName: key.AppName, UserID: key.UserID})
		if err != nil {
			t.Fatal(err)
		}
		if value(t, now, "k") != "string a" || len(shared.State) != 0 {
			t.Errorf("k = %s, shared state %v", value(t, now, "k"), shared.State)
		}

		// A foreign event after its own ones ends the first run, too. What it
		// stored before stays.
		mustAppend(t, other, get(t, other), said("b2", nil))
		if err := svc.AppendEvent(t.Context(), a, said("a3", nil)); !errors.Is(err, session.ErrStale) {
			t.Errorf("the first run: %v, want ErrStale", err)
		}
		if got := ids(get(t, svc)); !slices.Equal(got, []string{"a1", "a2", "b2"}) {
			t.Errorf("stored %v", got)
		}
	})
}

// However runs race, no event of one stands between two of another.
func TestExclusiveRunsNeverInterleave(t *testing.T) {
	t.Parallel()
	onBackends(t, func(t *testing.T, open opener) {
		svc := adk.New(open(t), adk.WithExclusiveRuns())
		create(t, svc, nil)
		const runs = 8
		var wg sync.WaitGroup
		acknowledged := make([]int, runs)
		var begun []adksession.Session
		for range runs {
			begun = append(begun, get(t, svc))
		}
		for r, run := range begun {
			wg.Go(func() {
				for n := range 4 {
					event := said(fmt.Sprintf("%d.%d", r, n), nil)
					event.InvocationID = fmt.Sprint(r)
					err := svc.AppendEvent(t.Context(), run, event)
					if errors.Is(err, session.ErrStale) {
						return
					}
					if err != nil {
						t.Error(err)
						return
					}
					acknowledged[r]++
				}
			})
		}
		wg.Wait()
		var order []string
		stored := make([]int, runs)
		for event := range get(t, svc).Events().All() {
			order = append(order, event.InvocationID)
			var r int
			if _, err := fmt.Sscan(event.InvocationID, &r); err != nil {
				t.Fatal(err)
			}
			stored[r]++
		}
		if !slices.Equal(stored, acknowledged) {
			t.Errorf("acknowledged %v, stored %v", acknowledged, stored)
		}
		if blocks := slices.Compact(slices.Clone(order)); len(blocks) != 1 {
			t.Errorf("events of runs %v: all began on an empty log, so one run has them all", order)
		}
	})
}
