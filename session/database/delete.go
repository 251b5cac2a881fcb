package database

import (
	"context"
	"database/sql"
	"errors"
	"reflect"
	"slices"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/hansardlog/hansard/internal/request"
	"github.com/hansardlog/hansard/session"
)

// removalBatch is how many rows one statement of a removal deletes at most.
const removalBatch = 1000

// Delete implements [session.Sessions].
//
// A short transaction removes the conversation's row and notes its log as
// discarded: from then on nothing finds it. Its rows are deleted after that in
// bounded batches; what an interruption leaves is invisible and is finished by
// the next Delete or Create of the key.
func (s *Service) Delete(ctx context.Context, req *session.DeleteRequest) error {
	now, err := s.cfg.Delete(ctx, req)
	if err != nil {
		return err
	}
	err = s.inTx(ctx, func(tx *gorm.DB) error { return s.discard(tx, req.Key, req.UID, now) })
	if err == nil {
		err = s.removeDiscarded(ctx, request.ConversationID(req.Key))
	}
	return request.Failed("delete", req.Key, "", err)
}

func (s *Service) discard(tx *gorm.DB, key session.Key, uid string, now int64) error {
	conv, err := s.lock(tx, key, uid)
	if errors.Is(err, request.ErrNone) {
		return nil
	}
	if err != nil {
		return err
	}
	id := s.dialect.uuid(conv.ID)
	_, err = exec(tx, s.t.sql(`INSERT INTO {discarded_logs} (conversation_id, generation, discarded_at) VALUES (?, ?, ?)`),
		id, conv.Generation, now)
	if err != nil {
		return err
	}
	_, err = exec(tx, s.t.sql(`DELETE FROM {conversations} AS c WHERE `+byKey), keyArgs(s.dialect, key)...)
	return err
}

// logTables are the tables of a log's rows, with the rest of their primary keys
// and variables to scan that into.
var logTables = []struct {
	table, key string
	scan       func() []any
}{
	{"{events}", "seq", func() []any { return []any{new(int64)} }},
	{"{membership_periods}", "member, from_seq", func() []any { return []any{new(string), new(int64)} }},
	{"{state_checkpoints}", "seq", func() []any { return []any{new(int64)} }},
	{"{session_states}", "name", func() []any { return []any{new(string)} }},
}

// removeDiscarded deletes the rows of discarded logs of a conversation, each
// batch in a transaction of its own unless all are in the caller's.
func (s *Service) removeDiscarded(ctx context.Context, id uuid.UUID) error {
	var generations []int64
	err := s.inStatement(ctx, func(tx *gorm.DB) error {
		generations = nil
		return query(tx, s.t.sql(`SELECT generation FROM {discarded_logs} WHERE conversation_id = ?`), []any{s.dialect.uuid(id)},
			func(rows *sql.Rows) error {
				var generation int64
				err := rows.Scan(&generation)
				generations = append(generations, generation)
				return err
			})
	})
	if err != nil {
		return err
	}
	for _, generation := range generations {
		if err := s.removeLog(ctx, id, generation); err != nil {
			return err
		}
	}
	return nil
}

// removeLog deletes ranges of keys: a batch ends before the row that follows it.
// (A list of the keys to delete is joined row by row by some plans.)
func (s *Service) removeLog(ctx context.Context, id uuid.UUID, generation int64) error {
	log := []any{s.dialect.uuid(id), generation}
	for _, lt := range logTables {
		for more := true; more; {
			err := s.inStatement(ctx, func(tx *gorm.DB) (err error) {
				next := lt.scan()
				more, err = queryRow(tx, s.t.sql(`SELECT `+lt.key+` FROM `+lt.table+`
					WHERE conversation_id = ? AND generation = ? ORDER BY `+lt.key+` LIMIT 1 OFFSET ?`), slices.Concat(log, []any{removalBatch}), next...)
				if err != nil {
					return err
				}
				statement, args := `DELETE FROM `+lt.table+` WHERE conversation_id = ? AND generation = ?`, log
				if more {
					for i, v := range next {
						next[i] = reflect.Indirect(reflect.ValueOf(v)).Interface() // bound as a value
					}
					statement += ` AND (` + lt.key + `) < ` + row(len(next))
					args = slices.Concat(log, next)
				}
				_, err = exec(tx, s.t.sql(statement), args...)
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	// Last, so that an interrupted removal is found again.
	return s.inStatement(ctx, func(tx *gorm.DB) error {
		_, err := exec(tx, s.t.sql(`DELETE FROM {discarded_logs} WHERE conversation_id = ? AND generation = ?`), log...)
		return err
	})
}
