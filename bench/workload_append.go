package main

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"time"

	"github.com/hansardlog/hansard/session"
)

const app = "bench"

// microseconds is how the time of an append is told.
func microseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }

// session names the i-th session of a trial, each of another user.
func (t *trial) session(i int) session.Key {
	return session.Key{AppName: app, UserID: fmt.Sprintf("user-%d", i), SessionID: t.name}
}

// made creates the i-th session and returns a writer to it.
func (t *trial) made(ctx context.Context, key session.Key, state map[string]any) (writer, error) {
	if err := t.create(ctx, key, state); err != nil {
		return nil, err
	}
	return t.writer(ctx, key, false)
}

// appendAlone: one client, one session.
func appendAlone(ctx context.Context, t *trial) error {
	w, err := t.made(ctx, t.session(0), nil)
	if err != nil {
		return err
	}
	y := t.drive(ctx, []writer{w}, said)
	t.value = microseconds(y.p50())
	return t.verify(ctx, t.session(0), y.writers, 0)
}

// drive is [drive] for the trial's window, with what it met counted.
func (t *trial) drive(ctx context.Context, writers []writer, say func(writer, n int) message) *tally {
	y := drive(ctx, t.window, writers, say)
	t.retries += y.retries
	t.faults.add(failures(y))
	return y
}

func (t *trial) verify(ctx context.Context, key session.Key, writers [][]ack, before int) error {
	f, err := verifyLog(ctx, t.store, key, writers, before)
	t.faults.add(f)
	return err
}

// appendApart: n clients, each with a session of its own.
func appendApart(n int) func(context.Context, *trial) error {
	return func(ctx context.Context, t *trial) error {
		writers := make([]writer, n)
		for i := range writers {
			w, err := t.made(ctx, t.session(i), nil)
			if err != nil {
				return err
			}
			writers[i] = w
		}
		y := t.drive(ctx, writers, said)
		t.value = y.perSecond()
		for i := range writers {
			if err := t.verify(ctx, t.session(i), y.writers[i:i+1], 0); err != nil {
				return err
			}
		}
		return nil
	}
}

// appendTogether: n clients, one session.
func appendTogether(n int) func(context.Context, *trial) error {
	return func(ctx context.Context, t *trial) error {
		key := t.session(0)
		if err := t.create(ctx, key, nil); err != nil {
			return err
		}
		writers := make([]writer, n)
		for i := range writers {
			w, err := t.writer(ctx, key, true)
			if err != nil {
				return err
			}
			writers[i] = w
		}
		y := t.drive(ctx, writers, said)
		t.value = y.perSecond()
		return t.verify(ctx, key, y.writers, 0)
	}
}

// appendUserKeys: n clients, each with a session of its own of the same user,
// each writing its own user: key.
func appendUserKeys(n int) func(context.Context, *trial) error {
	return func(ctx context.Context, t *trial) error {
		keyOf := func(i int) session.Key {
			return session.Key{AppName: app, UserID: t.name, SessionID: fmt.Sprintf("session-%d", i)}
		}
		name := func(i int) string { return fmt.Sprintf("%skey-%d", session.UserPrefix, i) }
		writers := make([]writer, n)
		for i := range writers {
			w, err := t.made(ctx, keyOf(i), nil)
			if err != nil {
				return err
			}
			writers[i] = w
		}
		y := t.drive(ctx, writers, func(writer, n int) message {
			m := said(writer, n)
			m.delta = map[string]any{name(writer): m.id}
			return m
		})
		t.value = y.perSecond()
		want := map[string]any{}
		for i, acks := range y.writers {
			if err := t.verify(ctx, keyOf(i), y.writers[i:i+1], 0); err != nil {
				return err
			}
			if len(acks) > 0 {
				want[name(i)] = acks[len(acks)-1].id
			}
		}
		r, err := t.read(ctx, keyOf(0), 1)
		t.faults.add(compareState(r, want))
		return err
	}
}

// allocations counts those of an append, by one client, with what its driver
// does beside it.
func allocations(ctx context.Context, t *trial) error {
	w, err := t.made(ctx, t.session(0), nil)
	if err != nil {
		return err
	}
	const warm = 20
	messages := make([]message, warm+t.allocs)
	for i := range messages {
		messages[i] = said(0, i)
	}
	acks := make([]ack, 0, len(messages))
	var before, after runtime.MemStats
	for i, m := range messages {
		if i == warm {
			runtime.ReadMemStats(&before)
		}
		r, err := w.append(ctx, m)
		if err != nil {
			return err
		}
		acks = append(acks, ack{id: m.id, seq: r.seq})
	}
	runtime.ReadMemStats(&after)
	t.value = float64(after.Mallocs-before.Mallocs) / float64(t.allocs)
	return t.verify(ctx, t.session(0), [][]ack{acks}, 0)
}

// appendBesideState appends deltas of one key to a session that holds
// contender.param bytes of other state.
func appendBesideState(ctx context.Context, t *trial) error {
	const each = 1 << 10
	state := map[string]any{}
	for i := range t.contender.param / each {
		state["other-"+strconv.Itoa(i)] = words
	}
	w, err := t.made(ctx, t.session(0), state)
	if err != nil {
		return err
	}
	y := t.drive(ctx, []writer{w}, func(writer, n int) message {
		m := said(writer, n)
		m.delta = map[string]any{"key": m.id}
		return m
	})
	t.value = microseconds(y.p50())
	if err := t.verify(ctx, t.session(0), y.writers, 0); err != nil {
		return err
	}
	if acks := y.writers[0]; len(acks) > 0 {
		state["key"] = acks[len(acks)-1].id
	}
	r, err := t.read(ctx, t.session(0), 1)
	t.faults.add(compareState(r, state))
	return err
}

const (
	noState    = "no other state"
	largeState = "large other state"
)

// beside has each contender twice: without other state in the session, and with
// much of it.
func beside(from contenders) contenders {
	return func(ctx context.Context, l *lab) (all []contender, err error) {
		stores, err := from(ctx, l)
		for _, c := range stores {
			none, large := c, c
			none.name = at(c.name, noState)
			large.name, large.param = at(c.name, largeState), l.state
			all = append(all, none, large)
		}
		return all, err
	}
}
