package main

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"

	"github.com/hansardlog/hansard/session"
)

// floorSQLite does what an append has to do, by hand, with prepared statements
// on one connection. It keeps the tables of package database, which make and
// read the sessions.
type floorSQLite struct {
	hansard
	*floorStatements
}

type floorStatements struct {
	mu     sync.Mutex // the one connection
	conn   *sql.Conn
	begin  *sql.Stmt
	head   *sql.Stmt
	insert *sql.Stmt
	commit *sql.Stmt
	abort  *sql.Stmt
}

func newFloorStatements(ctx context.Context, db *sql.DB) (*floorStatements, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	var errs []error
	prepare := func(query string) *sql.Stmt { // it ends with the connection
		s, err := conn.PrepareContext(ctx, query)
		errs = append(errs, err)
		return s
	}
	f := &floorStatements{
		conn:  conn,
		begin: prepare(`BEGIN IMMEDIATE`),
		head: prepare(`UPDATE hansard_conversations SET next_seq = next_seq + 1, updated_at = max(updated_at, ?)
			WHERE id = ? RETURNING generation, next_seq - 1, updated_at`),
		insert: prepare(`INSERT INTO hansard_events (conversation_id, generation, seq, timestamp, recorded_at, id, kind, author,
			subject, invocation_id, branch, format, payload) VALUES (?, ?, ?, ?, ?, ?, 'message', ?, '', ?, '', ?, ?)`),
		commit: prepare(`COMMIT`),
		abort:  prepare(`ROLLBACK`),
	}
	if err := errors.Join(errs...); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return f, nil
}

func (f floorSQLite) writer(ctx context.Context, key session.Key, _ bool) (writer, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w := floorSQLiteWriter{floorStatements: f.floorStatements}
	return w, f.conn.QueryRowContext(ctx, `SELECT id FROM hansard_conversations
		WHERE app_name = ? AND user_id = ? AND session_id = ?`, key.AppName, key.UserID, key.SessionID).Scan(&w.id)
}

type floorSQLiteWriter struct {
	*floorStatements
	id []byte
}

func (w floorSQLiteWriter) append(ctx context.Context, m message) (r receipt, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r.attempts = 1
	if len(m.delta) > 0 {
		return r, errors.New("the floor on SQLite writes no state")
	}
	if _, err = w.begin.ExecContext(ctx); err != nil {
		return r, err
	}
	if r.seq, err = w.write(ctx, m); err == nil {
		_, err = w.commit.ExecContext(ctx)
	}
	if err != nil {
		_, abortErr := w.abort.ExecContext(ctx)
		err = errors.Join(err, abortErr)
	}
	return r, err
}

func (w floorSQLiteWriter) write(ctx context.Context, m message) (seq int64, err error) {
	now := time.Now().UnixMicro()
	var generation, recorded int64
	if err := w.head.QueryRowContext(ctx, now, w.id).Scan(&generation, &seq, &recorded); err != nil {
		return 0, err
	}
	_, err = w.insert.ExecContext(ctx, w.id, generation, seq, now, recorded, m.id, author, invocation, format, string(m.payload))
	return seq, err
}
