package main

import (
	"context"
	"runtime"
)

// liveBytes is what an event takes in memory beyond its content.
func liveBytes(ctx context.Context, t *trial) error {
	w, err := t.made(ctx, t.session(0), nil)
	if err != nil {
		return err
	}
	acks := make([]ack, t.live)
	content := 0
	before := liveHeap()
	for i := range acks {
		m := said(0, i)
		r, err := w.append(ctx, m)
		if err != nil {
			return err
		}
		acks[i] = ack{id: m.id, seq: r.seq}
		content += len(m.payload) + len(m.id)
	}
	t.value = float64(liveHeap()-before-int64(content)) / float64(t.live)
	runtime.KeepAlive(t.store)
	runtime.KeepAlive(w)
	return t.verify(ctx, t.session(0), [][]ack{acks}, 0)
}

// liveHeap is what the heap holds after everything dead has been removed.
func liveHeap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
