package adk

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/hansardlog/hansard/session"
)

// refPage is how many references to events are read at a time.
const refPage = 20_000

// ref says which event stands at a place of its log. ADK's tables
// have an index by the ID of events but none by session, so a log is read in two
// steps: the references of many events, of all sessions of a page, with one
// scan; then the events of one session, by their IDs.
type ref struct {
	session int // its place in the page
	id      string
}

// logReader reads the events of the sessions of a page, which are asked for in
// the order of the page; any of them may be left out or left early.
type logReader struct {
	src    *source
	page   []sourceSession
	places map[session.Key]int

	refs   []ref // read and not yet taken
	done   bool  // none follow them
	place  int   // the session that the cursor has come to, -1 at the beginning
	cursor []any // where the last reference stands
}

func (s *source) log(page []sourceSession) *logReader {
	l := &logReader{src: s, page: page, places: make(map[session.Key]int, len(page)), place: -1}
	for i := range page {
		l.places[page[i].key] = i
	}
	return l
}

// next returns the next events of a session, at most limit and fewer if they
// are large, in their order. There are none after the last one. An error that
// matches ErrUnreadable is of that session.
func (l *logReader) next(ctx context.Context, s *sourceSession, limit int) ([]*eventRow, error) {
	place := l.places[s.key]
	for {
		for len(l.refs) > 0 && l.refs[0].session < place { // left out or left early
			l.refs = l.refs[1:]
		}
		if len(l.refs) > 0 || l.done {
			break
		}
		if err := l.fetch(ctx, place); err != nil {
			return nil, err
		}
	}
	n := 0
	for n < min(limit, len(l.refs)) && l.refs[n].session == place {
		n++
	}
	if n == 0 {
		return nil, nil
	}
	rows, err := l.src.events(ctx, s.key, l.refs[:n])
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("%w: %d events vanished while they were read", ErrUnreadable, n)
	}
	end := slices.IndexFunc(l.refs[:n], func(r ref) bool { return r.id == rows[len(rows)-1].id.String })
	l.refs = l.refs[end+1:]
	return rows, nil
}

// fetch reads the next references, none of a session before the one at place.
func (l *logReader) fetch(ctx context.Context, place int) error {
	from, to := l.page[max(place, l.place)].key, l.page[len(l.page)-1].key
	args, condition := momentsArgs(from, to), ""
	if l.place >= place {
		condition = ` AND (app_name, user_id, session_id, moment, {id}) > (?, ?, ?, ?, ?)`
		args = append(args, l.cursor...)
	}
	l.place = max(place, l.place)
	statement := moments + `SELECT app_name, user_id, session_id, id, moment FROM r
		WHERE moment IS NOT NULL` + condition + `
		ORDER BY app_name, user_id, session_id, moment, {id} LIMIT ?`
	read := 0
	err := l.src.query(ctx, "events", l.src.fill(statement), append(args, refPage), func(rows *sql.Rows) error {
		var key session.Key
		var r ref
		var moment any
		if err := rows.Scan(&key.AppName, &key.UserID, &key.SessionID, &r.id, &moment); err != nil {
			return err
		}
		read++
		l.cursor = []any{key.AppName, key.UserID, key.SessionID, moment, r.id}
		if at, ok := l.places[key]; ok { // else its session does not exist
			r.session, l.place = at, at
			l.refs = append(l.refs, r)
		}
		return nil
	})
	l.done = read < refPage
	return err
}

// events returns the events that refs name, in that order; fewer if they are
// large, and without those that are no longer there.
func (s *source) events(ctx context.Context, key session.Key, refs []ref) ([]*eventRow, error) {
	ids := make([]string, len(refs))
	for i, r := range refs {
		ids[i] = r.id
	}
	statement := `SELECT ` + strings.Join(s.columns, ", ") + `, {moment} AS moment FROM events
		WHERE app_name = ? AND user_id = ? AND session_id = ? AND id IN ? ORDER BY moment, {id}`
	var events []*eventRow
	size := 0
	err := s.query(ctx, "events", s.fill(statement), []any{key.AppName, key.UserID, key.SessionID, ids}, func(rows *sql.Rows) error {
		if size > pageBytes {
			return errEnough
		}
		row := new(eventRow)
		columns := row.columns()
		dest := make([]any, len(s.columns))
		for i, name := range s.columns {
			dest[i] = columns[name]
		}
		if err := rows.Scan(append(dest, &row.moment)...); err != nil {
			return fmt.Errorf("%w: %w", ErrUnreadable, err)
		}
		events = append(events, row)
		size += row.size()
		return nil
	})
	return events, err
}
