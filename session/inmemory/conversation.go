package inmemory

import (
	"bytes"
	"slices"
	"sync"

	"github.com/hansardlog/hansard/internal/check"
	"github.com/hansardlog/hansard/internal/request"
	"github.com/hansardlog/hansard/internal/stateutil"
	"github.com/hansardlog/hansard/internal/view"
	"github.com/hansardlog/hansard/session"
)

// conversation is the stored log behind a session.
type conversation struct {
	mu  sync.RWMutex
	key session.Key // immutable, like uid, kind and createdAt

	uid       string
	kind      session.Kind
	createdAt int64
	updatedAt int64
	deleted   bool
	events    []*request.Event // events[i].Seq is i+1; a stored event never changes
	byKey     map[requestKey]*request.Event
	periods   []session.Period // ascending FromSeq
	state     stateutil.Values // session keys; values never change in place
}

// requestKey is what an idempotency key names a request by.
type requestKey struct{ author, key string }

// firstSeq is where logs begin: this backend trims none.
const firstSeq = 1

// firstEpoch is where epochs begin: this backend replaces no log.
const firstEpoch = 1

func (c *conversation) alive(uid string) bool {
	return !c.deleted && (uid == "" || uid == c.uid)
}

func (c *conversation) head() int64 { return int64(len(c.events)) }

// add stores an event at the end and gives it its sequence.
func (c *conversation) add(e *request.Event) {
	e.Seq, e.RecordedAt = c.head()+1, c.updatedAt
	e.Changes = stateutil.Scopes{} // applied; the store keeps the encoded delta
	c.events = append(c.events, e)
	if e.IdempotencyKey != "" {
		if c.byKey == nil {
			c.byKey = map[requestKey]*request.Event{}
		}
		c.byKey[requestKey{e.Author, e.IdempotencyKey}] = e
	}
}

// openPeriod returns the index of the member's open period, -1 if there is none.
func (c *conversation) openPeriod(member string) int {
	return slices.IndexFunc(c.periods, func(p session.Period) bool {
		return p.Member == member && p.ToSeq == 0
	})
}

// decode turns stored events into those of the contract, which share nothing
// with the store.
func decode(stored ...*request.Event) ([]*session.Event, error) {
	events, err := request.Decode(stored)
	for _, e := range events {
		e.Payload = bytes.Clone(e.Payload)
	}
	return events, err
}

// view returns what a viewer sees, and whether it may see anything.
func (c *conversation) view(viewer string) (view.View, bool) {
	var own []session.Period
	for _, p := range c.periods {
		if p.Member == viewer {
			own = append(own, p)
		}
	}
	return view.Of(viewer, c.kind, c.key.UserID, own, c.head())
}

// session returns the conversation's row as seen by v, without state and events.
func (c *conversation) session(v view.View) *session.Session {
	updatedAt := c.updatedAt
	if v.Former {
		updatedAt = c.events[v.Head-1].RecordedAt
	}
	return &session.Session{
		Key:       c.key,
		UID:       c.uid,
		Kind:      c.kind,
		MinSeq:    firstSeq,
		HeadSeq:   v.Head,
		Epoch:     firstEpoch,
		State:     session.State{},
		CreatedAt: check.Time(c.createdAt),
		UpdatedAt: check.Time(updatedAt),
	}
}
