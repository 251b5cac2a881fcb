package adk

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	adksession "google.golang.org/adk/v2/session"

	"github.com/hansardlog/hansard/session"
)

// liveSession is what ADK code holds during a run: a copy of the session as of
// seq, kept up to date by appends through it. It is safe for concurrent use.
type liveSession struct {
	key session.Key
	uid string // the incarnation that it is a copy of

	// turn is held during an append of an exclusive run: the expected head is
	// what the append before it left.
	turn chan struct{}

	mu        sync.RWMutex
	state     map[string]any
	events    []*adksession.Event // never changed in place: readers hold it
	updatedAt time.Time
	seq       int64 // everything up to it has been applied
	// own holds what is being appended through this session, so that the run
	// sees the very values of its program, whoever reads them from the store.
	own map[ownName]own
}

// ownName is what an event is known by before it has a sequence.
type ownName struct{ author, id string }

type own struct {
	payload json.RawMessage
	event   *adksession.Event
}

func nameOf(e *session.Event) ownName { return ownName{e.Author, e.ID} }

var _ adksession.Session = (*liveSession)(nil)

// live makes a live session of a snapshot.
func (s *service) live(found *session.Session) (*liveSession, error) {
	l := &liveSession{
		key:       found.Key,
		uid:       found.UID,
		turn:      make(chan struct{}, 1),
		state:     s.state(found.State),
		updatedAt: found.UpdatedAt,
		seq:       found.HeadSeq,
		own:       map[ownName]own{},
	}
	for _, e := range found.Events {
		event, err := s.decode(e)
		if err != nil {
			return nil, err
		}
		l.events = append(l.events, event)
	}
	return l, nil
}

func (l *liveSession) ID() string { return l.key.SessionID }

func (l *liveSession) AppName() string { return l.key.AppName }

func (l *liveSession) UserID() string { return l.key.UserID }

func (l *liveSession) State() adksession.State { return (*liveState)(l) }

func (l *liveSession) Events() adksession.Events {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return liveEvents(l.events)
}

func (l *liveSession) LastUpdateTime() time.Time {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.updatedAt
}

// append appends req and brings l up to date. The event shown is stripped, of
// event the temp: keys are kept for the running turn.
func (l *liveSession) append(ctx context.Context, s *service, req *session.AppendEventRequest, event, stripped *adksession.Event) error {
	if s.exclusive {
		select {
		case l.turn <- struct{}{}:
			defer func() { <-l.turn }()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	name := nameOf(req.Event)
	l.mu.Lock()
	l.own[name] = own{req.Event.Payload, stripped}
	if head := l.seq; s.exclusive {
		req.ExpectedSeq = &head
	}
	l.mu.Unlock()
	resp, err := s.svc.AppendEvent(ctx, req)
	if err != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.own, name)
		return err
	}
	return l.settle(ctx, s, resp.Event, event)
}

// settle brings l up to date with an event that was committed through it: what
// other writers committed before it comes first. It reads that after the commit
// and holds no lock meanwhile. An error means that l does not show the event
// although it is stored; appending it again tries again.
func (l *liveSession) settle(ctx context.Context, s *service, stored *session.Event, event *adksession.Event) error {
	l.mu.Lock()
	for key, value := range event.Actions.StateDelta {
		if strings.HasPrefix(key, session.TempPrefix) {
			l.state[key] = value
		}
	}
	from := l.seq
	l.mu.Unlock()

	var events []*session.Event
	if stored.Seq > from+1 {
		for e, err := range session.AllEvents(ctx, s.svc, session.ListEventsRequest{
			Key: l.key, UID: l.uid, AfterSeq: from, BeforeSeq: stored.Seq, Limit: session.MaxPageSize,
		}) {
			if err != nil {
				return fmt.Errorf("stored as event %d, but the events before it were not read: %w", stored.Seq, err)
			}
			events = append(events, e)
		}
	}
	events = append(events, stored)

	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range events {
		if err := l.apply(s, e); err != nil {
			return fmt.Errorf("stored as event %d: %w", stored.Seq, err)
		}
	}
	return nil
}

// apply applies an event if it is the next one: another goroutine may have
// applied it meanwhile.
func (l *liveSession) apply(s *service, stored *session.Event) (err error) {
	mine := l.own[nameOf(stored)]
	if delete(l.own, nameOf(stored)); stored.Seq != l.seq+1 {
		return nil
	}
	event, delta := mine.event, map[string]any(stored.StateDelta)
	if event != nil && bytes.Equal(mine.payload, stored.Payload) {
		delta = event.Actions.StateDelta
	} else if event, err = s.decode(stored); err != nil {
		return err
	} else if len(delta) > 0 {
		delta = event.Actions.StateDelta // the same, with the numbers as asked for
	}
	l.seq, l.updatedAt = stored.Seq, stored.RecordedAt
	l.events = append(l.events, event)
	maps.Copy(l.state, delta)
	for _, key := range stored.StateDelete {
		delete(l.state, key)
	}
	return nil
}
