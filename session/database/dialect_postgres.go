package database

import (
	"database/sql"
	"errors"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/hansardlog/hansard/internal/request"
	"github.com/hansardlog/hansard/model"
	"github.com/hansardlog/hansard/session"
)

// postgres locks the row of the conversation and lets everything else run
// beside. Lists of any length travel as arrays, so that a statement's text is
// the same for every length: one plan, one prepared statement, no limit on
// parameters. Every parameter has a cast, for servers that see only text (a
// pooler in front, the simple protocol).
type postgres struct{}

var _ dialect = postgres{}

func (postgres) name() string { return "postgres" }

func (postgres) hasSchemas() bool { return true }

func (postgres) opened(*gorm.DB, *sql.DB) error { return nil }

// write asks for READ COMMITTED whatever the connection's default: the decision
// is a statement after the lock and must see what the previous holder committed.
func (postgres) write(db *gorm.DB, fn func(*gorm.DB) error) error {
	return db.Transaction(fn, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
}

func (postgres) read(db *gorm.DB, fn func(*gorm.DB) error) error {
	return db.Transaction(fn, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
}

// migrate takes an advisory lock in the migration's own transaction: one of the
// session would hang a pool of one connection.
func (p postgres) migrate(db *gorm.DB, t tables, fn func(*gorm.DB) error) error {
	return db.Transaction(func(tx *gorm.DB) error {
		if err := p.makeSchema(tx, t.schema); err != nil {
			return err
		}
		_, err := exec(tx, `SELECT pg_advisory_xact_lock(hashtextextended(
			'hansard migration of ' || coalesce(nullif(?::text, ''), current_schema()) || '.' || ?::text, 0))`, t.schema, t.prefix)
		if err != nil {
			return err
		}
		return fn(tx)
	}, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
}

// makeSchema makes the schema if it is missing. It asks first, because even
// IF NOT EXISTS needs the right to make one, and it locks before it makes one,
// because two prefixes may want the same.
func (postgres) makeSchema(tx *gorm.DB, schema string) error {
	exists := func() (exists bool, err error) {
		_, err = queryRow(tx, `SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = ?::text)`, []any{schema}, &exists)
		return exists, err
	}
	if schema == "" {
		return nil
	}
	if ok, err := exists(); err != nil || ok {
		return err
	}
	if _, err := exec(tx, `SELECT pg_advisory_xact_lock(hashtextextended('hansard schema ' || ?::text, 0))`, schema); err != nil {
		return err
	}
	if ok, err := exists(); err != nil || ok {
		return err
	}
	_, err := exec(tx, `CREATE SCHEMA "`+schema+`"`)
	return err
}

// retryable: serialization_failure, deadlock_detected, lock_not_available.
func (postgres) retryable(err error) bool {
	switch sqlState(err) {
	case "40001", "40P01", "55P03":
		return true
	}
	return false
}

// undone: what the server reports in answer to a statement, COMMIT included, it
// has rolled back.
func (postgres) undone(err error) bool { return sqlState(err) != "" }

func sqlState(err error) string {
	var state interface{ SQLState() string } // pgx and pq both have it
	if !errors.As(err, &state) {
		return ""
	}
	return state.SQLState()
}

func (postgres) lockName(key session.Key) any { return key }

func (postgres) oneWriter() bool { return false }

func (postgres) existing(tx *gorm.DB, t tables, names []string) ([]string, error) {
	var found []string
	for _, name := range names {
		var exists bool
		_, err := queryRow(tx, `SELECT EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
			WHERE n.nspname = coalesce(nullif(?::text, ''), current_schema()) AND c.relname = ?::text)`,
			[]any{t.schema, t.prefix + name}, &exists)
		if err != nil {
			return nil, err
		}
		if exists {
			found = append(found, name)
		}
	}
	return found, nil
}

func (postgres) uuid(id uuid.UUID) any { return id.String() }

// lockConversation: FOR NO KEY UPDATE is what the UPDATE takes that follows; no
// stronger lock is needed, since nothing refers to the row by a foreign key.
const lockConversation = `SELECT ` + conversationColumns + ` FROM {conversations} c WHERE ` + byKey + ` FOR NO KEY UPDATE`

func (p postgres) lock(tx *gorm.DB, t tables, key session.Key) (model.Conversation, error) {
	return queryConversation(tx, t.sql(lockConversation), keyArgs(p, key)...)
}

func (p postgres) lockAndTake(tx *gorm.DB, t tables, a *request.Append, _ conditions) (model.Conversation, verdict, error) {
	conv, err := p.lock(tx, t, a.Key)
	return conv, verdict{}, err
}
