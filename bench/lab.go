package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	adksession "google.golang.org/adk/v2/session"

	"github.com/hansardlog/hansard/session/inmemory"
)

// config is how much is measured.
type config struct {
	reps         int
	window       time.Duration // of one repetition
	pool         int           // connections of each client
	short        int           // events of a short history
	long         int           // events of a long one
	whole        int           // events of a session that is read as a whole
	sessions     int           // that are listed
	state        int           // bytes of a large state
	allocs       int           // appends of which the allocations are counted
	live         int           // events of which the memory is counted
	sqlite       string        // driver
	growEvents   int           // of one session, with -growth
	growSessions int           // of one table, with -growth
}

// lab holds the databases, each opened when a workload first asks for it.
type lab struct {
	config
	cleanup
	wrap func(store) store // of Hansard, for tests

	postgresDB *postgresDB
	sqliteDB   *sqliteDB
	onPostgres []contender
	onSQLite   []contender
	histories  map[int][]contender // by their length
}

func (l *lab) postgres(ctx context.Context) (*postgresDB, error) {
	if l.postgresDB == nil {
		db, err := openPostgres(ctx, l.pool)
		if err != nil {
			return nil, fmt.Errorf("open PostgreSQL: %w", err)
		}
		l.later(db.run)
		l.postgresDB = db
	}
	return l.postgresDB, nil
}

func (l *lab) files() (*sqliteDB, error) {
	if l.sqliteDB == nil {
		db, err := openSQLite(l.sqlite, l.pool)
		if err != nil {
			return nil, fmt.Errorf("open SQLite: %w", err)
		}
		l.later(db.run)
		l.sqliteDB = db
	}
	return l.sqliteDB, nil
}

// pgContenders are Hansard's paths, ADK and the floor on PostgreSQL.
func pgContenders(ctx context.Context, l *lab) ([]contender, error) {
	if l.onPostgres != nil {
		return l.onPostgres, nil
	}
	db, err := l.postgres(ctx)
	if err != nil {
		return nil, err
	}
	emptied := func(schema string, s store) func(context.Context) (store, error) {
		return func(ctx context.Context) (store, error) { return s, db.empty(ctx, schema) }
	}
	for _, p := range paths {
		h, err := db.hansard(ctx, "hansard", nil, p.options...)
		if err != nil {
			return nil, err
		}
		l.onPostgres = append(l.onPostgres, contender{name: p.name, ours: true, store: h, fresh: emptied("hansard", h)})
	}
	a, err := db.adk(nil)
	if err != nil {
		return nil, err
	}
	f, err := db.floor(ctx)
	if err != nil {
		return nil, err
	}
	l.onPostgres = append(l.onPostgres,
		contender{name: adkName, store: a, fresh: emptied("adk", a)},
		contender{name: floorName, store: f, fresh: emptied("floor", f)})
	return l.onPostgres, nil
}

const (
	oursName  = "Hansard"
	adkName   = "ADK"
	floorName = "floor"
)

// sqliteContenders are Hansard, ADK and the floor on SQLite.
func sqliteContenders(ctx context.Context, l *lab) ([]contender, error) {
	if l.onSQLite != nil {
		return l.onSQLite, nil
	}
	db, err := l.files()
	if err != nil {
		return nil, err
	}
	emptied := func(file string, s store) func(context.Context) (store, error) {
		return func(ctx context.Context) (store, error) { return s, db.empty(ctx, file) }
	}
	h, err := db.hansard(ctx, "hansard")
	if err != nil {
		return nil, err
	}
	a, err := db.adk()
	if err != nil {
		return nil, err
	}
	f, err := db.floor(ctx)
	if err != nil {
		return nil, err
	}
	l.onSQLite = []contender{
		{name: oursName, ours: true, store: h, fresh: emptied("hansard", h)},
		{name: adkName, store: a, fresh: emptied("adk", a)},
		{name: floorName, store: f, fresh: emptied("floor", f)},
	}
	return l.onSQLite, nil
}

// memoryContenders are the services that keep everything in memory.
func memoryContenders(context.Context, *lab) ([]contender, error) {
	return []contender{
		{name: oursName, ours: true, fresh: func(context.Context) (store, error) { return hansard{inmemory.New()}, nil }},
		{name: adkName, fresh: func(context.Context) (store, error) { return adk{adksession.InMemoryService()}, nil }},
	}, nil
}

// without leaves out some of the contenders.
func without(from contenders, names ...string) contenders {
	return func(ctx context.Context, l *lab) (kept []contender, err error) {
		all, err := from(ctx, l)
		for _, c := range all {
			if !slices.Contains(names, c.name) {
				kept = append(kept, c)
			}
		}
		return kept, err
	}
}
