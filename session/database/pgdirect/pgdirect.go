// Package pgdirect lets package database append in one round trip where the
// driver under GORM is pgx, as it is with gorm.io/driver/postgres:
//
//	svc, err := database.New(db, database.WithDirect(pgdirect.New()))
//
// The statements are the same as without it, and so are results and errors; they
// are sent at once, on a connection of the same pool, past GORM: callbacks,
// plugins and loggers of GORM do not see them. Tracers of pgx do.
package pgdirect

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/hansardlog/hansard/session/database"
)

// rollbackTimeout bounds the end of a transaction whose context has ended.
const rollbackTimeout = 5 * time.Second

type direct struct{}

// New returns what [database.WithDirect] takes. It has no state and may be given
// to any number of services.
func New() database.Direct { return direct{} }

// Serves implements [database.Direct]. A driver wrapped around pgx is not pgx.
func (direct) Serves(pool *sql.DB) bool {
	_, ok := pool.Driver().(*stdlib.Driver)
	return ok
}

// Transaction implements [database.Direct].
func (direct) Transaction(ctx context.Context, pool *sql.DB, statements []database.DirectStatement) error {
	conn, err := pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // only gives it back to the pool
	// What Raw returns decides over the connection, so the transaction's own
	// error travels beside.
	if rawErr := conn.Raw(func(c any) error {
		pg := c.(*stdlib.Conn).Conn()
		if err = pipeline(ctx, pg, statements); err != nil {
			return rollback(ctx, pg)
		}
		return nil
	}); err == nil {
		err = rawErr
	}
	return err
}

// pipeline sends everything and then reads the answers. After an error the
// server skips the rest, COMMIT included.
func pipeline(ctx context.Context, conn *pgx.Conn, statements []database.DirectStatement) (err error) {
	batch := &pgx.Batch{QueuedQueries: make([]*pgx.QueuedQuery, 0, len(statements)+2)}
	batch.Queue("begin isolation level read committed")
	for _, s := range statements {
		batch.Queue(s.SQL, s.Args...)
	}
	batch.Queue("commit")
	results := conn.SendBatch(ctx, batch)
	committed := false
	defer func() {
		if closeErr := results.Close(); err == nil && !committed {
			err = closeErr
		}
	}()
	if _, err := results.Exec(); err != nil {
		return err
	}
	for _, s := range statements {
		if err := read(results, s); err != nil {
			return err
		}
	}
	_, err = results.Exec()
	committed = err == nil
	return err
}

func read(results pgx.BatchResults, s database.DirectStatement) error {
	rows, err := results.Query()
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := s.Row(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// rollback ends the transaction, or else the connection.
func rollback(ctx context.Context, conn *pgx.Conn) error {
	if conn.IsClosed() {
		return driver.ErrBadConn
	}
	if conn.PgConn().TxStatus() == 'I' {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)
	defer cancel()
	if _, err := conn.Exec(ctx, "rollback"); err != nil {
		return driver.ErrBadConn
	}
	return nil
}
