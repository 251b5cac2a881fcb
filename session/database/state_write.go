package database

import (
	"cmp"
	"maps"
	"slices"

	"gorm.io/gorm"

	"github.com/hansardlog/hansard/internal/request"
	"github.com/hansardlog/hansard/internal/stateutil"
	"github.com/hansardlog/hansard/model"
	"github.com/hansardlog/hansard/session"
)

// changes are the state changes of one transaction, the last write of each key.
type changes struct {
	app, session stateutil.Values
	users        map[string]stateutil.Values
}

// changesOf collects what events change in a conversation of a kind and owner.
func changesOf(kind session.Kind, owner string, events []*request.Event) changes {
	if len(events) == 1 { // the common case is spared the copies
		c := changes{app: events[0].Changes.App, session: events[0].Changes.Session}
		if user := events[0].Changes.User; len(user) > 0 {
			c.users = map[string]stateutil.Values{events[0].StateUser(kind, owner): user}
		}
		return c
	}
	c := changes{app: stateutil.Values{}, session: stateutil.Values{}, users: map[string]stateutil.Values{}}
	for _, e := range events {
		maps.Copy(c.app, e.Changes.App)
		maps.Copy(c.session, e.Changes.Session)
		if len(e.Changes.User) > 0 {
			user := e.StateUser(kind, owner)
			if c.users[user] == nil {
				c.users[user] = stateutil.Values{}
			}
			maps.Copy(c.users[user], e.Changes.User)
		}
	}
	return c
}

// stateRow is a key to write; owner is whose, in the scope of users.
type stateRow struct {
	owner, name string
	value       []byte // nil removes the key
}

// stateRows are the rows of each scope, sorted as they are locked.
type stateRows struct{ app, users, session []stateRow }

func (c changes) rows() stateRows {
	var r stateRows
	r.app = rowsOf("", c.app)
	for user, values := range c.users {
		r.users = append(r.users, rowsOf(user, values)...)
	}
	r.session = rowsOf("", c.session)
	for _, rows := range [][]stateRow{r.app, r.users, r.session} {
		slices.SortFunc(rows, func(a, b stateRow) int {
			return cmp.Or(cmp.Compare(a.owner, b.owner), cmp.Compare(a.name, b.name))
		})
	}
	return r
}

func rowsOf(owner string, values stateutil.Values) []stateRow {
	if len(values) == 0 {
		return nil
	}
	rows := make([]stateRow, 0, len(values))
	for name, value := range values {
		rows = append(rows, stateRow{owner, name, value})
	}
	return rows
}

// stateScope says which state table is written, and the fixed part of its key.
type stateScope struct {
	table   string        // as in tables.sql
	columns []scopeColumn // fixed for all rows
	owner   string        // column that differs by row, empty if there is none
}

type scopeColumn struct {
	name, sqlType string
	value         any
}

// writeStates writes the changes in the lock order, a statement for each scope.
func writeStates(tx *gorm.DB, d dialect, t tables, conv model.Conversation, c changes, now int64) error {
	rows := c.rows()
	app := scopeColumn{"app_name", "text", conv.AppName}
	for _, w := range []struct {
		scope stateScope
		rows  []stateRow
	}{
		{stateScope{table: "{app_states}", columns: []scopeColumn{app}}, rows.app},
		{stateScope{table: "{user_states}", columns: []scopeColumn{app}, owner: "user_id"}, rows.users},
		{stateScope{table: "{session_states}", columns: []scopeColumn{
			{"conversation_id", "uuid", d.uuid(conv.ID)},
			{"generation", "bigint", conv.Generation},
		}}, rows.session},
	} {
		if len(w.rows) == 0 {
			continue
		}
		if err := d.upsertState(tx, t, w.scope, w.rows, now); err != nil {
			return err
		}
	}
	return nil
}
