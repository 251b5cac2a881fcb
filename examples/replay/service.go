package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"gorm.io/driver/postgres"
	"gorm.io/driver/sqlite"

	"github.com/hansardlog/hansard/session"
	"github.com/hansardlog/hansard/session/database"
)

// openService opens the database that opts name and brings its tables up to
// date. It says for people which database that is; closeService removes it if
// it is a temporary one.
func openService(ctx context.Context, opts options) (svc session.Service, where string, closeService func() error, err error) {
	remove := func() error { return nil }
	dialector := postgres.Open(opts.postgres)
	where = "PostgreSQL" // and no more: a DSN holds a password
	if opts.postgres == "" {
		path := opts.db
		where = path
		if path == "" {
			dir, err := os.MkdirTemp("", "hansard-replay-")
			if err != nil {
				return nil, "", nil, err
			}
			remove = func() error { return os.RemoveAll(dir) }
			path = filepath.Join(dir, "replay.db")
			where = path + " (temporary, removed at the end; -db FILE keeps it)"
		}
		dialector = sqlite.Open(sqliteDSN(path))
	}
	db, err := database.Open(dialector)
	if err != nil {
		return nil, "", nil, errors.Join(fmt.Errorf("open the database: %w", err), remove())
	}
	closeService = func() error { return errors.Join(db.Close(), remove()) }
	if err := db.Migrate(ctx); err != nil {
		return nil, "", nil, errors.Join(fmt.Errorf("prepare the database: %w", err), closeService())
	}
	return db, where, closeService, nil
}

// sqliteDSN asks for WAL, so that readers and the writer do not wait for each
// other, and for writers to wait up to ten seconds for their turn.
func sqliteDSN(path string) string {
	escaped := (&url.URL{Path: path}).EscapedPath() // a "?" in it would begin the parameters
	return "file:" + escaped + "?_journal_mode=WAL&_busy_timeout=10000"
}
