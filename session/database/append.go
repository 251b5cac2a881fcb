package database

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"slices"

	"gorm.io/gorm"

	"github.com/hansardlog/hansard/internal/request"
	"github.com/hansardlog/hansard/model"
	"github.com/hansardlog/hansard/session"
)

// AppendEvent implements [session.Log].
func (s *Service) AppendEvent(ctx context.Context, req *session.AppendEventRequest) (*session.AppendEventResponse, error) {
	a, err := s.cfg.AppendEvent(ctx, req)
	if err != nil {
		return nil, err
	}
	events, replayed, err := s.appendPrepared(ctx, a)
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
	events, replayed, err := s.appendPrepared(ctx, a)
	if err != nil {
		return nil, request.Failed("append events to", a.Key, "author", err)
	}
	return &session.AppendEventsResponse{Events: events, Replayed: replayed}, nil
}

func (s *Service) appendPrepared(ctx context.Context, a *request.Append) (events []*session.Event, replayed bool, err error) {
	if len(a.Events) == 0 { // all partial
		return a.Answer(nil), false, nil
	}
	o := s.combined(ctx, a)
	if o.err != nil {
		return nil, false, o.err
	}
	answers, err := request.Decode(o.stored)
	if err != nil {
		return nil, false, err
	}
	return a.Answer(answers), o.replayed, nil
}

// outcome is what came of an append.
type outcome struct {
	stored   []*request.Event
	replayed bool
	err      error
}

// append appends in a transaction of its own.
func (s *Service) append(ctx context.Context, a *request.Append) (o outcome) {
	if s.direct != nil {
		if o, served := s.appendDirect(ctx, a); served {
			return o
		}
	}
	o.err = s.inTx(ctx, func(tx *gorm.DB) (err error) {
		o.stored, o.replayed, err = s.appendEvents(tx, a, nil)
		return err
	})
	return o
}

// appendEvents runs inside tx; left may get the events to insert. Lock order: conversation, app keys, user keys,
// session keys, each sorted. Between the lock and the commit it touches only
// rows of its own by key.
func (s *Service) appendEvents(tx *gorm.DB, a *request.Append, left *leftEvents) (stored []*request.Event, replayed bool, err error) {
	c := conditions{keyed: a.Keyed(), guarded: true}
	conv, v, err := s.dialect.lockAndTake(tx, s.t, a, c)
	if err == nil {
		err = isIncarnation(conv, a.UID)
	}
	if err == nil {
		v, err = s.dialect.decideAndWrite(tx, s.t, conv, a, c, v, left)
	}
	if err == nil {
		err = v.refusal(conv, a)
	}
	switch {
	case err != nil:
		return nil, false, err
	case v.replays > 0:
		stored, err = s.firstAnswers(tx, conv, a.Events)
		return stored, true, err
	}
	return v.number(a), false, nil
}

// refusal returns why an append was refused, if it was. The order of checks is
// that of the contract: incarnation, replay, membership, expected head; so a
// retry is answered as the first time, even if the author has left or the head
// has moved since. A refusal has written nothing and needs no rollback, which is
// what lets it happen in the caller's transaction.
func (v verdict) refusal(conv model.Conversation, a *request.Append) error {
	head := conv.NextSeq - 1
	switch {
	case v.replays > 0:
		return nil
	case v.strangers > 0:
		return session.ErrNotMember
	case a.ExpectedSeq != nil && *a.ExpectedSeq != head:
		return &session.StaleError{Key: a.Key, Expected: *a.ExpectedSeq, Head: head}
	case !v.taken: // never acknowledge what was not written
		return errors.New("database: an append was neither written nor refused")
	}
	return nil
}

// number tells the events what was written of them.
func (v verdict) number(a *request.Append) []*request.Event {
	for i, e := range a.Events {
		e.Seq, e.RecordedAt = v.first+int64(i), v.updatedAt
	}
	return a.Events
}

// lock locks the conversation of key if it is the incarnation asked for.
func (s *Service) lock(tx *gorm.DB, key session.Key, uid string) (model.Conversation, error) {
	conv, err := s.dialect.lock(tx, s.t, key)
	if err == nil {
		err = isIncarnation(conv, uid)
	}
	return conv, err
}

func isIncarnation(conv model.Conversation, uid string) error {
	if uid != "" && conv.UID.String() != uid {
		return request.ErrNone
	}
	return nil
}

// firstAnswers returns the stored events that answer events again. Each must be
// known, and for the same request.
func (s *Service) firstAnswers(tx *gorm.DB, conv model.Conversation, events []*request.Event) ([]*request.Event, error) {
	type name struct{ author, key string }
	known := map[name]*request.Event{}
	keyed := slices.DeleteFunc(slices.Clone(events), func(e *request.Event) bool { return e.IdempotencyKey == "" })
	err := s.dialect.replays(tx, s.t, conv, eventColumns, keyed, func(rows *sql.Rows) error {
		e, err := scanEvent(rows)
		if err == nil {
			known[name{e.Author, e.IdempotencyKey}] = e
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	first := make([]*request.Event, len(events))
	for i, e := range events {
		first[i] = known[name{e.Author, e.IdempotencyKey}]
		if first[i] == nil || !bytes.Equal(first[i].Hash, e.Hash) {
			return nil, session.ErrIdempotencyMismatch
		}
	}
	return first, nil
}
