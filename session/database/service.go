package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/hansardlog/hansard/internal/request"
	"github.com/hansardlog/hansard/session"
)

// Service is a [session.Service] on a SQL database, safe for concurrent use by
// any number of goroutines and processes.
type Service struct {
	db      *gorm.DB // a handle of our own on the caller's pool
	dialect dialect
	t       tables
	cfg     request.Config
	retry   retryPolicy
	direct  Direct // nil without WithDirect, and where it does not serve
	queues  *queues

	owned  *sql.DB // closed by Close; nil if borrowed
	joined bool    // db is the caller's transaction
	misuse error   // set by WithTx on a handle without a transaction
}

var _ session.Service = (*Service)(nil)

// New returns a Service on db, which stays the caller's: Close does not close
// it, no setting of it is changed, and its callbacks and plugins stay in force.
// New touches no table; see [Service.Migrate].
//
// It returns an error for a database other than PostgreSQL and SQLite, for an
// invalid option, and for a handle that is inside a transaction (see
// [Service.WithTx]).
func New(db *gorm.DB, opts ...Option) (*Service, error) {
	if db == nil {
		return nil, errors.New("database: nil *gorm.DB")
	}
	if inTransaction(db) {
		return nil, errors.New("database: the *gorm.DB is inside a transaction; make the Service on one outside and use WithTx")
	}
	cfg, err := newConfig(opts)
	if err != nil {
		return nil, err
	}
	d, err := dialectOf(db.Name())
	if err != nil {
		return nil, err
	}
	t, err := newTables(cfg.prefix)
	if err != nil {
		return nil, err
	}
	if t.schema != "" && !d.hasSchemas() {
		return nil, fmt.Errorf("database: table prefix %q names a schema, which %s does not have", cfg.prefix, d.name())
	}
	s := &Service{db: handle(db), dialect: d, t: t, cfg: cfg.request, retry: cfg.retry, queues: newQueues(cfg.combining)}
	if cfg.direct != nil && serves(cfg.direct, s.db) {
		s.direct = cfg.direct
	}
	return s, nil
}

// Open opens a database through d and returns a Service that closes it on
// Close. GORM's logger, which prints slow statements with their values, is
// silent. A SQLite database in memory is limited to one connection, because
// each would be a database of its own.
func Open(d gorm.Dialector, opts ...Option) (_ *Service, err error) {
	if d == nil {
		return nil, errors.New("database: nil gorm.Dialector")
	}
	db, err := gorm.Open(d, &gorm.Config{Logger: logger.Discard, SkipDefaultTransaction: true})
	if db == nil {
		return nil, fmt.Errorf("database: open: %w", err)
	}
	owned, poolErr := db.DB()
	if err = errors.Join(err, poolErr); err != nil {
		if owned != nil {
			err = errors.Join(err, owned.Close())
		}
		return nil, fmt.Errorf("database: open: %w", err)
	}
	s, err := New(db, opts...)
	if err == nil {
		err = s.dialect.opened(s.db, owned)
	}
	if err != nil {
		return nil, errors.Join(err, owned.Close())
	}
	s.owned = owned
	return s, nil
}

// Close closes the database if [Open] opened it, and else does nothing. On a
// Service from [Service.WithTx] it is an error.
func (s *Service) Close() error {
	if s.joined {
		return errors.New("database: Close of a Service that joined a transaction")
	}
	if s.owned == nil {
		return nil
	}
	return s.owned.Close()
}

// WithTx returns a Service whose calls run inside the caller's transaction tx:
// what they store commits or rolls back with it. It must be a transaction on
// the Service's database; on a handle without one every call is an error.
//
// A refusal or a replay leaves the transaction usable and takes no sequence.
// Nothing is retried: a deadlock or serialization failure is [session.ErrBusy],
// after which the caller repeats the whole transaction; two appends in one
// transaction can deadlock with another program's. The conversation stays
// locked until tx ends. Reads show what the isolation of tx shows. Delete
// removes all rows within tx. On SQLite begin the transaction with a write, or
// as BEGIN IMMEDIATE: one that reads first fails when another writer commits
// in between.
func (s *Service) WithTx(tx *gorm.DB) *Service {
	j := *s
	j.owned, j.joined, j.direct = nil, true, nil
	if tx == nil || !inTransaction(tx) {
		j.misuse = errors.New("database: WithTx needs a *gorm.DB inside a transaction")
		return &j
	}
	j.db = handle(tx)
	return &j
}

// handle returns a handle on db's pool or transaction with a configuration of
// its own. GORM's TranslateError would hide the driver's error codes; its
// transaction around single statements would begin inside one begun by hand.
func handle(db *gorm.DB) *gorm.DB {
	own := db.Session(&gorm.Session{NewDB: true})
	own.TranslateError = false
	own.SkipDefaultTransaction = true
	return own
}

func inTransaction(db *gorm.DB) bool {
	if db.Statement == nil {
		return false
	}
	_, ok := db.Statement.ConnPool.(gorm.TxCommitter)
	return ok
}

// with returns the handle for a request's context.
func (s *Service) with(ctx context.Context) *gorm.DB { return s.db.WithContext(ctx) }
