package adk

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/hansardlog/hansard/session"
)

// copying is the import of one session.
type copying struct {
	*importer
	s     *sourceSession
	log   *logReader
	state session.State // of the session's own scope

	uid    string // in the destination, empty until it is there
	head   int    // of the destination, as far as known
	stored int    // events of the source that are known to be there
}

// run imports the session and returns which count of the report it belongs to.
func (c *copying) run(ctx context.Context) (outcome *int, err error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	whole, err := c.find(ctx)
	if err != nil {
		return nil, err
	}
	if whole {
		return &c.rep.Skipped, nil
	}
	outcome = &c.rep.Completed
	if c.uid == "" {
		outcome = &c.rep.Created
	}
	for c.stored < c.s.events {
		batch, err := c.read(ctx)
		if err != nil {
			return nil, err
		}
		if len(batch) == 0 {
			break // the source has lost some since they were counted
		}
		if err := c.create(ctx); err != nil {
			return nil, err
		}
		if err := c.append(ctx, batch); err != nil {
			return nil, err
		}
	}
	return outcome, c.create(ctx)
}

// check decodes the session's row.
func (c *copying) check() error {
	state, err := decodeState(c.s.state)
	switch {
	case err != nil:
		return fmt.Errorf("%w: column state: %w", ErrUnreadable, err)
	case c.s.created.IsZero():
		return fmt.Errorf("%w: column create_time: not a time", ErrUnreadable)
	case c.s.timed < c.s.events:
		return fmt.Errorf("%w: column timestamp of %d events: not a time", ErrUnreadable, c.s.events-c.s.timed)
	}
	c.state = ownScope(state)
	return nil
}

// find looks for the session in the destination. It is whole there if it was
// made with the same creation time and holds the last event at its place. A
// session with no more than the events of an import has the state of the
// source, or the source has changed since.
func (c *copying) find(ctx context.Context) (whole bool, err error) {
	want := int64(c.s.events)
	resp, err := c.dst.Get(ctx, &session.GetRequest{Key: c.s.key, AfterSeq: max(want-1, 0), NumRecentEvents: 1})
	if errors.Is(err, session.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	found := resp.Session
	switch {
	case found.Kind != session.KindSession, found.CreatedAt.UnixMicro() != c.s.created.UnixMicro():
		return false, fmt.Errorf("%w: a session of this key was made there at %v, not by an import", ErrConflict, found.CreatedAt)
	case found.HeadSeq <= want && !reflect.DeepEqual(ownScope(found.State), c.state):
		return false, fmt.Errorf("%w: the state of the session is another, as after a change in the source since it was imported; "+
			"delete it there to import it anew", ErrConflict)
	}
	c.uid, c.head = found.UID, int(found.HeadSeq)
	if found.HeadSeq < want || want == 0 {
		return found.HeadSeq >= want, nil
	}
	events := found.Events
	if found.HeadSeq > want { // the session has gone on since
		page, err := c.dst.ListEvents(ctx, &session.ListEventsRequest{Key: c.s.key, UID: found.UID, AfterSeq: want - 1, Limit: 1})
		if err != nil {
			return false, gone(err)
		}
		events = page.Events
	}
	if len(events) != 1 || events[0].Format != Format || events[0].ID != importedID(c.s.lastID) {
		return false, fmt.Errorf("%w: event %d is not %q, the last one of the source", ErrConflict, want, c.s.lastID)
	}
	return true, nil
}

// create makes the session in the destination unless it is there. It is called
// when the first events have been read, so that of an unreadable session that
// is not large there is nothing.
func (c *copying) create(ctx context.Context) error {
	if c.uid != "" {
		return nil
	}
	resp, err := c.dst.Create(ctx, &session.CreateRequest{Key: c.s.key, State: c.state, CreatedAt: c.s.created})
	if err == nil {
		c.uid = resp.Session.UID
		return nil
	}
	if !errors.Is(err, session.ErrAlreadyExists) {
		return err
	}
	// Another import was faster: what it has stored will be replayed.
	if _, err := c.find(ctx); err != nil {
		return err
	}
	if c.uid == "" {
		return fmt.Errorf("%w: it was deleted there meanwhile", ErrConflict)
	}
	return nil
}

// read returns the next events as the destination gets them.
func (c *copying) read(ctx context.Context) ([]*session.Event, error) {
	rows, err := c.log.next(ctx, c.s, c.eventPage)
	if err != nil {
		return nil, err
	}
	batch := make([]*session.Event, len(rows))
	for i, row := range rows {
		if batch[i], err = row.hansard(); err != nil {
			return nil, fmt.Errorf("event %q: %w", row.id.String, err)
		}
	}
	return batch, nil
}

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

// decodeState decodes a column state, which ADK reads as empty if it is NULL.
func decodeState(data []byte) (session.State, error) {
	var state session.State
	if err := decodeExact(data, &state); err != nil {
		return nil, err
	}
	return state, nil
}

// ownScope returns the keys that belong to the session alone.
func ownScope(state session.State) session.State {
	own := session.State{}
	for key, value := range state {
		if !strings.HasPrefix(key, session.AppPrefix) && !strings.HasPrefix(key, session.UserPrefix) && !strings.HasPrefix(key, session.TempPrefix) {
			own[key] = value
		}
	}
	return own
}
