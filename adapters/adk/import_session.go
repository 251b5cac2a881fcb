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
		return fmt.Errorf("%w: columns timestamp and id of %d events: not a time or not text", ErrUnreadable, c.s.events-c.s.timed)
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
