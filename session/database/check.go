package database

import (
	"context"
	"database/sql"
	"fmt"
	"iter"

	"gorm.io/gorm"

	"github.com/google/uuid"

	"github.com/hansardlog/hansard/internal/request"
	"github.com/hansardlog/hansard/model"
	"github.com/hansardlog/hansard/session"
)

// Violation is a finding of [Service.Check].
type Violation struct {
	// Guarantee is P1, P2, P3, P4, P5 or P8, or "orphan" for rows that no key
	// leads to: of a log whose conversation does not exist, or a conversation
	// whose ID is not that of its key.
	Guarantee string
	Key       session.Key // zero for rows of an unknown log
	Detail    string
}

func (v *Violation) Error() string {
	if v.Key == (session.Key{}) {
		return "database: " + v.Guarantee + " violated: " + v.Detail
	}
	return fmt.Sprintf("database: %s violated in %s: %s", v.Guarantee, v.Key, v.Detail)
}

// checkPage is how many conversations, events or logs Check reads at once.
const checkPage = 500

// Check verifies P1 to P5 and P8 on the live database and looks for orphans. It
// yields a [*Violation] for each finding and goes on; any other error, such as
// the context's, is the last thing it yields. No finding, nothing yielded.
//
// It runs beside writers: each conversation is checked in one snapshot, in
// pages of its events, and no connection is held while the caller's loop body
// runs. Conversations created meanwhile may be missed.
func (s *Service) Check(ctx context.Context) iter.Seq[error] {
	return func(yield func(error) bool) {
		if s.checkConversations(ctx, yield) {
			s.checkOrphans(ctx, yield)
		}
	}
}

// checkConversations reports whether to go on.
func (s *Service) checkConversations(ctx context.Context, yield func(error) bool) bool {
	after := uuid.Nil
	for {
		var page []model.Conversation
		err := s.inStatement(ctx, func(tx *gorm.DB) error {
			page = nil
			return query(tx, s.t.sql(`SELECT `+conversationColumns+` FROM {conversations} c WHERE c.id > ? ORDER BY c.id LIMIT ?`),
				[]any{s.dialect.uuid(after), checkPage}, func(rows *sql.Rows) error {
					page = append(page, model.Conversation{})
					return scanConversation(rows.Scan, &page[len(page)-1])
				})
		})
		if err != nil {
			yield(fmt.Errorf("check: %w", err))
			return false
		}
		for _, conv := range page {
			key := session.Key{AppName: conv.AppName, UserID: conv.UserID, SessionID: conv.SessionID}
			if request.ConversationID(key) != conv.ID {
				if !yield(&Violation{Guarantee: "orphan", Key: key, Detail: fmt.Sprintf("row %s is not found by its key", conv.ID)}) {
					return false
				}
				continue
			}
			var found []error
			err := s.inSnapshot(ctx, func(tx *gorm.DB) (err error) {
				found, err = s.checkConversation(tx, key)
				return err
			})
			if err != nil {
				yield(fmt.Errorf("check %s: %w", key, err))
				return false
			}
			for _, violation := range found {
				if !yield(violation) {
					return false
				}
			}
		}
		if len(page) < checkPage {
			return true
		}
		after = page[len(page)-1].ID
	}
}

// checkOrphans looks for rows of logs that neither belong to a conversation nor
// are being removed. A page is one statement, so one instant: a deletion moves a
// log from one side to the other in one transaction.
func (s *Service) checkOrphans(ctx context.Context, yield func(error) bool) {
	type log struct {
		conversation uuid.UUID
		generation   int64
		owned        bool
	}
	for _, lt := range logTables {
		var after log
		for {
			var page []log
			err := s.inStatement(ctx, func(tx *gorm.DB) error {
				page = nil
				return query(tx, s.t.sql(`SELECT d.conversation_id, d.generation,
						EXISTS (SELECT 1 FROM {conversations} c WHERE c.id = d.conversation_id AND c.generation = d.generation) OR
						EXISTS (SELECT 1 FROM {discarded_logs} l WHERE l.conversation_id = d.conversation_id AND l.generation = d.generation)
					FROM (SELECT DISTINCT conversation_id, generation FROM `+lt.table+`
						WHERE (conversation_id, generation) > (?, ?) ORDER BY conversation_id, generation LIMIT ?) d
					ORDER BY d.conversation_id, d.generation`),
					[]any{s.dialect.uuid(after.conversation), after.generation, checkPage}, func(rows *sql.Rows) error {
						var l log
						err := rows.Scan(&l.conversation, &l.generation, &l.owned)
						page = append(page, l)
						return err
					})
			})
			if err != nil {
				yield(fmt.Errorf("check orphans: %w", err))
				return
			}
			for _, l := range page {
				if !l.owned && !yield(&Violation{Guarantee: "orphan", Detail: fmt.Sprintf(
					"%s has rows of conversation %s, generation %d, which does not exist", s.t.sql(lt.table), l.conversation, l.generation)}) {
					return
				}
			}
			if len(page) < checkPage {
				break
			}
			after = page[len(page)-1]
		}
	}
}
