package main

import (
	"context"
	"slices"
	"sync"
	"time"
)

// tally is what writers that ran beside each other did.
type tally struct {
	writers [][]ack // by writer, in the order of its appends
	elapsed time.Duration
	retries int
	errors  int
	err     error // the first of them
}

// ack is one acknowledged append.
type ack struct {
	id   string
	seq  int64
	took time.Duration
}

func (t *tally) appends() int {
	n := 0
	for _, acks := range t.writers {
		n += len(acks)
	}
	return n
}

// perSecond is the rate of all writers together.
func (t *tally) perSecond() float64 { return float64(t.appends()) / t.elapsed.Seconds() }

// p50 is the median time of an append.
func (t *tally) p50() time.Duration {
	var all []time.Duration
	for _, acks := range t.writers {
		for _, a := range acks {
			all = append(all, a.took)
		}
	}
	return median(all)
}

// drive has every writer append, each after its last was answered, until the
// window is over; each appends at least once. A refused append is counted and
// the writer goes on.
func drive(ctx context.Context, window time.Duration, writers []writer, say func(writer, n int) message) *tally {
	t := &tally{writers: make([][]ack, len(writers))}
	retries, errs := make([]int, len(writers)), make([][]error, len(writers))
	start := time.Now()
	var wg sync.WaitGroup
	for i, w := range writers {
		wg.Go(func() {
			for n := 0; n == 0 || time.Since(start) < window && ctx.Err() == nil; n++ {
				m := say(i, n)
				before := time.Now()
				r, err := w.append(ctx, m)
				took := time.Since(before)
				retries[i] += r.attempts - 1
				if err != nil {
					errs[i] = append(errs[i], err)
					continue
				}
				t.writers[i] = append(t.writers[i], ack{m.id, r.seq, took})
			}
		})
	}
	wg.Wait()
	t.elapsed = time.Since(start)
	for i := range writers {
		t.retries += retries[i]
		t.errors += len(errs[i])
		if t.err == nil && len(errs[i]) > 0 {
			t.err = errs[i][0]
		}
	}
	return t
}

// repeat calls f until the window is over, at least once, and returns the
// median time of a call.
func repeat(ctx context.Context, window time.Duration, f func() error) (time.Duration, error) {
	var took []time.Duration
	for start := time.Now(); len(took) == 0 || time.Since(start) < window; {
		before := time.Now()
		if err := f(); err != nil {
			return 0, err
		}
		took = append(took, time.Since(before))
		if err := ctx.Err(); err != nil {
			return 0, err
		}
	}
	return median(took), nil
}

// number is what has a median.
type number interface{ ~int64 | ~float64 }

// median of no values is 0.
func median[T number](values []T) T {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
