package adk

import (
	"context"
	"database/sql"
	"strings"
	"time"

	"github.com/hansardlog/hansard/session"
)

// A moment is when something happened, as a value of SQL that sorts: a
// timestamp of PostgreSQL, or microseconds since 1970 made of SQLite's text. It
// is NULL where a column holds no time, and [instant] reads it. What the drivers
// of SQLite make of such text differs: one takes for the zero time what it
// cannot parse.

func postgresMoment(column string) string {
	return strings.ReplaceAll(`CASE WHEN isfinite({t}) THEN {t} END`, "{t}", column)
}

// sqliteMoment reads text with a zone, of which the greater may be the earlier,
// and with any number of digits. SQLite's own functions know milliseconds and
// round to them, so they get the text without its fraction.
func sqliteMoment(column string) string {
	const (
		zone     = `CASE WHEN length({t}) > 20 AND substr({t}, -6, 1) IN ('+', '-') THEN substr({t}, -6) ELSE '' END`
		seconds  = `strftime('%s', substr({t}, 1, 19) || ` + zone + `)`
		fraction = `rtrim(substr({t}, 20, length({t}) - 19 - length(` + zone + `)), 'Zz ')`
		moment   = `CASE WHEN {t} LIKE '____-__-_____:__:__%' AND strftime('%s', {t}) IS NOT NULL
			THEN ` + seconds + ` * 1000000 + substr(` + fraction + ` || '000000', 2, 6) END`
	)
	return strings.ReplaceAll(moment, "{t}", column)
}

// instant returns the time that a moment stands for, if it is one.
func instant(moment any) (time.Time, bool) {
	switch moment := moment.(type) {
	case time.Time:
		return moment.UTC(), true
	case int64:
		return time.UnixMicro(moment).UTC(), true
	}
	return time.Time{}, false
}

// moments begins a statement on the events of the sessions from one key to
// another, in the order of the database. They are materialized, or SQLite would
// compute a moment anew wherever it is mentioned.
const moments = `WITH r AS MATERIALIZED (SELECT app_name, user_id, session_id, id, {moment} AS moment FROM events
	WHERE (app_name, user_id, session_id) >= (?, ?, ?) AND (app_name, user_id, session_id) <= (?, ?, ?)) `

func momentsArgs(from, to session.Key) []any {
	return []any{from.AppName, from.UserID, from.SessionID, to.AppName, to.UserID, to.SessionID}
}

// survey counts the events of a page of sessions. It is one scan for all of
// them: ADK has no index by session.
func (s *source) survey(ctx context.Context, page []sourceSession) error {
	byKey := make(map[session.Key]*sourceSession, len(page))
	for i := range page {
		byKey[page[i].key] = &page[i]
	}
	const partition = `OVER (PARTITION BY app_name, user_id, session_id ORDER BY `
	statement := moments + `SELECT app_name, user_id, session_id, count(*), count(moment), sum(tie),
			max(CASE WHEN newest = 1 THEN id END), max(CASE WHEN tie = 1 THEN id END)
		FROM (SELECT app_name, user_id, session_id, id, moment,
				row_number() ` + partition + `moment DESC, {id} DESC) AS newest,
				CASE WHEN moment = lag(moment) ` + partition + `moment, {id}) THEN 1 ELSE 0 END AS tie
			FROM r) e
		GROUP BY app_name, user_id, session_id`
	return s.query(ctx, "events", s.fill(statement), momentsArgs(page[0].key, page[len(page)-1].key), func(rows *sql.Rows) error {
		var found sourceSession
		var last, tie sql.NullString
		err := rows.Scan(&found.key.AppName, &found.key.UserID, &found.key.SessionID,
			&found.events, &found.timed, &found.ties, &last, &tie)
		if err != nil {
			return err
		}
		if row := byKey[found.key]; row != nil {
			row.events, row.timed, row.ties, row.lastID, row.tieID = found.events, found.timed, found.ties, last.String, tie.String
		}
		return nil
	})
}

// fill replaces what differs between databases.
func (s *source) fill(statement string) string {
	return strings.NewReplacer("{moment}", s.moment, "{id}", s.byID).Replace(statement)
}
