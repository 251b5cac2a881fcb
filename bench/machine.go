package main

import (
	"context"
	"database/sql"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
)

// fact is one line about where was measured.
type fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// describe tells of the machine, and of the databases that were opened.
func (l *lab) describe(ctx context.Context) ([]fact, error) {
	facts := []fact{
		{"system", system()},
		{"processors", processors()},
		{"Go", runtime.Version()},
		{"ADK-Go", moduleVersion("google.golang.org/adk/v2")},
		{"GORM", moduleVersion("gorm.io/gorm")},
	}
	if l.postgresDB != nil {
		settings, err := l.postgresDB.describe(ctx)
		if err != nil {
			return nil, err
		}
		facts = append(facts, settings...)
	}
	if l.sqliteDB != nil {
		settings, err := l.sqliteDB.describe(ctx)
		if err != nil {
			return nil, err
		}
		facts = append(facts, settings...)
	}
	return facts, nil
}

func (db *postgresDB) describe(ctx context.Context) ([]fact, error) {
	facts := []fact{{"pgx", moduleVersion("github.com/jackc/pgx/v5")}}
	for _, s := range []struct{ name, setting string }{
		{"PostgreSQL", "server_version"},
		{"fsync", "fsync"},
		{"synchronous_commit", "synchronous_commit"},
		{"full_page_writes", "full_page_writes"},
		{"wal_sync_method", "wal_sync_method"},
		{"shared_buffers", "shared_buffers"},
		{"max_connections", "max_connections"},
	} {
		value, err := one(ctx, db.admin, "SHOW "+s.setting)
		if err != nil {
			return nil, err
		}
		facts = append(facts, fact{s.name, value})
	}
	return facts, nil
}

func (db *sqliteDB) describe(ctx context.Context) ([]fact, error) {
	pool, err := db.connect("describe", 1)
	if err != nil {
		return nil, err
	}
	facts := []fact{{"SQLite driver", db.driver.module + " " + moduleVersion(db.driver.module)}}
	for _, s := range []struct{ name, query string }{
		{"SQLite", "SELECT sqlite_version()"},
		{"SQLite journal_mode", "PRAGMA journal_mode"},
		{"SQLite synchronous", "SELECT CASE synchronous WHEN 0 THEN 'OFF' WHEN 1 THEN 'NORMAL' WHEN 2 THEN 'FULL' ELSE 'EXTRA' END FROM pragma_synchronous"},
	} {
		value, err := one(ctx, pool, s.query)
		if err != nil {
			return nil, err
		}
		facts = append(facts, fact{s.name, value})
	}
	return facts, nil
}

func one(ctx context.Context, db *sql.DB, query string) (value string, err error) {
	err = db.QueryRowContext(ctx, query).Scan(&value)
	return value, err
}

// system is the operating system, with its release where a file tells it.
func system() string {
	s := runtime.GOOS + "/" + runtime.GOARCH
	if release, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		s += " " + strings.TrimSpace(string(release))
	}
	return s
}

func processors() string {
	n := plural(runtime.NumCPU(), "CPU")
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return n
	}
	for line := range strings.Lines(string(info)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return n + ", " + strings.TrimSpace(value)
		}
	}
	return n
}

// moduleVersion is the version of a module that this program is built with.
func moduleVersion(path string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			if dep.Path == path {
				return dep.Version
			}
		}
	}
	return "of unknown version"
}
