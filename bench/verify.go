package main

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	"github.com/hansardlog/hansard/session"
)

// faults are what verification counts in a workload. A store that keeps what it
// acknowledged has none.
type faults struct {
	Errors   int    `json:"errors"`    // appends refused for no reason of the contract
	Missing  int    `json:"missing"`   // acknowledged and not stored, or stored under another sequence
	Surplus  int    `json:"surplus"`   // stored and never acknowledged, or twice
	Gaps     int    `json:"gaps"`      // sequences that are not the one before plus 1, and a wrong head
	Disorder int    `json:"disorder"`  // appends of one writer stored in another order
	LostKeys int    `json:"lost_keys"` // acknowledged state keys without their last value
	First    string `json:"first,omitempty"`
}

func (f *faults) total() int {
	return f.Errors + f.Missing + f.Surplus + f.Gaps + f.Disorder + f.LostKeys
}

// add joins the counts and keeps the first description.
func (f *faults) add(g faults) {
	f.Errors += g.Errors
	f.Missing += g.Missing
	f.Surplus += g.Surplus
	f.Gaps += g.Gaps
	f.Disorder += g.Disorder
	f.LostKeys += g.LostKeys
	if f.First == "" {
		f.First = g.First
	}
}

// found counts one fault and describes it if it is the first.
func (f *faults) found(count *int, format string, args ...any) {
	*count++
	if f.First == "" {
		f.First = fmt.Sprintf(format, args...)
	}
}

func (f faults) String() string {
	var parts []string
	for _, c := range []struct {
		n    int
		name string
	}{
		{f.Errors, "errors"}, {f.Missing, "missing"}, {f.Surplus, "surplus"},
		{f.Gaps, "gaps"}, {f.Disorder, "out of order"}, {f.LostKeys, "lost keys"},
	} {
		if c.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c.n, c.name))
		}
	}
	return strings.Join(parts, ", ")
}

// failures are the errors that the writers of a tally met.
func failures(t *tally) faults {
	f := faults{Errors: t.errors}
	if t.err != nil {
		f.First = t.err.Error()
	}
	return f
}

// verifyLog compares a session with what its writers were told, in which before
// events stood when they began.
func verifyLog(ctx context.Context, s store, key session.Key, writers [][]ack, before int) (faults, error) {
	acked := 0
	for _, acks := range writers {
		acked += len(acks)
	}
	recent := 0 // all
	if before > 0 {
		recent = acked
	}
	r, err := s.read(ctx, key, recent)
	if err != nil {
		return faults{}, err
	}
	return compareLog(r, writers, before), nil
}

func compareLog(r record, writers [][]ack, before int) (f faults) {
	place := make(map[string]int, len(r.ids))
	for i, id := range r.ids {
		if _, twice := place[id]; twice {
			f.found(&f.Surplus, "event %s is stored twice", id)
		}
		place[id] = i
	}
	acked, kept := 0, 0
	for _, acks := range writers {
		acked += len(acks)
		last := -1
		for _, a := range acks {
			i, stored := place[a.id]
			switch {
			case !stored:
				f.found(&f.Missing, "acknowledged event %s is not stored", a.id)
				continue
			case r.seqs != nil && r.seqs[i] != a.seq:
				f.found(&f.Missing, "event %s was acknowledged as %d and is stored as %d", a.id, a.seq, r.seqs[i])
			case i < last:
				f.found(&f.Disorder, "event %s is stored before an earlier one of its writer", a.id)
			}
			last = i
			kept++
		}
	}
	for range len(place) - kept {
		f.found(&f.Surplus, "%d events are stored, %d were acknowledged", len(place), acked)
	}
	if r.seqs == nil {
		return f
	}
	for i, seq := range r.seqs {
		if want := int64(before + i + 1); seq != want {
			f.found(&f.Gaps, "sequence %d stands where %d belongs", seq, want)
		}
	}
	if want := int64(before + acked); r.head != want {
		f.found(&f.Gaps, "the head is %d after %d events", r.head, want)
	}
	return f
}

// compareState counts the keys of want that the session has not.
func compareState(r record, want map[string]any) (f faults) {
	for name, value := range want {
		if got := r.state[name]; !reflect.DeepEqual(got, value) {
			f.found(&f.LostKeys, "state key %s is %v, %v was acknowledged", name, got, value)
		}
	}
	return f
}
