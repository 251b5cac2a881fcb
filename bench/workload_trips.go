package main

import (
	"context"
	"fmt"

	"github.com/hansardlog/hansard/session"
)

// scopeNames are what contenders are named by, by how many state scopes their
// events change.
var scopeNames = []string{"no delta", "1 scope", "2 scopes", "3 scopes"}

func tripContenders(ctx context.Context, l *lab) (all []contender, err error) {
	db, err := l.postgres(ctx)
	if err != nil {
		return nil, err
	}
	add := func(name string, ours bool, s store, w *wire) {
		for scopes, label := range scopeNames {
			all = append(all, contender{name: at(name, label), ours: ours, param: scopes, store: s, wire: w})
		}
	}
	for _, p := range paths {
		w := new(wire)
		h, err := db.hansard(ctx, "hansard", w, p.options...)
		if err != nil {
			return nil, err
		}
		add(p.name, true, h, w)
	}
	w := new(wire)
	a, err := db.adk(w)
	add(adkName, false, a, w)
	return all, err
}

// at names a contender by what differs.
func at(name, label string) string { return name + ", " + label }

// roundTrips counts those of an append that changes contender.param scopes,
// after a few that have prepared the statements.
func roundTrips(ctx context.Context, t *trial) error {
	key := t.session(0)
	writer, err := t.made(ctx, key, nil)
	if err != nil {
		return err
	}
	want := map[string]any{}
	var acks []ack
	for i := range 4 {
		m := said(0, i)
		m.delta = map[string]any{}
		for _, prefix := range []string{"", session.UserPrefix, session.AppPrefix}[:t.contender.param] {
			m.delta[prefix+"key"] = fmt.Sprint(i)
			want[prefix+"key"] = fmt.Sprint(i)
		}
		before := t.contender.wire.count()
		r, err := writer.append(ctx, m)
		if err != nil {
			return err
		}
		t.value = float64(t.contender.wire.count() - before)
		acks = append(acks, ack{id: m.id, seq: r.seq})
	}
	if err := t.verify(ctx, key, [][]ack{acks}, 0); err != nil {
		return err
	}
	r, err := t.read(ctx, key, 1)
	t.faults.add(compareState(r, want))
	return err
}
