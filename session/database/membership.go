package database

import (
	"context"
	"database/sql"
	"slices"

	"gorm.io/gorm"

	"github.com/hansardlog/hansard/internal/check"
	"github.com/hansardlog/hansard/internal/request"
	"github.com/hansardlog/hansard/model"
	"github.com/hansardlog/hansard/session"
)

// Join implements [session.Membership].
func (s *Service) Join(ctx context.Context, req *session.JoinRequest) (*session.JoinResponse, error) {
	ch, err := s.cfg.Join(ctx, req)
	if err != nil {
		return nil, err
	}
	event, period, replayed, err := s.changePrepared(ctx, ch)
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
	event, period, replayed, err := s.changePrepared(ctx, ch)
	if err != nil {
		return nil, request.Failed("leave", ch.Key, ch.Event.Author, err)
	}
	return &session.LeaveResponse{Event: event, Period: period, Replayed: replayed}, nil
}

func (s *Service) changePrepared(ctx context.Context, ch *request.Change) (event *session.Event, period session.Period, replayed bool, err error) {
	var stored *request.Event
	err = s.inTx(ctx, func(tx *gorm.DB) (err error) {
		stored, period, replayed, err = s.changeMembership(tx, ch)
		return err
	})
	if err != nil {
		return nil, session.Period{}, false, err
	}
	event, err = stored.Session()
	return event, period, replayed, err
}

// changeMembership runs inside tx, in the order of checks and locks of
// appendEvents. The event and the period are one transaction.
func (s *Service) changeMembership(tx *gorm.DB, ch *request.Change) (stored *request.Event, period session.Period, replayed bool, err error) {
	refuse := func(err error) (*request.Event, session.Period, bool, error) { return nil, period, false, err }
	conv, err := s.lock(tx, ch.Key, ch.UID)
	if err != nil {
		return refuse(err)
	}
	if first, err := s.firstChange(tx, conv, ch.Event); err != nil {
		return refuse(err)
	} else if first != nil {
		period, err = s.changedPeriod(tx, conv, first)
		return first, period, true, err
	}
	actor, member := ch.Event.Author, ch.Event.Subject
	if actor != "" {
		if open, err := s.periods(tx, conv, "AND member = ? AND to_seq IS NULL", actor); err != nil || len(open) == 0 {
			return refuse(orNotMember(err))
		}
	}
	if kind := session.Kind(conv.Kind); kind != session.KindGroup {
		return refuse(request.NoGroup(kind))
	}
	open, err := s.periods(tx, conv, "AND member = ? AND to_seq IS NULL", member)
	if err != nil {
		return refuse(err)
	}
	if err := request.CheckChange(ch.Event.Kind, len(open) > 0); err != nil {
		return refuse(err)
	}
	e := ch.Event
	v, err := s.dialect.decideAndWrite(tx, s.t, conv, &request.Append{Key: ch.Key, Now: ch.Now, Events: []*request.Event{e}}, conditions{}, verdict{}, nil)
	if err != nil {
		return refuse(err)
	}
	e.Seq, e.RecordedAt = v.first, v.updatedAt
	if e.Kind == session.EventJoin {
		err = s.openPeriods(tx, conv, []*request.Event{e})
		return e, session.Period{Member: member, FromSeq: e.Seq}, false, err
	}
	_, err = exec(tx, s.t.sql(`UPDATE {membership_periods} SET to_seq = ?
		WHERE conversation_id = ? AND generation = ? AND member = ? AND from_seq = ?`),
		e.Seq, s.dialect.uuid(conv.ID), conv.Generation, member, open[0].FromSeq)
	return e, session.Period{Member: member, FromSeq: open[0].FromSeq, ToSeq: e.Seq}, false, err
}

func orNotMember(err error) error {
	if err == nil {
		return session.ErrNotMember
	}
	return err
}

// firstChange returns the first answer to a join or leave, nil if it is new.
func (s *Service) firstChange(tx *gorm.DB, conv model.Conversation, e *request.Event) (*request.Event, error) {
	if e.IdempotencyKey == "" {
		return nil, nil
	}
	known := false
	err := s.dialect.replays(tx, s.t, conv, "1", []*request.Event{e}, func(*sql.Rows) error { known = true; return nil })
	if err != nil || !known {
		return nil, err
	}
	first, err := s.firstAnswers(tx, conv, []*request.Event{e})
	if err != nil {
		return nil, err
	}
	return first[0], nil
}

// changedPeriod returns the period that a stored join opened, as it was then, or
// the one that a stored leave closed.
func (s *Service) changedPeriod(tx *gorm.DB, conv model.Conversation, e *request.Event) (session.Period, error) {
	if e.Kind == session.EventJoin {
		return session.Period{Member: e.Subject, FromSeq: e.Seq}, nil
	}
	closed, err := s.periods(tx, conv, "AND member = ? AND to_seq = ?", e.Subject, e.Seq)
	if err != nil || len(closed) == 0 {
		return session.Period{}, orNotMember(err)
	}
	return closed[0], nil
}

// openPeriods opens a period for each of the joins.
func (s *Service) openPeriods(tx *gorm.DB, conv model.Conversation, joins []*request.Event) error {
	const columns = 5
	for part := range slices.Chunk(joins, maxParameters/columns) {
		args := make([]any, 0, len(part)*columns)
		for _, join := range part {
			args = append(args, s.dialect.uuid(conv.ID), conv.Generation, join.Subject, join.Seq, conv.AppName)
		}
		_, err := exec(tx, s.t.replacer.Replace(`INSERT INTO {membership_periods} (conversation_id, generation, member, from_seq, app_name)
			VALUES `+placeholders(len(part), row(columns))), args...)
		if err != nil {
			return err
		}
	}
	return nil
}

// periods returns the periods of a conversation that match a constant
// condition, in ascending FromSeq.
func (s *Service) periods(tx *gorm.DB, conv model.Conversation, condition string, args ...any) ([]session.Period, error) {
	var periods []session.Period
	err := query(tx, s.t.sql(`SELECT member, from_seq, COALESCE(to_seq, 0) FROM {membership_periods}
		WHERE conversation_id = ? AND generation = ? `+condition+` ORDER BY from_seq`),
		append([]any{s.dialect.uuid(conv.ID), conv.Generation}, args...),
		func(rows *sql.Rows) error {
			var p session.Period
			err := rows.Scan(&p.Member, &p.FromSeq, &p.ToSeq)
			periods = append(periods, p)
			return err
		})
	return periods, err
}

// ListMembers implements [session.Membership].
func (s *Service) ListMembers(ctx context.Context, req *session.ListMembersRequest) (*session.ListMembersResponse, error) {
	if err := s.cfg.ListMembers(ctx, req); err != nil {
		return nil, err
	}
	var resp *session.ListMembersResponse
	err := s.inSnapshot(ctx, func(tx *gorm.DB) (err error) {
		resp, err = s.listMembers(tx, req)
		return err
	})
	if err != nil {
		return nil, request.Failed("list members of", req.Key, "", err)
	}
	return resp, nil
}

func (s *Service) listMembers(tx *gorm.DB, req *session.ListMembersRequest) (*session.ListMembersResponse, error) {
	conv, _, err := s.look(tx, req.Key, req.UID, "")
	if err != nil {
		return nil, err
	}
	condition, args := "AND to_seq IS NULL", []any(nil)
	switch head := conv.NextSeq - 1; {
	case req.AtSeq > head:
		return nil, check.Invalid("AtSeq", "%d, at most the head %d", req.AtSeq, head)
	case req.AtSeq > 0:
		condition, args = "AND from_seq <= ? AND (to_seq IS NULL OR to_seq >= ?)", []any{req.AtSeq, req.AtSeq}
	case req.History:
		condition = ""
	}
	periods, err := s.periods(tx, conv, condition, args...)
	return &session.ListMembersResponse{Periods: periods}, err
}
