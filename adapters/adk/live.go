package adk

import (
	"encoding/json"
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
	// sees the very values of its program, whoever reads them from the store. An
	// append whose outcome is unknown stays in it: it may be in the log.
	own map[eventName]own
}

// own is an event on its way into the log.
type own struct {
	payload json.RawMessage
	event   *adksession.Event // as it is to be shown
	delta   map[string]any    // with the temp: keys, which are for the running turn
}

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
		own:       map[eventName]own{},
	}
	if l.seq == 0 { // the creation was the last update: by ADK's clock
		l.updatedAt = found.CreatedAt
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
