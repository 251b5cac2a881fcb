package adk

import (
	"context"
	"errors"
	"fmt"

	"github.com/hansardlog/hansard/session"
)

// maxAttempts bounds how often a refused append is tried without progress.
const maxAttempts = 4

// append appends the events that follow the stored ones, or finds that they are
// stored. Events of both kinds in one request would be a mismatch, so it is cut
// at the head. The expected head keeps out of a log that somebody else has
// appended to; if that is another import, its events are found stored.
func (c *copying) append(ctx context.Context, batch []*session.Event) error {
	for attempt := 1; len(batch) > 0; {
		n := c.cut(batch)
		expected := int64(c.stored)
		resp, err := c.dst.AppendEvents(ctx, &session.AppendEventsRequest{
			Key: c.s.key, UID: c.uid, Events: batch[:n], ExpectedSeq: &expected,
		})
		switch {
		case errors.Is(err, session.ErrStale), errors.Is(err, session.ErrIdempotencyMismatch):
			moved, headErr := c.moved(ctx)
			if headErr != nil {
				return headErr
			}
			if attempt++; !moved || attempt > maxAttempts {
				return fmt.Errorf("%w: events %d to %d: %w", ErrConflict, c.stored+1, c.stored+n, err)
			}
			continue
		case err != nil:
			return named(gone(err), batch[:n])
		case resp.Events[0].Seq != expected+1 || resp.Events[n-1].Seq != expected+int64(n):
			return fmt.Errorf("%w: event %q is not at %d", ErrConflict, batch[0].ID, expected+1)
		}
		if resp.Replayed {
			c.rep.Replayed += n
		} else {
			c.rep.Events += n
		}
		c.stored += n
		c.head = max(c.head, c.stored)
		c.progress.Events += n
		c.report(c.progress)
		batch, attempt = batch[n:], 1
	}
	return nil
}

// cut returns how many of the events go into one request.
func (c *copying) cut(batch []*session.Event) int {
	n, size := 0, 0
	for n < len(batch) && (n == 0 || size+len(batch[n].Payload) <= pageBytes) {
		size += len(batch[n].Payload)
		n++
	}
	if replays := c.head - c.stored; replays > 0 {
		n = min(n, replays)
	}
	return n
}

// moved reads the head anew and reports whether it is another.
func (c *copying) moved(ctx context.Context) (bool, error) {
	resp, err := c.dst.Get(ctx, &session.GetRequest{Key: c.s.key, UID: c.uid, WithoutEvents: true})
	if err != nil {
		return false, gone(err)
	}
	before := c.head
	c.head = int(resp.Session.HeadSeq)
	return c.head != before, nil
}

// gone says why a session that was there is not found.
func gone(err error) error {
	if errors.Is(err, session.ErrNotFound) {
		return fmt.Errorf("%w: it was deleted there meanwhile", ErrConflict)
	}
	return err
}

// named adds the ID of the event that an error is about.
func named(err error, batch []*session.Event) error {
	var arg *session.ArgumentError
	var i int
	if errors.As(err, &arg) {
		if _, scanErr := fmt.Sscanf(arg.Field, "Events[%d]", &i); scanErr == nil && i < len(batch) {
			return fmt.Errorf("event %q: %w", batch[i].ID, err)
		}
	}
	return err
}
