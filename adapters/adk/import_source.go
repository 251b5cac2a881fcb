package adk

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"

	"github.com/hansardlog/hansard/session"
)

// Tables of ADK-Go's database service.
const (
	sessionsTable = "sessions"
	appStates     = "app_states"
	userStates    = "user_states"
)

const (
	maxSessionPage = 10_000
	pageBytes      = 8 << 20 // a page of rows ends at the row that exceeds it
)

// source reads the tables of ADK-Go's database service. Each method is one
// statement, which has ended when it returns.
type source struct {
	db  *gorm.DB
	app string // only this app, if not empty

	moment  string // the moment of an event; NULL if its timestamp is none, or its ID is no text
	created string // the moment of a session's creation, NULL if there is none
	byID    string // the ID of an event in the order of its bytes
	columns []string
}

// open makes s read from db.
func (s *source) open(ctx context.Context, db *gorm.DB) error {
	s.db = db.Session(&gorm.Session{NewDB: true})
	switch name := db.Name(); name {
	case "postgres":
		s.moment, s.created = postgresMoment("timestamp"), postgresMoment("create_time")
		s.byID = `id COLLATE "C"`
	case "sqlite":
		s.moment = `CASE WHEN typeof(id) = 'text' THEN ` + sqliteMoment("timestamp") + ` END`
		s.created, s.byID = sqliteMoment("create_time"), "id"
	default:
		return invalid("src", fmt.Sprintf("a %s database; postgres and sqlite are supported", name))
	}
	return s.findColumns(ctx)
}

// findColumns notes which columns of events there are: an older ADK-Go has not
// made all of them.
func (s *source) findColumns(ctx context.Context) error {
	rows, err := s.db.WithContext(ctx).Raw(`SELECT * FROM events WHERE 1 = 0`).Rows()
	if err != nil {
		return readError(ctx, "events", err)
	}
	defer func() { _ = rows.Close() }()
	existing, err := rows.Columns()
	if err != nil {
		return readError(ctx, "events", err)
	}
	known := new(eventRow).columns()
	for _, name := range existing {
		if _, ok := known[name]; ok {
			s.columns = append(s.columns, name)
		}
	}
	return readError(ctx, "events", rows.Err())
}

// errEnough ends a query before its last row.
var errEnough = errors.New("enough")

// query runs a statement on a table and scans each row.
func (s *source) query(ctx context.Context, table, statement string, args []any, scan func(*sql.Rows) error) error {
	rows, err := s.db.WithContext(ctx).Raw(statement, args...).Rows()
	if err != nil {
		return readError(ctx, table, err)
	}
	defer func() { _ = rows.Close() }() // after an error or the last row it is closed already
	for rows.Next() {
		err := scan(rows)
		if errors.Is(err, errEnough) {
			return nil
		}
		if err != nil {
			return readError(ctx, table, err)
		}
	}
	return readError(ctx, table, rows.Err())
}

// readError says what was read; drivers report an ended context in words of
// their own.
func readError(ctx context.Context, table string, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		err = ctx.Err()
	}
	return fmt.Errorf("read %s: %w", table, err)
}

// totals counts sessions, events and, of all events, those without a session.
func (s *source) totals(ctx context.Context) (sessions, events, orphans int, err error) {
	where, args := s.only("")
	err = s.query(ctx, sessionsTable, `SELECT count(*) FROM sessions`+where, args, func(rows *sql.Rows) error {
		return rows.Scan(&sessions)
	})
	if err != nil {
		return 0, 0, 0, err
	}
	where, args = s.only("e.")
	err = s.query(ctx, "events", `SELECT count(s.id), count(*) - count(s.id) FROM events e LEFT JOIN sessions s
		ON s.app_name = e.app_name AND s.user_id = e.user_id AND s.id = e.session_id`+where, args, func(rows *sql.Rows) error {
		return rows.Scan(&events, &orphans)
	})
	return sessions, events, orphans, err
}

// only returns the condition for the app that is asked for.
func (s *source) only(alias string) (where string, args []any) {
	if s.app == "" {
		return " WHERE 1 = 1", nil
	}
	return " WHERE " + alias + "app_name = ?", []any{s.app}
}

// sourceSession is a row of sessions and what survey found of its events.
type sourceSession struct {
	key     session.Key
	state   []byte // JSON object, with names of session keys
	created time.Time

	events int
	timed  int    // those with a time
	ties   int    // those with the time of the event before
	lastID string // of the last event
	tieID  string // of an event with the time of the one before
}

// sessions returns the next page in the order of the primary key, and whether
// there may be more.
func (s *source) sessions(ctx context.Context, after session.Key, first bool, limit int) (page []sourceSession, more bool, err error) {
	where, args := s.only("")
	if !first {
		where += " AND (app_name, user_id, id) > (?, ?, ?)"
		args = append(args, after.AppName, after.UserID, after.SessionID)
	}
	size := 0
	err = s.query(ctx, sessionsTable, `SELECT app_name, user_id, id, state, `+s.created+` FROM sessions`+where+
		` ORDER BY app_name, user_id, id LIMIT ?`, append(args, limit), func(rows *sql.Rows) error {
		if size > pageBytes {
			return errEnough
		}
		var row sourceSession
		var created any
		if err := rows.Scan(&row.key.AppName, &row.key.UserID, &row.key.SessionID, &row.state, &created); err != nil {
			return err
		}
		row.created, _ = instant(created)
		page = append(page, row)
		size += len(row.state)
		return nil
	})
	return page, len(page) == limit || size > pageBytes, err
}
