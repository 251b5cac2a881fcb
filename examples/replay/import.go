package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"

	"github.com/hansardlog/hansard/session"
)

// A batch is one transaction, and its events are stored or replayed together. It
// spares a commit for each message, which is most of what an append costs, yet
// stays short enough not to keep other writers waiting.
const (
	maxBatchEvents = 500
	maxBatchBytes  = 4 << 20
)

// errDifferent marks a conversation whose id is taken by another one.
var errDifferent = errors.New("stored with other content")

// row is what became of one conversation.
type row struct {
	line              int
	id                string
	events, toolCalls int
	bytes             int64
	stored, replayed  int
}

// importer stores conversations and keeps the account of it. It is safe for
// concurrent use.
type importer struct {
	svc  session.Service
	done func(bytes int) // of the input, for a progress bar

	mu   sync.Mutex
	rows []row
}

// add stores what is missing of c.
func (imp *importer) add(ctx context.Context, c *conversation) error {
	r := row{line: c.line, id: c.id, events: len(c.events), toolCalls: c.toolCalls, bytes: c.bytes}
	err := imp.store(ctx, c, &r)
	imp.done(c.size)
	if err != nil {
		return fmt.Errorf("conversation %q: %w", c.id, err)
	}
	imp.mu.Lock()
	defer imp.mu.Unlock()
	imp.rows = append(imp.rows, r)
	return nil
}

func (imp *importer) store(ctx context.Context, c *conversation, r *row) error {
	sess, created, err := imp.create(ctx, c.key())
	if err != nil {
		return err
	}
	for from, to := range batches(c.events, int(sess.HeadSeq)) {
		expected := int64(from)
		resp, err := imp.svc.AppendEvents(ctx, &session.AppendEventsRequest{
			Key:    c.key(),
			UID:    sess.UID,
			Events: c.events[from:to],
			// A replay is answered whatever the head; anything new has to
			// follow the messages before it.
			ExpectedSeq: &expected,
		})
		switch {
		case errors.Is(err, session.ErrIdempotencyMismatch), errors.Is(err, session.ErrStale):
			return fmt.Errorf("%w: messages %d to %d: %w", errDifferent, from+1, to, err)
		case errors.Is(err, session.ErrInvalidArgument) && created:
			// Half a conversation is worth nothing, and only this run knows it.
			cleanup := imp.svc.Delete(ctx, &session.DeleteRequest{Key: c.key(), UID: sess.UID})
			return errors.Join(fmt.Errorf("messages %d to %d: %w", from+1, to, err), cleanup)
		case err != nil:
			return fmt.Errorf("messages %d to %d: %w", from+1, to, err)
		case resp.Replayed:
			r.replayed += to - from
		default:
			r.stored += to - from
		}
	}
	return nil
}

// create returns the session of key, a new one or the one that exists.
func (imp *importer) create(ctx context.Context, key session.Key) (sess *session.Session, created bool, err error) {
	resp, err := imp.svc.Create(ctx, &session.CreateRequest{Key: key})
	if err == nil {
		return resp.Session, true, nil
	}
	if !errors.Is(err, session.ErrAlreadyExists) {
		return nil, false, err
	}
	got, err := imp.svc.Get(ctx, &session.GetRequest{Key: key, WithoutEvents: true})
	if err != nil {
		return nil, false, err
	}
	return got.Session, false, nil
}

// batches yields the bounds of consecutive parts of events. One ends at head:
// what an earlier run has stored is replayed, the rest is new, and a mixture
// would be refused.
func batches(events []*session.Event, head int) iter.Seq2[int, int] {
	return func(yield func(from, to int) bool) {
		from, size := 0, 0
		for i, event := range events {
			if full := i-from == maxBatchEvents || size+len(event.Payload) > maxBatchBytes; i > from && (full || i == head) {
				if !yield(from, i) {
					return
				}
				from, size = i, 0
			}
			size += len(event.Payload)
		}
		if from < len(events) {
			yield(from, len(events))
		}
	}
}
