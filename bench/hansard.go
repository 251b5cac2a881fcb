package main

import (
	"context"

	"github.com/hansardlog/hansard/session"
)

// hansard is a service of the contract, on any backend.
type hansard struct{ svc session.Service }

func (h hansard) create(ctx context.Context, key session.Key, state map[string]any) error {
	_, err := h.svc.Create(ctx, &session.CreateRequest{Key: key, State: state})
	return err
}

func (h hansard) fill(ctx context.Context, key session.Key, n int) error {
	for first := 0; first < n; first += session.MaxBatchEvents {
		events := make([]*session.Event, min(n-first, session.MaxBatchEvents))
		for i := range events {
			events[i] = event(said(0, first+i))
		}
		if _, err := h.svc.AppendEvents(ctx, &session.AppendEventsRequest{Key: key, Events: events}); err != nil {
			return err
		}
	}
	return nil
}

func event(m message) *session.Event {
	return &session.Event{
		ID: m.id, Author: author, InvocationID: invocation, Format: format, Payload: m.payload, StateDelta: m.delta,
	}
}

func (h hansard) writer(_ context.Context, key session.Key, _ bool) (writer, error) {
	return hansardWriter{h.svc, key}, nil
}

type hansardWriter struct {
	svc session.Log
	key session.Key
}

func (w hansardWriter) append(ctx context.Context, m message) (receipt, error) {
	resp, err := w.svc.AppendEvent(ctx, &session.AppendEventRequest{Key: w.key, Event: event(m)})
	if err != nil {
		return receipt{attempts: 1}, err
	}
	return receipt{seq: resp.Event.Seq, attempts: 1}, nil
}

func (h hansard) read(ctx context.Context, key session.Key, recent int) (record, error) {
	resp, err := h.svc.Get(ctx, &session.GetRequest{Key: key, NumRecentEvents: recent})
	if err != nil {
		return record{}, err
	}
	s := resp.Session
	r := record{head: s.HeadSeq, state: s.State, ids: make([]string, len(s.Events)), seqs: make([]int64, len(s.Events))}
	for i, e := range s.Events {
		r.ids[i], r.seqs[i] = e.ID, e.Seq
	}
	return r, nil
}

func (h hansard) list(ctx context.Context, app string, pageSize int, one, state bool) (n int, err error) {
	req := &session.ListRequest{AppName: app, PageSize: pageSize, WithState: state}
	for {
		resp, err := h.svc.List(ctx, req)
		if err != nil {
			return n, err
		}
		n += len(resp.Sessions)
		if req.PageToken = resp.NextPageToken; req.PageToken == "" || one {
			return n, nil
		}
	}
}
