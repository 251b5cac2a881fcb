package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	puresqlite "github.com/glebarez/sqlite"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
)

// sqliteDriver is how a file is opened, the same for all who are measured: with
// a write-ahead log, a sync for each commit and a busy timeout.
type sqliteDriver struct {
	module string
	name   string // as database/sql knows it
	params string
	dial   func(*sql.DB) gorm.Dialector
}

var sqliteDrivers = map[string]sqliteDriver{
	"mattn": {
		module: "github.com/mattn/go-sqlite3",
		name:   sqlite.DriverName,
		params: "_journal_mode=WAL&_synchronous=FULL&_busy_timeout=10000",
		dial:   func(db *sql.DB) gorm.Dialector { return sqlite.New(sqlite.Config{Conn: db}) },
	},
	"pure": {
		module: "modernc.org/sqlite",
		name:   puresqlite.DriverName,
		params: "_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=busy_timeout(10000)",
		dial:   func(db *sql.DB) gorm.Dialector { return &puresqlite.Dialector{Conn: db} },
	},
}

// sqliteDB is a directory of files, one for each of Hansard, ADK and the floor.
type sqliteDB struct {
	cleanup
	driver sqliteDriver
	dir    string
	pool   int
}

func openSQLite(driver string, pool int) (*sqliteDB, error) {
	d, ok := sqliteDrivers[driver]
	if !ok {
		return nil, fmt.Errorf("no SQLite driver %q", driver)
	}
	dir, err := os.MkdirTemp("", "hansard-bench-")
	if err != nil {
		return nil, err
	}
	db := &sqliteDB{driver: d, dir: dir, pool: pool}
	db.later(func() error { return os.RemoveAll(dir) })
	return db, nil
}

func (db *sqliteDB) file(name string) string { return filepath.Join(db.dir, name+".db") }

func (db *sqliteDB) dsn(name string) string {
	path := strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(filepath.ToSlash(db.file(name)))
	return "file:" + path + "?" + db.driver.params
}

func (db *sqliteDB) connect(name string, connections int) (*sql.DB, error) {
	pool, err := sql.Open(db.driver.name, db.dsn(name))
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(connections)
	pool.SetMaxIdleConns(connections)
	db.later(pool.Close)
	return pool, nil
}

func (db *sqliteDB) hansard(ctx context.Context, name string) (hansard, error) {
	pool, err := db.connect(name, db.pool)
	if err != nil {
		return hansard{}, err
	}
	return openHansard(ctx, db.driver.dial(pool))
}

// adk has one connection: with more, its transactions, which read before they
// write, fail as busy.
func (db *sqliteDB) adk() (adk, error) {
	pool, err := db.connect("adk", 1)
	if err != nil {
		return adk{}, err
	}
	return openADK(db.driver.dial(pool))
}

func (db *sqliteDB) floor(ctx context.Context) (floorSQLite, error) {
	h, err := db.hansard(ctx, "floor")
	if err != nil {
		return floorSQLite{}, err
	}
	pool, err := db.connect("floor", 1)
	if err != nil {
		return floorSQLite{}, err
	}
	statements, err := newFloorStatements(ctx, pool)
	if err != nil {
		return floorSQLite{}, err
	}
	db.later(statements.conn.Close)
	return floorSQLite{h, statements}, nil
}

// empty removes all rows from a file but the record of migrations.
func (db *sqliteDB) empty(ctx context.Context, name string) (err error) {
	pool, err := sql.Open(db.driver.name, db.dsn(name))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	pool.SetMaxOpenConns(1)
	tables, err := column[string](ctx, pool, `SELECT name FROM sqlite_master
		WHERE type = 'table' AND name NOT LIKE '%migrations' AND name NOT LIKE 'sqlite%'`)
	if err != nil {
		return err
	}
	statements := "BEGIN IMMEDIATE;"
	for _, t := range tables {
		statements += "DELETE FROM " + t + ";"
	}
	_, err = pool.ExecContext(ctx, statements+"COMMIT; PRAGMA wal_checkpoint(TRUNCATE)")
	return err
}
