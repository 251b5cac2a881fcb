package request

import (
	"context"
	"fmt"
	"slices"

	"github.com/hansardlog/hansard/internal/check"
	"github.com/hansardlog/hansard/internal/stateutil"
	"github.com/hansardlog/hansard/session"
)

// Event is a validated and encoded event, or a stored one.
type Event struct {
	Seq        int64 // set by the store
	RecordedAt int64 // microseconds, set by the store

	ID, Author, Subject, InvocationID, Branch string
	Kind                                      session.EventKind
	Timestamp                                 int64 // microseconds
	IdempotencyKey                            string
	Delta                                     []byte // JSON object of the set keys, nil if there are none
	Deletions                                 []byte // JSON array of the removed keys, nil if there are none
	Format                                    string
	Payload                                   []byte
	Hash                                      []byte // the request's fingerprint

	Changes stateutil.Scopes // Delta and Deletions by scope; not of a stored event
}

// Session returns the event as the contract has it. It shares the payload with e.
func (e *Event) Session() (*session.Event, error) {
	delta, err := stateutil.DecodeObject(e.Delta)
	if err != nil {
		return nil, fmt.Errorf("event %d: %w", e.Seq, err)
	}
	deletions, err := stateutil.DecodeNames(e.Deletions)
	if err != nil {
		return nil, fmt.Errorf("event %d: %w", e.Seq, err)
	}
	return &session.Event{
		Seq:            e.Seq,
		ID:             e.ID,
		Kind:           e.Kind,
		Author:         e.Author,
		Subject:        e.Subject,
		InvocationID:   e.InvocationID,
		Branch:         e.Branch,
		Timestamp:      check.Time(e.Timestamp),
		RecordedAt:     check.Time(e.RecordedAt),
		IdempotencyKey: e.IdempotencyKey,
		StateDelta:     delta,
		StateDelete:    deletions,
		Format:         e.Format,
		Payload:        e.Payload,
	}, nil
}

// Decode turns stored events into those of the contract, nil for none. They share
// their payloads.
func Decode(stored []*Event) ([]*session.Event, error) {
	if len(stored) == 0 {
		return nil, nil
	}
	events := make([]*session.Event, len(stored))
	for i, e := range stored {
		var err error
		if events[i], err = e.Session(); err != nil {
			return nil, err
		}
	}
	return events, nil
}

// StateUser says whose user: keys the event writes: the owner's in kind session,
// the author's where there are members.
func (e *Event) StateUser(kind session.Kind, owner string) string {
	if kind == session.KindSession {
		return owner
	}
	return e.Author
}

// Append is a prepared append of one or more messages.
type Append struct {
	Key         session.Key
	UID         string
	ExpectedSeq *int64
	Now         int64
	Requested   int      // how many events the request had, partial ones included
	Events      []*Event // those to store, in order
	positions   []int    // the place of Events[i] in the request
}

// Answer spreads the stored events over the places of the requested ones, with
// nil for the partial ones.
func (a *Append) Answer(stored []*session.Event) []*session.Event {
	events := make([]*session.Event, a.Requested)
	for i, pos := range a.positions {
		events[pos] = stored[i]
	}
	return events
}

// Authors returns the distinct authors in byte order.
func (a *Append) Authors() []string {
	authors := make([]string, 0, 1)
	for _, e := range a.Events {
		authors = append(authors, e.Author)
	}
	slices.Sort(authors)
	return slices.Compact(authors)
}

// Keyed reports whether an event has an idempotency key.
func (a *Append) Keyed() bool {
	return slices.ContainsFunc(a.Events, func(e *Event) bool { return e.IdempotencyKey != "" })
}

// AppendEvent prepares the append of one event.
func (c Config) AppendEvent(ctx context.Context, req *session.AppendEventRequest) (*Append, error) {
	if req == nil {
		return nil, required()
	}
	a := &Append{Key: req.Key, UID: req.UID}
	return a, c.prepare(ctx, a, []*session.Event{req.Event}, req.ExpectedSeq, func(int) string { return "Event" })
}

// AppendEvents prepares the append of a batch.
func (c Config) AppendEvents(ctx context.Context, req *session.AppendEventsRequest) (*Append, error) {
	if req == nil {
		return nil, required()
	}
	if err := check.Key(req.Key); err != nil {
		return nil, err
	}
	if n := len(req.Events); n < 1 || n > session.MaxBatchEvents {
		return nil, check.Invalid("Events", "%d events, from 1 to %d", n, session.MaxBatchEvents)
	}
	total := 0
	for _, e := range req.Events {
		if e != nil {
			total += len(e.Payload)
		}
	}
	if total > session.MaxBatchPayload {
		return nil, check.Invalid("Events", "%d bytes of payload, at most %d", total, session.MaxBatchPayload)
	}
	a := &Append{Key: req.Key, UID: req.UID}
	return a, c.prepare(ctx, a, req.Events, req.ExpectedSeq, func(i int) string { return fmt.Sprintf("Events[%d]", i) })
}

// prepare fills a; field names the event at a place of the request.
func (c Config) prepare(ctx context.Context, a *Append, events []*session.Event, expected *int64, field func(int) string) error {
	if err := check.Key(a.Key); err != nil {
		return err
	}
	if expected != nil {
		if err := check.NotNegative("ExpectedSeq", *expected); err != nil {
			return err
		}
		head := *expected
		a.ExpectedSeq = &head
	}
	type name struct{ author, key string }
	var names map[name]int // where a batch has each key
	if len(events) > 1 {
		names = make(map[name]int, len(events))
	}
	a.Requested = len(events)
	a.Events, a.positions = make([]*Event, 0, len(events)), make([]int, 0, len(events))
	for i, e := range events {
		prepared, err := c.message(e)
		if err != nil {
			return check.In(field(i), err)
		}
		if e.Partial {
			continue
		}
		if key := e.IdempotencyKey; key != "" && names != nil {
			if first, twice := names[name{e.Author, key}]; twice {
				return check.Invalid(field(i)+".IdempotencyKey", "author and key of %s again", field(first))
			}
			names[name{e.Author, key}] = i
		}
		a.Events = append(a.Events, prepared)
		a.positions = append(a.positions, i)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(a.Events) == 0 {
		return nil
	}
	a.Now = c.now(ctx)
	for i, e := range a.Events {
		if e.ID == "" {
			var err error
			if e.ID, err = c.newID(ctx); err != nil {
				return check.In(field(a.positions[i])+".ID", err)
			}
		}
		if events[a.positions[i]].Timestamp.IsZero() || check.Time(e.Timestamp).IsZero() {
			e.Timestamp = a.Now
		}
	}
	return nil
}

// message validates and encodes a message; ID and Timestamp may be unset still.
// Its errors name fields by what follows the name of the event.
func (c Config) message(e *session.Event) (*Event, error) {
	if e == nil {
		return nil, check.Invalid("", "nil")
	}
	switch e.Kind {
	case "", session.EventMessage:
	case session.EventJoin, session.EventLeave:
		return nil, check.Invalid(".Kind", "%q comes from Join and Leave, only %q is appended", e.Kind, session.EventMessage)
	default:
		return nil, check.Invalid(".Kind", "%q, only %q is appended", e.Kind, session.EventMessage)
	}
	if e.Subject != "" {
		return nil, check.Invalid(".Subject", "set on a message")
	}
	if err := check.Name(".Author", e.Author); err != nil {
		return nil, err
	}
	for _, f := range []struct {
		name, value string
		maxBytes    int
	}{
		{".ID", e.ID, session.MaxTextBytes},
		{".InvocationID", e.InvocationID, session.MaxTextBytes},
		{".Branch", e.Branch, session.MaxBranchBytes},
		{".IdempotencyKey", e.IdempotencyKey, session.MaxTextBytes},
		{".Format", e.Format, session.MaxTextBytes},
	} {
		if err := check.Text(f.name, f.value, f.maxBytes); err != nil {
			return nil, err
		}
	}
	timestamp, _, err := check.Micros(".Timestamp", e.Timestamp)
	if err != nil {
		return nil, err
	}
	if err := check.JSON(".Payload", e.Payload, c.MaxPayload); err != nil {
		return nil, err
	}
	delta, err := stateutil.Encode(".StateDelta", e.StateDelta, ".StateDelete", e.StateDelete)
	if err != nil {
		return nil, err
	}
	prepared := &Event{
		ID:             e.ID,
		Kind:           session.EventMessage,
		Author:         e.Author,
		InvocationID:   e.InvocationID,
		Branch:         e.Branch,
		Timestamp:      timestamp,
		IdempotencyKey: e.IdempotencyKey,
		Delta:          delta.SetJSON(),
		Deletions:      delta.DeleteJSON(),
		Format:         e.Format,
		Payload:        slices.Clone([]byte(e.Payload)),
		Changes:        stateutil.Split(delta.Changes()),
	}
	if len(prepared.Payload) == 0 {
		prepared.Payload = nil
	}
	if prepared.IdempotencyKey != "" { // else nobody asks for it
		prepared.Hash = requestHash(prepared, delta)
	}
	return prepared, nil
}
