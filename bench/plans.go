package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/hansardlog/hansard/session"
	"github.com/hansardlog/hansard/session/database"
)

// plan is how a call finds its rows, and how long it takes.
type plan struct {
	Call    string   `json:"call"`
	Indexes []string `json:"indexes"` // of the tables that grow
	Scan    string   `json:"scan,omitempty"`
	Micros  float64  `json:"p50_us"`
}

// grownCalls are those whose cost must not follow the size of a table.
var grownCalls = []struct {
	name string
	call func(ctx context.Context, svc *database.Service, events int) error
}{
	{"append", func(ctx context.Context, svc *database.Service, _ int) error {
		return appendTo(ctx, svc, &session.Event{Author: author, Payload: payload})
	}},
	{"append with an idempotency key, then its replays", func(ctx context.Context, svc *database.Service, _ int) error {
		return appendTo(ctx, svc, &session.Event{Author: author, IdempotencyKey: "known", Payload: payload})
	}},
	{"get without events", func(ctx context.Context, svc *database.Service, _ int) error {
		_, err := svc.Get(ctx, &session.GetRequest{Key: historyKey, WithoutEvents: true})
		return err
	}},
	{"get with 50 recent events", func(ctx context.Context, svc *database.Service, _ int) error {
		_, err := svc.Get(ctx, &session.GetRequest{Key: historyKey, NumRecentEvents: recentEvents})
		return err
	}},
	{"page in the middle", func(ctx context.Context, svc *database.Service, events int) error {
		_, err := svc.ListEvents(ctx, &session.ListEventsRequest{Key: historyKey, AfterSeq: int64(events / 2)})
		return err
	}},
	{"page backwards", func(ctx context.Context, svc *database.Service, events int) error {
		_, err := svc.ListEvents(ctx, &session.ListEventsRequest{Key: historyKey, BeforeSeq: int64(events / 2), Descending: true})
		return err
	}},
	{"list a page of an app", func(ctx context.Context, svc *database.Service, _ int) error {
		return listPages(ctx, svc, session.ListRequest{AppName: grownApp})
	}},
	{"list a page of an owner", func(ctx context.Context, svc *database.Service, _ int) error {
		return listPages(ctx, svc, session.ListRequest{AppName: grownApp, UserID: grownKey(0).UserID})
	}},
	{"create", func(ctx context.Context, svc *database.Service, _ int) error {
		_, err := svc.Create(ctx, &session.CreateRequest{Key: session.Key{AppName: app, UserID: "late"}})
		return err
	}},
	{"delete", func(ctx context.Context, svc *database.Service, _ int) error {
		return svc.Delete(ctx, &session.DeleteRequest{Key: grownKey(0)})
	}},
}

func appendTo(ctx context.Context, svc *database.Service, e *session.Event) error {
	_, err := svc.AppendEvent(ctx, &session.AppendEventRequest{Key: historyKey, Event: e})
	return err
}

// listPages reads two pages: the second goes by a token.
func listPages(ctx context.Context, svc *database.Service, req session.ListRequest) error {
	req.PageSize = pageOfSessions
	for range 2 {
		resp, err := svc.List(ctx, &req)
		if err != nil || resp.NextPageToken == "" {
			return err
		}
		req.PageToken = resp.NextPageToken
	}
	return nil
}

// plans makes the calls and has the database explain their statements.
func (g *grown) plans(ctx context.Context, events int) (all []plan, err error) {
	spy, err := watchStatements(g.db)
	if err != nil {
		return nil, err
	}
	for _, c := range grownCalls {
		p := plan{Call: c.name}
		var took []time.Duration
		for i := range 21 {
			spy.watching = i == 0
			start := time.Now()
			if err := c.call(ctx, g.svc, events); err != nil {
				return nil, fmt.Errorf("%s: %w", c.name, err)
			}
			took = append(took, time.Since(start))
		}
		p.Micros = microseconds(median(took))
		for _, s := range spy.seen {
			lines, err := g.explain.plan(ctx, s)
			if err != nil {
				return nil, fmt.Errorf("%s: explain %s: %w", c.name, s.sql, err)
			}
			p.read(lines)
		}
		if spy.seen == nil {
			return nil, fmt.Errorf("%s: no statement was seen", c.name)
		}
		spy.seen = nil
		all = append(all, p)
	}
	return all, nil
}

var (
	// usedIndex is how an index or a primary key is named in a plan.
	usedIndex = regexp.MustCompile(`(?:using|on|INDEX) (hansard_\w+_(?:pkey|owner|request|member))|SEARCH \w+ USING (PRIMARY KEY)`)
	// wholeTable is how reading all of a table that grows shows in one.
	wholeTable = regexp.MustCompile(`Seq Scan on hansard_(?:events|conversations)\b.*|SCAN (?:e|c|hansard_events|hansard_conversations)\b.*`)
)

// read notes what the lines of a plan say.
func (p *plan) read(lines []string) {
	for _, line := range lines {
		if found := usedIndex.FindStringSubmatch(line); found != nil {
			index := found[1] + found[2]
			if !slices.Contains(p.Indexes, index) {
				p.Indexes = append(p.Indexes, index)
			}
		}
		if scan := wholeTable.FindString(line); scan != "" && p.Scan == "" {
			p.Scan = scan
		}
	}
}

// statement is one that a service sent.
type statement struct {
	sql  string
	args []any
}

// statementSpy sees the statements of one goroutine's calls while it watches.
type statementSpy struct {
	watching bool
	seen     []statement
}

func watchStatements(db *gorm.DB) (*statementSpy, error) {
	spy := &statementSpy{}
	watch := func(tx *gorm.DB) {
		s := statement{tx.Statement.SQL.String(), slices.Clone(tx.Statement.Vars)}
		word, _, _ := strings.Cut(s.sql, " ")
		if spy.watching && slices.Contains([]string{"SELECT", "WITH", "INSERT", "UPDATE", "DELETE"}, word) {
			spy.seen = append(spy.seen, s)
		}
	}
	return spy, errors.Join(
		db.Callback().Row().Before("gorm:row").Register("bench:row", watch),
		db.Callback().Raw().Before("gorm:raw").Register("bench:raw", watch))
}

// explainer asks a database for plans; nothing is run.
type explainer struct {
	pool   *sql.DB
	prefix string
}

func (e explainer) plan(ctx context.Context, s statement) (lines []string, err error) {
	rows, err := e.pool.QueryContext(ctx, e.prefix+s.sql, s.args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	into := make([]any, len(columns)) // the last column is the line
	var line string
	for i := range into {
		into[i] = new(any)
	}
	into[len(into)-1] = &line
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		lines = append(lines, line)
	}
	return lines, rows.Err()
}
