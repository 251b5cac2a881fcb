package main

import (
	"context"
	"fmt"
	"time"
)

// workload is what contenders do one after the other, again and again.
type workload struct {
	name       string
	goals      string // that it is measured for
	unit       string
	contenders contenders
	// run is one repetition, which verifies what it did.
	run func(ctx context.Context, t *trial) error
}

// contenders opens those who take part.
type contenders func(ctx context.Context, l *lab) ([]contender, error)

// contender is a store in a workload.
type contender struct {
	name string
	ours bool // its faults are faults of the program
	// param is what differs between contenders with one store: the length of a
	// history, bytes of state, scopes of a delta.
	param int
	state bool // of a list: with the state of each session, as ADK always does
	store store
	// fresh, if set, returns the store for a repetition with nothing in it.
	fresh func(ctx context.Context) (store, error)
	wire  *wire // counts round trips, where a workload asks for them
}

// kept returns the contender with what its store holds.
func (c contender) kept() contender {
	c.fresh = nil
	return c
}

func (c contender) open(ctx context.Context) (store, error) {
	if c.fresh == nil {
		return c.store, nil
	}
	return c.fresh(ctx)
}

// trial is one repetition of one contender.
type trial struct {
	store
	config
	contender contender
	name      string // differs for each repetition and contender
	window    time.Duration

	value   float64
	retries int
	faults  faults
}

// series is what a contender came to in a workload.
type series struct {
	Workload  string    `json:"workload"`
	Contender string    `json:"contender"`
	Unit      string    `json:"unit"`
	Median    float64   `json:"median"`
	Values    []float64 `json:"values"`
	Retries   int       `json:"retries"` // refusals as stale that were tried again
	Faults    faults    `json:"faults"`
	Ours      bool      `json:"hansard"`
}

// measure runs a workload: a short round that warms up, then the repetitions,
// in each of which every contender has its turn.
func (l *lab) measure(ctx context.Context, w workload) ([]series, error) {
	contenders, err := w.contenders(ctx, l)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", w.name, err)
	}
	all := make([]series, len(contenders))
	for rep := range 1 + l.reps {
		for i, c := range contenders {
			s, err := c.open(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s: open %s: %w", w.name, c.name, err)
			}
			if c.ours && l.wrap != nil {
				s = l.wrap(s)
			}
			t := &trial{
				store: s, config: l.config, contender: c, window: l.window,
				name: fmt.Sprintf("%s %s %d", w.name, c.name, rep),
			}
			if rep == 0 {
				t.window /= 5
			}
			if err := w.run(ctx, t); err != nil {
				return nil, fmt.Errorf("%s: %s: %w", w.name, c.name, err)
			}
			r := &all[i]
			r.Workload, r.Contender, r.Unit, r.Ours = w.name, c.name, w.unit, c.ours
			r.Faults.add(t.faults)
			if rep > 0 {
				r.Values = append(r.Values, t.value)
				r.Retries += t.retries
			}
		}
	}
	for i := range all {
		all[i].Median = median(all[i].Values)
	}
	return all, nil
}
