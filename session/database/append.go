package database

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"maps"
	"slices"

	"gorm.io/gorm"

	"github.com/hansardlog/hansard/internal/request"
	"github.com/hansardlog/hansard/internal/stateutil"
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
	var stored []*request.Event
	err = s.inTx(ctx, func(tx *gorm.DB) (err error) {
		stored, replayed, err = s.appendEvents(tx, a)
		return err
	})
	if err != nil {
		return nil, false, err
	}
	answers, err := request.Decode(stored)
	if err != nil {
		return nil, false, err
	}
	return a.Answer(answers), replayed, nil
}

// appendEvents runs inside tx. Lock order: conversation, app keys, user keys,
// session keys, each sorted. Between the lock and the commit it touches only
// rows of its own by key.
//
// The order of checks is that of the contract: incarnation, replay, membership,
// expected head; so a retry is answered as the first time, even if the author
// has left or the head has moved since. A refusal has written nothing and needs
// no rollback, which is what lets it happen in the caller's transaction.
func (s *Service) appendEvents(tx *gorm.DB, a *request.Append) (stored []*request.Event, replayed bool, err error) {
	conv, err := s.lock(tx, a.Key, a.UID)
	if err != nil {
		return nil, false, err
	}
	head := conv.NextSeq - 1
	c := conditions{keyed: a.Keyed(), head: a.ExpectedSeq == nil || *a.ExpectedSeq == head}
	if session.Kind(conv.Kind) != session.KindSession {
		c.members = a.Authors()
	}
	for i, e := range a.Events {
		e.Seq = conv.NextSeq + int64(i)
	}
	v, err := s.dialect.decideAndWrite(tx, s.t, conv, a, c)
	switch {
	case err != nil:
		return nil, false, err
	case v.replays > 0:
		stored, err = s.firstAnswers(tx, conv, a.Events)
		return stored, true, err
	case v.members < len(c.members):
		return nil, false, session.ErrNotMember
	case !c.head:
		return nil, false, &session.StaleError{Key: a.Key, Expected: *a.ExpectedSeq, Head: head}
	}
	for _, e := range a.Events {
		e.RecordedAt = v.updatedAt
	}
	return a.Events, false, s.writeStates(tx, conv, changesOf(conv, a.Events), a.Now)
}

// lock locks the conversation of key if it is the incarnation asked for.
func (s *Service) lock(tx *gorm.DB, key session.Key, uid string) (model.Conversation, error) {
	conv, err := s.dialect.lock(tx, s.t, key)
	if err == nil && uid != "" && conv.UID.String() != uid {
		err = request.ErrNone
	}
	return conv, err
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

// changes are the state changes of one transaction, the last write of each key.
type changes struct {
	app, session stateutil.Values
	users        map[string]stateutil.Values
}

func changesOf(conv model.Conversation, events []*request.Event) changes {
	c := changes{app: stateutil.Values{}, session: stateutil.Values{}, users: map[string]stateutil.Values{}}
	for _, e := range events {
		maps.Copy(c.app, e.Changes.App)
		maps.Copy(c.session, e.Changes.Session)
		if len(e.Changes.User) > 0 {
			user := e.StateUser(session.Kind(conv.Kind), conv.UserID)
			if c.users[user] == nil {
				c.users[user] = stateutil.Values{}
			}
			maps.Copy(c.users[user], e.Changes.User)
		}
	}
	return c
}

// stateScope says which state table is written, and the fixed part of its key.
type stateScope struct {
	table   string        // as in tables.sql
	columns []scopeColumn // fixed for all rows
	owner   string        // column that differs by row, empty if there is none
}

type scopeColumn struct {
	name, sqlType string
	value         any
}

type stateRow struct {
	owner, name string
	value       []byte // nil removes the key
}

// writeStates writes the changes in the lock order.
func (s *Service) writeStates(tx *gorm.DB, conv model.Conversation, c changes, now int64) error {
	app := scopeColumn{"app_name", "text", conv.AppName}
	if err := s.writeScope(tx, stateScope{table: "{app_states}", columns: []scopeColumn{app}}, rowsOf("", c.app), now); err != nil {
		return err
	}
	var users []stateRow
	for user, values := range c.users {
		users = append(users, rowsOf(user, values)...)
	}
	if err := s.writeScope(tx, stateScope{table: "{user_states}", columns: []scopeColumn{app}, owner: "user_id"}, users, now); err != nil {
		return err
	}
	return s.writeScope(tx, stateScope{table: "{session_states}", columns: []scopeColumn{
		{"conversation_id", "uuid", s.dialect.uuid(conv.ID)},
		{"generation", "bigint", conv.Generation},
	}}, rowsOf("", c.session), now)
}

func rowsOf(owner string, values stateutil.Values) []stateRow {
	rows := make([]stateRow, 0, len(values))
	for name, value := range values {
		rows = append(rows, stateRow{owner, name, value})
	}
	return rows
}

func (s *Service) writeScope(tx *gorm.DB, scope stateScope, rows []stateRow, now int64) error {
	if len(rows) == 0 {
		return nil
	}
	slices.SortFunc(rows, func(a, b stateRow) int {
		return cmp.Or(cmp.Compare(a.owner, b.owner), cmp.Compare(a.name, b.name))
	})
	return s.dialect.upsertState(tx, s.t, scope, rows, now)
}
