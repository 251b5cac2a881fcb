package database

import (
	"context"
	"database/sql"
	"math/rand/v2"
	"time"

	"gorm.io/gorm"
)

// MaxBackoff bounds the pause between two tries of a transaction.
const MaxBackoff = 250 * time.Millisecond

type retryPolicy struct {
	attempts int
	backoff  time.Duration
}

// inTx runs fn in a transaction that writes, again if the database says that it
// may succeed then; COMMIT is part of what is repeated. So fn must begin anew
// each time. In the caller's transaction it runs once.
func (s *Service) inTx(ctx context.Context, fn func(tx *gorm.DB) error) error {
	return s.run(ctx, fn, s.dialect.write)
}

// inSnapshot runs fn in a read transaction that shows one instant and takes no
// write lock, with the same retries.
func (s *Service) inSnapshot(ctx context.Context, fn func(tx *gorm.DB) error) error {
	return s.run(ctx, fn, s.dialect.read)
}

// inStatement runs fn, each statement of which may stand alone, without a
// transaction around them, with the same retries.
func (s *Service) inStatement(ctx context.Context, fn func(tx *gorm.DB) error) error {
	return s.run(ctx, fn, func(db *gorm.DB, fn func(*gorm.DB) error) error { return fn(db) })
}

func (s *Service) run(ctx context.Context, fn func(*gorm.DB) error, begin func(*gorm.DB, func(*gorm.DB) error) error) error {
	if s.misuse != nil {
		return s.misuse
	}
	if s.joined {
		err := fn(s.with(ctx))
		if err == nil {
			err = ctx.Err()
		}
		return s.translate(ctx, err)
	}
	return s.translate(ctx, s.retry.do(ctx, s.dialect.retryable, func() error { return begin(s.with(ctx), fn) }))
}

// do calls f until it succeeds, fails for good, has been tried often enough, or
// the context ends. It returns f's last error.
func (p retryPolicy) do(ctx context.Context, retryable func(error) bool, f func() error) error {
	pause := p.backoff
	for attempt := 1; ; attempt++ {
		err := f()
		if err == nil || attempt >= p.attempts || ctx.Err() != nil || !retryable(err) {
			return err
		}
		// Jitter, or writers that collided once collide again.
		timer := time.NewTimer(pause - time.Duration(rand.Int64N(int64(pause)/2+1)))
		select {
		case <-ctx.Done():
			timer.Stop()
			return err
		case <-timer.C:
		}
		pause = min(2*pause, MaxBackoff)
	}
}

// query runs a statement and scans each row.
func query(tx *gorm.DB, statement string, args []any, scan func(*sql.Rows) error) error {
	rows, err := tx.Raw(statement, args...).Rows()
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // after an error or the last row it is closed already
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// queryRow runs a statement that returns at most one row.
func queryRow(tx *gorm.DB, statement string, args []any, dest ...any) (found bool, err error) {
	err = query(tx, statement, args, func(rows *sql.Rows) error {
		found = true
		return rows.Scan(dest...)
	})
	return found, err
}

// exec runs a statement and returns how many rows it changed.
func exec(tx *gorm.DB, statement string, args ...any) (int64, error) {
	res := tx.Exec(statement, args...)
	return res.RowsAffected, res.Error
}
