package adk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"

	"github.com/hansardlog/hansard/session"
)

// append appends req and brings l up to date.
func (l *liveSession) append(ctx context.Context, s *service, req *session.AppendEventRequest, mine own) error {
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
	l.own[name] = mine
	l.mu.Unlock()
	resp, err := l.send(ctx, s, req)
	if err != nil {
		if nothingStored(err) {
			l.mu.Lock()
			defer l.mu.Unlock()
			delete(l.own, name)
		}
		return err
	}
	return l.settle(ctx, s, resp.Event, mine)
}

// send appends req, in an exclusive run behind what the run knows.
func (l *liveSession) send(ctx context.Context, s *service, req *session.AppendEventRequest) (*session.AppendEventResponse, error) {
	if !s.exclusive {
		return s.svc.AppendEvent(ctx, req)
	}
	for {
		l.mu.RLock()
		head := l.seq
		l.mu.RUnlock()
		req.ExpectedSeq = &head
		resp, err := s.svc.AppendEvent(ctx, req)
		if !errors.Is(err, session.ErrStale) {
			return resp, err
		}
		ours, lookup := l.reclaim(ctx, s)
		if lookup != nil {
			return nil, fmt.Errorf("the events since %d were not read: %w", head, lookup)
		}
		if !ours {
			return nil, err
		}
	}
}

// reclaim applies the events after l's if they are its own and their answers
// were lost. It reports whether there were any and no others.
func (l *liveSession) reclaim(ctx context.Context, s *service) (ours bool, err error) {
	l.mu.RLock()
	from, pending := l.seq, len(l.own)
	l.mu.RUnlock()
	if pending < 2 { // nothing but the append that asks
		return false, nil
	}
	for e, err := range l.log(ctx, s, from, 0) {
		if err != nil {
			return false, err
		}
		l.mu.Lock()
		if _, ours = l.ownOf(e); ours {
			err = l.apply(s, e)
		}
		l.mu.Unlock()
		if err != nil || !ours {
			return false, err
		}
	}
	return ours, nil
}

// settle brings l up to date with an event that was committed through it: what
// other writers committed before it comes first. It reads that after the commit
// and holds no lock meanwhile. An error means that l does not show the event
// although it is stored; appending it again tries again.
func (l *liveSession) settle(ctx context.Context, s *service, stored *session.Event, mine own) error {
	l.mu.RLock()
	from := l.seq
	l.mu.RUnlock()
	var events []*session.Event
	if stored.Seq > from+1 {
		for e, err := range l.log(ctx, s, from, stored.Seq) {
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
	// Of an event that l was read with there are no temp: keys yet. What the
	// turn has set since stays.
	for key, value := range mine.delta {
		if _, set := l.state[key]; !set && isTemp(key) {
			l.state[key] = value
		}
	}
	return nil
}

// log reads the events of l's incarnation between two sequences.
func (l *liveSession) log(ctx context.Context, s *service, after, before int64) iter.Seq2[*session.Event, error] {
	return session.AllEvents(ctx, s.svc, session.ListEventsRequest{
		Key: l.key, UID: l.uid, AfterSeq: after, BeforeSeq: before, Limit: session.MaxPageSize,
	})
}

// apply applies an event, unless another goroutine has applied it meanwhile.
func (l *liveSession) apply(s *service, stored *session.Event) (err error) {
	mine, ok := l.ownOf(stored)
	delete(l.own, nameOf(stored))
	if stored.Seq <= l.seq {
		return nil
	}
	if !ok {
		if mine.event, err = s.decode(stored); err != nil {
			return err
		}
		mine.delta = s.state(stored.StateDelta)
	}
	l.seq, l.updatedAt = stored.Seq, stored.RecordedAt
	l.events = append(l.events, mine.event)
	maps.Copy(l.state, mine.delta)
	for _, key := range stored.StateDelete {
		delete(l.state, key)
	}
	return nil
}

// ownOf returns what was appended through l and stored as this event.
func (l *liveSession) ownOf(stored *session.Event) (own, bool) {
	mine, ok := l.own[nameOf(stored)]
	return mine, ok && bytes.Equal(mine.payload, stored.Payload)
}

// nothingStored reports whether an append's error says so. Else the answer may
// have been lost after the commit.
func nothingStored(err error) bool {
	switch session.Code(err) {
	case "CANCELED", "DEADLINE_EXCEEDED", "INTERNAL":
		return false
	}
	return true
}
