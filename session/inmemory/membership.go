package inmemory

import (
	"context"
	"slices"

	"github.com/hansardlog/hansard/internal/check"
	"github.com/hansardlog/hansard/internal/request"
	"github.com/hansardlog/hansard/internal/view"
	"github.com/hansardlog/hansard/session"
)

// Join implements [session.Membership].
func (s *Service) Join(ctx context.Context, req *session.JoinRequest) (*session.JoinResponse, error) {
	ch, err := s.cfg.Join(ctx, req)
	if err != nil {
		return nil, err
	}
	event, period, replayed, err := s.change(ch)
	if err != nil {
		return nil, request.Failed("join", ch.Key, ch.Event.Author, err)
	}
	return &session.JoinResponse{Event: event, Period: period, Replayed: replayed}, nil
}

// Leave implements [session.Membership].
func (s *Service) Leave(ctx context.Context, req *session.LeaveRequest) (*session.LeaveResponse, error) {
	ch, err := s.cfg.Leave(ctx, req)
	if err != nil {
		return nil, err
	}
	event, period, replayed, err := s.change(ch)
	if err != nil {
		return nil, request.Failed("leave", ch.Key, ch.Event.Author, err)
	}
	return &session.LeaveResponse{Event: event, Period: period, Replayed: replayed}, nil
}

// change decides on a join or leave and writes it.
func (s *Service) change(ch *request.Change) (event *session.Event, period session.Period, replayed bool, err error) {
	stored := ch.Event
	err = s.write(ch.Key, ch.UID, func(c *conversation) error {
		first, err := c.replay([]*request.Event{ch.Event})
		if err != nil {
			return err
		}
		if first != nil {
			stored, replayed = first[0], true
			period = c.changed(stored)
			return nil
		}
		actor, member := ch.Event.Author, ch.Event.Subject
		if actor != "" && c.openPeriod(actor) < 0 {
			return session.ErrNotMember
		}
		if c.kind != session.KindGroup {
			return request.NoGroup(c.kind)
		}
		open := c.openPeriod(member)
		if err := request.CheckChange(ch.Event.Kind, open >= 0); err != nil {
			return err
		}
		c.updatedAt = max(c.updatedAt, ch.Now)
		c.add(ch.Event)
		if ch.Event.Kind == session.EventJoin {
			c.periods = append(c.periods, session.Period{Member: member, FromSeq: ch.Event.Seq})
		} else {
			c.periods[open].ToSeq = ch.Event.Seq
		}
		period = c.changed(ch.Event)
		return nil
	})
	if err != nil {
		return nil, session.Period{}, false, err
	}
	events, err := decode(stored)
	if err != nil {
		return nil, session.Period{}, false, err
	}
	return events[0], period, replayed, nil
}

// changed returns the period that a join opened, as it was then, or the one
// that a leave closed.
func (c *conversation) changed(e *request.Event) session.Period {
	if e.Kind == session.EventJoin {
		return session.Period{Member: e.Subject, FromSeq: e.Seq}
	}
	i := slices.IndexFunc(c.periods, func(p session.Period) bool { return p.Member == e.Subject && p.ToSeq == e.Seq })
	return c.periods[i]
}

// ListMembers implements [session.Membership].
func (s *Service) ListMembers(ctx context.Context, req *session.ListMembersRequest) (*session.ListMembersResponse, error) {
	if err := s.cfg.ListMembers(ctx, req); err != nil {
		return nil, err
	}
	resp := &session.ListMembersResponse{}
	err := s.read(req.Key, req.UID, func(c *conversation) error {
		if req.AtSeq > c.head() {
			return check.Invalid("AtSeq", "%d, at most the head %d", req.AtSeq, c.head())
		}
		for _, p := range c.periods {
			if req.History || req.AtSeq == 0 && p.ToSeq == 0 || req.AtSeq > 0 && view.Covers(p, req.AtSeq) {
				resp.Periods = append(resp.Periods, p)
			}
		}
		return nil
	})
	if err != nil {
		return nil, request.Failed("list members of", req.Key, "", err)
	}
	return resp, nil
}
