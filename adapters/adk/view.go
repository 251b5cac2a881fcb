package adk

import (
	"iter"
	"maps"
	"slices"

	adksession "google.golang.org/adk/v2/session"
)

// liveEvents is the list of events as of one instant.
type liveEvents []*adksession.Event

func (e liveEvents) All() iter.Seq[*adksession.Event] { return slices.Values(e) }

func (e liveEvents) Len() int { return len(e) }

// At returns nil for an index out of range, as ADK's own list does.
func (e liveEvents) At(i int) *adksession.Event {
	if i < 0 || i >= len(e) {
		return nil
	}
	return e[i]
}

// liveState is the state of a live session. Set changes the live session only:
// what is to be stored travels in an event's delta.
type liveState liveSession

func (st *liveState) Get(key string) (any, error) {
	st.mu.RLock()
	defer st.mu.RUnlock()
	value, ok := st.state[key]
	if !ok {
		return nil, adksession.ErrStateKeyNotExist
	}
	return value, nil
}

func (st *liveState) Set(key string, value any) error {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.state[key] = value
	return nil
}

func (st *liveState) All() iter.Seq2[string, any] {
	st.mu.RLock()
	defer st.mu.RUnlock()
	return maps.All(maps.Clone(st.state))
}
