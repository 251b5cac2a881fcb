package database

import (
	"context"
	"database/sql"

	"gorm.io/gorm"

	"github.com/hansardlog/hansard/internal/request"
	"github.com/hansardlog/hansard/internal/stateutil"
	"github.com/hansardlog/hansard/internal/view"
	"github.com/hansardlog/hansard/model"
	"github.com/hansardlog/hansard/session"
)

// List implements [session.Sessions].
func (s *Service) List(ctx context.Context, req *session.ListRequest) (*session.ListResponse, error) {
	l, err := s.cfg.List(ctx, req)
	if err != nil {
		return nil, err
	}
	var resp *session.ListResponse
	read := s.inStatement // a page alone is one, and so shows one instant
	if l.WithState {
		read = s.inSnapshot
	}
	err = read(ctx, func(tx *gorm.DB) (err error) {
		resp, err = s.list(tx, l)
		return err
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}

func (s *Service) list(tx *gorm.DB, l *request.List) (*session.ListResponse, error) {
	page, err := s.readPage(tx, l)
	if err != nil {
		return nil, err
	}
	resp := &session.ListResponse{}
	if len(page) > l.PageSize {
		page = page[:l.PageSize]
		last := page[len(page)-1]
		cur := request.Cursor{Micros: last.CreatedAt, UserID: last.UserID, SessionID: last.SessionID}
		if l.Order == session.OrderUpdated {
			cur.Micros = last.UpdatedAt
		}
		resp.NextPageToken = l.Token(cur)
	}
	var states []session.State
	if l.WithState && len(page) > 0 {
		if states, err = s.readStates(tx, l, page); err != nil {
			return nil, err
		}
	}
	for i, conv := range page {
		found := sessionOf(conv, view.Whole(conv.NextSeq-1))
		if states != nil {
			found.State = states[i]
		}
		resp.Sessions = append(resp.Sessions, found)
	}
	return resp, nil
}

// listedColumns are what a listed session shows beside the app's name.
const listedColumns = `c.uid, c.next_seq, c.min_seq, c.epoch, c.created_at, c.updated_at, c.kind, c.user_id, c.session_id`

// readPage reads the page and one more if there is one, by key: what lies before
// the cursor is not read. OrderCreated goes by the owner's index; OrderUpdated
// sorts the sessions of one owner or member, since no index may stand on a
// column that every append changes.
func (s *Service) readPage(tx *gorm.DB, l *request.List) ([]model.Conversation, error) {
	columns := listedColumns
	if l.WithState {
		columns += `, c.id, c.generation`
	}
	statement := `SELECT ` + columns + ` FROM {conversations} c`
	var args []any
	if l.Member != "" {
		statement += ` JOIN {membership_periods} m ON m.conversation_id = c.id AND m.generation = c.generation
			AND m.app_name = ? AND m.member = ? AND m.to_seq IS NULL`
		args = append(args, l.AppName, l.Member)
	}
	if l.Member == "" {
		statement += ` WHERE c.app_name = ?`
	} else {
		statement += ` WHERE c.app_name || '' = ?` // by the member's index, not by the app's
	}
	args = append(args, l.AppName)
	if l.UserID != "" {
		statement += ` AND c.user_id = ?`
		args = append(args, l.UserID)
	}
	if l.Order == session.OrderUpdated {
		if l.Cursor != nil {
			statement += ` AND (c.updated_at, c.user_id, c.session_id) < (?, ?, ?)`
			args = append(args, l.Cursor.Micros, l.Cursor.UserID, l.Cursor.SessionID)
		}
		statement += ` ORDER BY c.updated_at DESC, c.user_id DESC, c.session_id DESC`
	} else {
		if l.Cursor != nil {
			statement += ` AND (c.user_id, c.created_at, c.session_id) > (?, ?, ?)`
			args = append(args, l.Cursor.UserID, l.Cursor.Micros, l.Cursor.SessionID)
		}
		statement += ` ORDER BY c.user_id, c.created_at, c.session_id`
	}
	var page []model.Conversation
	err := query(tx, s.t.sql(statement+` LIMIT ?`), append(args, l.PageSize+1), func(rows *sql.Rows) error {
		page = append(page, model.Conversation{AppName: l.AppName})
		c := &page[len(page)-1]
		dest := []any{&c.UID, &c.NextSeq, &c.MinSeq, &c.Epoch, &c.CreatedAt, &c.UpdatedAt, &c.Kind, &c.UserID, &c.SessionID}
		if l.WithState {
			dest = append(dest, &c.ID, &c.Generation)
		}
		return rows.Scan(dest...)
	})
	return page, err
}

// readStates returns the state of each conversation of a page: one query for
// each scope.
func (s *Service) readStates(tx *gorm.DB, l *request.List, page []model.Conversation) ([]session.State, error) {
	var owners []string
	place := map[string]int{} // of each in owners
	for _, conv := range page {
		owner := l.StateOwner(conv.UserID)
		if _, seen := place[owner]; !seen {
			place[owner] = len(owners)
			owners = append(owners, owner)
		}
	}
	app, err := s.readShared(tx, l.AppName, "")
	if err != nil {
		return nil, err
	}
	users := make([]stateutil.Values, len(owners))
	if err := s.dialect.userStates(tx, s.t, l.AppName, owners, scanInto(users)); err != nil {
		return nil, err
	}
	sessions := make([]stateutil.Values, len(page))
	if err := s.dialect.sessionStates(tx, s.t, page, scanInto(sessions)); err != nil {
		return nil, err
	}
	states := make([]session.State, len(page))
	for i, conv := range page {
		states[i], err = stateutil.Decode(stateutil.Scopes{
			App: app.App, User: users[place[l.StateOwner(conv.UserID)]], Session: sessions[i],
		})
		if err != nil {
			return nil, err
		}
	}
	return states, nil
}

// scanInto scans a place, from 0, a name and a value.
func scanInto(into []stateutil.Values) func(*sql.Rows) error {
	return func(rows *sql.Rows) error {
		var place int
		var name string
		var value []byte
		if err := rows.Scan(&place, &name, &value); err != nil {
			return err
		}
		if into[place] == nil {
			into[place] = stateutil.Values{}
		}
		into[place][name] = value
		return nil
	}
}
