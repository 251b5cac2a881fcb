package inmemory

import (
	"bytes"
	"context"
	"maps"
	"slices"

	"github.com/hansardlog/hansard/internal/request"
	"github.com/hansardlog/hansard/internal/stateutil"
	"github.com/hansardlog/hansard/session"
)

// AppendEvent implements [session.Log].
func (s *Service) AppendEvent(ctx context.Context, req *session.AppendEventRequest) (*session.AppendEventResponse, error) {
	a, err := s.cfg.AppendEvent(ctx, req)
	if err != nil {
		return nil, err
	}
	events, replayed, err := s.appendEvents(a)
	if err != nil {
		return nil, request.Failed("append event to", a.Key, "author", err)
	}
	return &session.AppendEventResponse{Event: events[0], Replayed: replayed}, nil
}

// AppendEvents implements [session.Log].
func (s *Service) AppendEvents(ctx context.Context, req *session.AppendEventsRequest) (*session.AppendEventsResponse, error) {
	a, err := s.cfg.AppendEvents(ctx, req)
	if err != nil {
		return nil, err
	}
	events, replayed, err := s.appendEvents(a)
	if err != nil {
		return nil, request.Failed("append events to", a.Key, "author", err)
	}
	return &session.AppendEventsResponse{Events: events, Replayed: replayed}, nil
}

func (s *Service) appendEvents(a *request.Append) (events []*session.Event, replayed bool, err error) {
	if len(a.Events) == 0 { // all partial
		return a.Answer(nil), false, nil
	}
	var stored []*request.Event
	err = s.write(a.Key, a.UID, func(c *conversation) error {
		first, err := c.replay(a.Events)
		if err != nil || first != nil {
			stored, replayed = first, true
			return err
		}
		if c.kind != session.KindSession {
			for _, author := range a.Authors() {
				if c.openPeriod(author) < 0 {
					return session.ErrNotMember
				}
			}
		}
		if a.ExpectedSeq != nil && *a.ExpectedSeq != c.head() {
			return &session.StaleError{Key: a.Key, Expected: *a.ExpectedSeq, Head: c.head()}
		}
		stored = a.Events
		s.store(c, a)
		return nil
	})
	if err != nil {
		return nil, false, err
	}
	answers, err := decode(stored...)
	if err != nil {
		return nil, false, err
	}
	return a.Answer(answers), replayed, nil
}

// replay returns the stored events if every event is a replay, nil if none is.
func (c *conversation) replay(events []*request.Event) ([]*request.Event, error) {
	var first []*request.Event
	for _, e := range events {
		if e.IdempotencyKey == "" {
			continue
		}
		stored := c.byKey[requestKey{e.Author, e.IdempotencyKey}]
		if stored == nil {
			continue
		}
		if !bytes.Equal(stored.Hash, e.Hash) {
			return nil, session.ErrIdempotencyMismatch
		}
		first = append(first, stored)
	}
	if first != nil && len(first) != len(events) {
		return nil, session.ErrIdempotencyMismatch
	}
	return first, nil
}

// store writes an accepted append. Nothing in it can fail.
func (s *Service) store(c *conversation, a *request.Append) {
	var app stateutil.Values
	var users map[string]stateutil.Values
	for _, e := range a.Events {
		app = merge(app, e.Changes.App)
		if len(e.Changes.User) > 0 {
			if users == nil {
				users = map[string]stateutil.Values{}
			}
			user := e.StateUser(c.kind, c.key.UserID)
			users[user] = merge(users[user], e.Changes.User)
		}
	}
	if len(app)+len(users) > 0 {
		defer s.applyShared(a.Key.AppName, app, users)()
	}
	c.updatedAt = max(c.updatedAt, a.Now)
	for _, e := range a.Events {
		apply(&c.state, e.Changes.Session)
		c.add(e)
	}
}

// merge adds changes to those before them.
func merge(before, changes stateutil.Values) stateutil.Values {
	if before == nil && len(changes) > 0 {
		before = make(stateutil.Values, len(changes))
	}
	maps.Copy(before, changes)
	return before
}

// ListEvents implements [session.Log].
func (s *Service) ListEvents(ctx context.Context, req *session.ListEventsRequest) (*session.ListEventsResponse, error) {
	l, err := s.cfg.ListEvents(ctx, req)
	if err != nil {
		return nil, err
	}
	resp := &session.ListEventsResponse{MinSeq: firstSeq, Epoch: firstEpoch}
	var stored []*request.Event
	err = s.read(l.Key, l.UID, func(c *conversation) error {
		v, ok := c.view(l.Viewer)
		if !ok {
			return session.ErrNotMember
		}
		if l.Epoch != 0 && l.Epoch != firstEpoch {
			return &session.EpochError{Key: l.Key, Expected: l.Epoch, Epoch: firstEpoch}
		}
		resp.UID, resp.HeadSeq = c.uid, v.Head
		windows := v.Between(l.AfterSeq, l.BeforeSeq)
		if l.Descending {
			slices.Reverse(windows)
		}
		for _, w := range windows {
			part := slices.Clone(c.events[w.From-1 : w.To])
			if l.Descending {
				slices.Reverse(part)
			}
			stored = append(stored, part[:min(len(part), l.Limit+1-len(stored))]...)
		}
		return nil
	})
	if err != nil {
		return nil, request.Failed("list events of", l.Key, l.Viewer, err)
	}
	if resp.More = len(stored) > l.Limit; resp.More {
		stored = stored[:l.Limit]
	}
	if resp.Events, err = decode(stored...); err != nil {
		return nil, request.Failed("list events of", l.Key, l.Viewer, err)
	}
	return resp, nil
}
