package database

import (
	"database/sql"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/hansardlog/hansard/internal/check"
	"github.com/hansardlog/hansard/internal/request"
	"github.com/hansardlog/hansard/internal/view"
	"github.com/hansardlog/hansard/model"
	"github.com/hansardlog/hansard/session"
)

// eventColumns are read by scanEvent; the alias is e.
const eventColumns = `e.seq, e.timestamp, e.recorded_at, e.id, e.kind, e.author, e.subject, e.invocation_id,
	e.branch, e.format, e.idempotency_key, e.request_hash, e.delta, e.deletions, e.payload`

func scanEvent(rows *sql.Rows) (*request.Event, error) {
	var e request.Event
	var key sql.NullString
	err := rows.Scan(&e.Seq, &e.Timestamp, &e.RecordedAt, &e.ID, &e.Kind, &e.Author, &e.Subject, &e.InvocationID,
		&e.Branch, &e.Format, &key, &e.Hash, &e.Delta, &e.Deletions, &e.Payload)
	e.IdempotencyKey = key.String
	return &e, err
}

// conversationColumns are read by scanConversation; the alias is c.
const conversationColumns = `c.id, c.uid, c.generation, c.next_seq, c.min_seq, c.epoch,
	c.created_at, c.updated_at, c.kind, c.app_name, c.user_id, c.session_id`

func scanConversation(scan func(dest ...any) error, c *model.Conversation) error {
	return scan(&c.ID, &c.UID, &c.Generation, &c.NextSeq, &c.MinSeq, &c.Epoch,
		&c.CreatedAt, &c.UpdatedAt, &c.Kind, &c.AppName, &c.UserID, &c.SessionID)
}

// byKey finds a conversation by primary key and still asks for the whole key.
// The concatenation keeps planners from taking the owner's index instead, which
// would walk all sessions of the owner.
const byKey = `c.id = ? AND c.app_name || '' = ? AND c.user_id || '' = ? AND c.session_id || '' = ?`

// keyArgs are the parameters of byKey.
func keyArgs(d dialect, key session.Key) []any {
	return []any{d.uuid(request.ConversationID(key)), key.AppName, key.UserID, key.SessionID}
}

// boundUID is a UID as a statement asks for it: what is not one, as it is
// written, is the nil UUID, which no conversation has.
func boundUID(uid string) uuid.UUID {
	if parsed, err := uuid.Parse(uid); err == nil && parsed.String() == uid {
		return parsed
	}
	return uuid.Nil
}

// queryConversation runs a statement that returns at most one conversation;
// request.ErrNone if it returns none.
func queryConversation(tx *gorm.DB, statement string, args ...any) (model.Conversation, error) {
	var conv model.Conversation
	found := false
	err := query(tx, statement, args, func(rows *sql.Rows) error {
		found = true
		return scanConversation(rows.Scan, &conv)
	})
	if err == nil && !found {
		err = request.ErrNone
	}
	return conv, err
}

// sessionOf returns the conversation as seen by v, without state and events.
// For a former member UpdatedAt remains to be set.
func sessionOf(c model.Conversation, v view.View) *session.Session {
	return &session.Session{
		Key:       session.Key{AppName: c.AppName, UserID: c.UserID, SessionID: c.SessionID},
		UID:       c.UID.String(),
		Kind:      session.Kind(c.Kind),
		MinSeq:    c.MinSeq,
		HeadSeq:   v.Head,
		Epoch:     c.Epoch,
		State:     session.State{},
		CreatedAt: check.Time(c.CreatedAt),
		UpdatedAt: check.Time(c.UpdatedAt),
	}
}

// text binds bytes as text, and nil as NULL.
func text(data []byte) any {
	if data == nil {
		return nil
	}
	return string(data)
}

// keyOf binds an idempotency key, and an empty one as NULL.
func keyOf(e *request.Event) any {
	if e.IdempotencyKey == "" {
		return nil
	}
	return e.IdempotencyKey
}
