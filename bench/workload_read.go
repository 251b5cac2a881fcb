package main

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/hansardlog/hansard/session"
)

var historyKey = session.Key{AppName: app, UserID: "reader", SessionID: "history"}

const recentEvents = 50

// filled returns a store that stands for as long as the lab does, in a schema
// of its own, with a history of n events. The paths of Hansard share it.
func (l *lab) filled(ctx context.Context, n int) ([]contender, error) {
	db, err := l.postgres(ctx)
	if err != nil {
		return nil, err
	}
	if l.histories[n] == nil {
		schema := fmt.Sprintf("history_%d", n)
		if err := db.makeSchema(ctx, schema); err != nil {
			return nil, err
		}
		var all []contender
		for _, p := range paths {
			h, err := db.hansard(ctx, schema, nil, p.options...)
			if err != nil {
				return nil, err
			}
			all = append(all, contender{name: p.name, ours: true, param: n, store: h})
		}
		if err := makeHistory(ctx, all[0].store, n); err != nil {
			return nil, err
		}
		if err := db.settle(ctx); err != nil {
			return nil, err
		}
		if l.histories == nil {
			l.histories = map[int][]contender{}
		}
		l.histories[n] = all
	}
	return l.histories[n], nil
}

func makeHistory(ctx context.Context, s store, n int) error {
	if err := s.create(ctx, historyKey, nil); err != nil {
		return err
	}
	return s.fill(ctx, historyKey, n)
}

// adkFilled is ADK with a session of n events and nothing else.
func (l *lab) adkFilled(ctx context.Context, n int) (contender, error) {
	all, err := pgContenders(ctx, l)
	if err != nil {
		return contender{}, err
	}
	for _, c := range all {
		if c.name == adkName {
			s, err := c.open(ctx)
			if err == nil {
				err = makeHistory(ctx, s, n)
			}
			if err == nil {
				err = l.postgresDB.settle(ctx)
			}
			return c.kept(), err
		}
	}
	return contender{}, fmt.Errorf("no %s", adkName)
}

// recentContenders have a session of a short and one of a long history; ADK the
// short one.
func recentContenders(ctx context.Context, l *lab) (all []contender, err error) {
	for _, n := range []int{l.short, l.long} {
		filled, err := l.filled(ctx, n)
		if err != nil {
			return nil, err
		}
		all = append(all, named(filled, sizeName(n))...)
	}
	a, err := l.adkFilled(ctx, l.short)
	return append(all, named([]contender{a}, sizeName(l.short))...), err
}

// growingContenders append to a short history, made anew for each repetition
// because it would not stay short, and to a long one.
func growingContenders(ctx context.Context, l *lab) (all []contender, err error) {
	short, err := without(pgContenders, adkName, floorName)(ctx, l)
	if err != nil {
		return nil, err
	}
	for _, c := range short {
		empty := c.fresh
		c.fresh = func(ctx context.Context) (store, error) {
			s, err := empty(ctx)
			if err != nil {
				return nil, err
			}
			return s, makeHistory(ctx, s, l.short)
		}
		all = append(all, c)
	}
	all = named(all, sizeName(l.short))
	long, err := l.filled(ctx, l.long)
	return append(all, named(long, sizeName(l.long))...), err
}

// named returns the contenders with what differs in their names.
func named(all []contender, label string) []contender {
	all = slices.Clone(all)
	for i := range all {
		all[i].name = at(all[i].name, label)
	}
	return all
}

// sizeName is 1M for 1000000.
func sizeName(n int) string {
	switch {
	case n >= 1_000_000 && n%1_000_000 == 0:
		return fmt.Sprintf("%dM", n/1_000_000)
	case n >= 1000 && n%1000 == 0:
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprint(n)
}

// getRecent reads the last events of the history.
func getRecent(ctx context.Context, t *trial) error {
	p50, err := repeat(ctx, t.window, func() error {
		r, err := t.read(ctx, historyKey, recentEvents)
		t.faults.add(compareRead(r, recentEvents))
		return err
	})
	t.value = microseconds(p50)
	return err
}

// compareRead counts what is missing of the n last events of a session.
func compareRead(r record, n int) (f faults) {
	for range n - len(r.ids) {
		f.found(&f.Missing, "%d events instead of %d", len(r.ids), n)
	}
	for i, seq := range r.seqs {
		if want := r.head - int64(len(r.seqs)) + int64(i) + 1; seq != want {
			f.found(&f.Gaps, "sequence %d stands where %d belongs", seq, want)
		}
	}
	return f
}

// appendToHistory appends to a session that has a history.
func appendToHistory(ctx context.Context, t *trial) error {
	before, err := t.read(ctx, historyKey, 1)
	if err != nil {
		return err
	}
	w, err := t.writer(ctx, historyKey, false)
	if err != nil {
		return err
	}
	y := t.drive(ctx, []writer{w}, func(writer, n int) message {
		m := said(writer, n)
		m.id = t.name + " " + m.id
		return m
	})
	t.value = microseconds(y.p50())
	return t.verify(ctx, historyKey, y.writers, int(before.head))
}

// wholeContenders have one session that is read as a whole.
func wholeContenders(ctx context.Context, l *lab) ([]contender, error) {
	filled, err := l.filled(ctx, l.whole)
	if err != nil {
		return nil, err
	}
	a, err := l.adkFilled(ctx, l.whole)
	return append(slices.Clone(filled), a), err
}

// getWhole reads all events and tells the time for one.
func getWhole(ctx context.Context, t *trial) error {
	p50, err := repeat(ctx, t.window, func() error {
		r, err := t.read(ctx, historyKey, 0)
		t.faults.add(compareRead(r, t.whole))
		return err
	})
	t.value = microseconds(p50) / float64(t.whole)
	return err
}

const (
	pageOfSessions = 50
	largestPage    = session.MaxPageSize

	allPages  = "all pages"
	onePage   = "one page"
	withState = "with state"
)

// listContenders have many sessions, each with a key of state; contender.param
// is the size of the one page that is read, 0 for all pages.
func listContenders(ctx context.Context, l *lab) (all []contender, err error) {
	stores, err := without(pgContenders, floorName)(ctx, l)
	if err != nil {
		return nil, err
	}
	filled := false // the paths of Hansard share their tables
	for _, c := range stores {
		if !c.ours || !filled {
			s, err := c.open(ctx)
			if err == nil {
				err = makeSessions(ctx, s, l.sessions, l.pool)
			}
			if err != nil {
				return nil, err
			}
			filled = filled || c.ours
		}
		c = c.kept()
		if !c.ours {
			all = append(all, c)
			continue
		}
		for _, state := range []bool{false, true} {
			whole, page := c, c
			whole.name, whole.state = at(c.name, allPages), state
			page.name, page.state, page.param = at(c.name, onePage), state, pageOfSessions
			if state {
				whole.name, page.name = at(whole.name, withState), at(page.name, withState)
			}
			all = append(all, whole, page)
		}
	}
	return all, l.postgresDB.settle(ctx)
}

// makeSessions creates n sessions of one app and a hundred users.
func makeSessions(ctx context.Context, s store, n, beside int) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(beside)
	for i := range n {
		g.Go(func() error {
			key := session.Key{AppName: app, UserID: fmt.Sprintf("user-%d", i%100), SessionID: fmt.Sprintf("session-%d", i)}
			return s.create(ctx, key, map[string]any{"topic": "what it is about"})
		})
	}
	return g.Wait()
}

// listSessions reads all sessions, or one page of them.
func listSessions(ctx context.Context, t *trial) error {
	size, one, want := largestPage, false, t.sessions
	if t.contender.param > 0 {
		size, one, want = t.contender.param, true, min(t.contender.param, t.sessions)
	}
	p50, err := repeat(ctx, t.window, func() error {
		n, err := t.list(ctx, app, size, one, t.contender.state)
		for range want - n {
			t.faults.found(&t.faults.Missing, "%d sessions instead of %d", n, want)
		}
		return err
	})
	t.value = microseconds(p50) / 1e3
	return err
}
