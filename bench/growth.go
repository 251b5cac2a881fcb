package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"
	"gorm.io/gorm"

	"github.com/hansardlog/hansard/session"
	"github.com/hansardlog/hansard/session/database"
)

// growth is what large tables came to in one database.
type growth struct {
	Database string   `json:"database"`
	Loads    []load   `json:"loads"`
	Plans    []plan   `json:"plans"`
	Faults   []string `json:"faults,omitempty"`
}

// load is how a table was filled and what a row of it takes.
type load struct {
	What      string  `json:"what"`
	Rows      int     `json:"rows"`
	Seconds   float64 `json:"seconds"`
	Bytes     float64 `json:"bytes_per_row"` // on disk, with indexes
	Indexes   float64 `json:"index_bytes_per_row,omitempty"`
	Content   int     `json:"payload_bytes_per_row,omitempty"`
	CheckedIn float64 `json:"read_and_checked_in_seconds,omitempty"`
}

// grown is a database that is filled, with what differs between the two.
type grown struct {
	name    string
	db      *gorm.DB
	svc     *database.Service
	beside  int // transactions that fill at the same time
	explain explainer
	settle  func(ctx context.Context) error
	// size is what the rows of a table take, and the part of its indexes.
	size func(ctx context.Context, table string) (bytes, indexes int64, err error)
}

// grow fills both databases, one after the other, and looks at them.
func (l *lab) grow(ctx context.Context, progress io.Writer) (all []growth, err error) {
	for _, open := range []func(context.Context) (*grown, error){l.grownPostgres, l.grownSQLite} {
		g, err := open(ctx)
		if err != nil {
			return nil, err
		}
		r := growth{Database: g.name}
		say := func(what string) {
			_, _ = fmt.Fprintf(progress, "%s: %s, %s\n", time.Now().Format(time.TimeOnly), g.name, what)
		}
		say(fmt.Sprintf("%d events in one session", l.growEvents))
		if err := g.events(ctx, &r, l.growEvents); err != nil {
			return nil, fmt.Errorf("%s: %w", g.name, err)
		}
		say(fmt.Sprintf("%d sessions", l.growSessions))
		if err := g.sessions(ctx, &r, l.growSessions); err != nil {
			return nil, fmt.Errorf("%s: %w", g.name, err)
		}
		say("plans")
		if r.Plans, err = g.plans(ctx, l.growEvents); err != nil {
			return nil, fmt.Errorf("%s: %w", g.name, err)
		}
		for _, p := range r.Plans {
			if p.Scan != "" {
				r.Faults = append(r.Faults, fmt.Sprintf("%s reads a whole table: %s", p.Call, p.Scan))
			}
		}
		all = append(all, r)
	}
	return all, nil
}

// events fills one session by batches and reads it back by pages.
func (g *grown) events(ctx context.Context, r *growth, n int) error {
	empty, _, err := g.size(ctx, "events")
	if err != nil {
		return err
	}
	start := time.Now()
	if err := makeHistory(ctx, hansard{g.svc}, n); err != nil {
		return err
	}
	took := time.Since(start)
	if err := g.settle(ctx); err != nil {
		return err
	}
	full, indexes, err := g.size(ctx, "events")
	if err != nil {
		return err
	}
	start = time.Now()
	next := int64(1)
	for e, err := range session.AllEvents(ctx, g.svc, session.ListEventsRequest{Key: historyKey, Limit: session.MaxPageSize}) {
		if err != nil {
			return err
		}
		if e.Seq != next {
			r.Faults = append(r.Faults, fmt.Sprintf("sequence %d stands where %d belongs", e.Seq, next))
			break
		}
		next++
	}
	if int(next-1) != n {
		r.Faults = append(r.Faults, fmt.Sprintf("%d events were read back of %d", next-1, n))
	}
	r.Loads = append(r.Loads, load{
		What: "events of one session, by AppendEvents", Rows: n, Seconds: took.Seconds(),
		Bytes: per(full-empty, n), Indexes: per(indexes, n), Content: len(payload), CheckedIn: time.Since(start).Seconds(),
	})
	return nil
}

// sessions fills the table of sessions by Create, many in one transaction of the
// caller, and counts them by pages.
func (g *grown) sessions(ctx context.Context, r *growth, n int) error {
	const together = 1000
	empty, _, err := g.size(ctx, "conversations")
	if err != nil {
		return err
	}
	start := time.Now()
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(g.beside)
	for first := 0; first < n; first += together {
		group.Go(func() error {
			return g.db.WithContext(groupCtx).Transaction(func(tx *gorm.DB) error {
				svc := g.svc.WithTx(tx)
				for i := first; i < min(first+together, n); i++ {
					if _, err := svc.Create(groupCtx, &session.CreateRequest{Key: grownKey(i)}); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	took := time.Since(start)
	if err := g.settle(ctx); err != nil {
		return err
	}
	full, indexes, err := g.size(ctx, "conversations")
	if err != nil {
		return err
	}
	start = time.Now()
	found := 0
	for _, err := range session.AllSessions(ctx, g.svc, session.ListRequest{AppName: grownApp, PageSize: session.MaxPageSize}) {
		if err != nil {
			return err
		}
		found++
	}
	if found != n {
		r.Faults = append(r.Faults, fmt.Sprintf("%d sessions are listed of %d", found, n))
	}
	r.Loads = append(r.Loads, load{
		What: "sessions, by Create", Rows: n, Seconds: took.Seconds(),
		Bytes: per(full-empty, n), Indexes: per(indexes, n), CheckedIn: time.Since(start).Seconds(),
	})
	return nil
}

const grownApp = "grown"

// grownKey is a session of one of many users, a thousand each.
func grownKey(i int) session.Key {
	return session.Key{AppName: grownApp, UserID: fmt.Sprintf("user-%d", i/1000), SessionID: fmt.Sprintf("session-%d", i)}
}

func per(bytes int64, n int) float64 { return math.Round(float64(bytes)/float64(n)*10) / 10 }

func (l *lab) grownPostgres(ctx context.Context) (*grown, error) {
	db, err := l.postgres(ctx)
	if err != nil {
		return nil, err
	}
	pool, err := db.connect("hansard", nil)
	if err != nil {
		return nil, err
	}
	g := &grown{name: "PostgreSQL", beside: runtime.NumCPU(), settle: db.settle, explain: explainer{pool, "EXPLAIN (COSTS OFF) "}}
	g.db, g.svc, err = openService(ctx, onPostgres(pool))
	g.size = func(ctx context.Context, table string) (bytes, indexes int64, err error) {
		err = pool.QueryRowContext(ctx, `SELECT pg_total_relation_size($1::text::regclass), pg_indexes_size($1::text::regclass)`,
			"hansard_"+table).Scan(&bytes, &indexes)
		return bytes, indexes, err
	}
	return g, err
}

func (l *lab) grownSQLite(ctx context.Context) (*grown, error) {
	db, err := l.files()
	if err != nil {
		return nil, err
	}
	pool, err := db.connect("grown", l.pool)
	if err != nil {
		return nil, err
	}
	g := &grown{name: "SQLite", beside: 1, explain: explainer{pool, "EXPLAIN QUERY PLAN "}}
	g.db, g.svc, err = openService(ctx, db.driver.dial(pool))
	g.settle = func(ctx context.Context) error {
		_, err := pool.ExecContext(ctx, "ANALYZE; PRAGMA wal_checkpoint(TRUNCATE)")
		return err
	}
	// One table is filled at a time: what the file has grown by is its rows.
	g.size = func(ctx context.Context, _ string) (bytes, _ int64, err error) {
		err = pool.QueryRowContext(ctx, `SELECT (c.page_count - f.freelist_count) * s.page_size
			FROM pragma_page_count() c, pragma_freelist_count() f, pragma_page_size() s`).Scan(&bytes)
		return bytes, 0, err
	}
	return g, err
}
