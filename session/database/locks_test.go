package database_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hansardlog/hansard/session"
)

var (
	lockedTable = regexp.MustCompile(`hansard_(conversations|app_states|user_states|session_states)`)
	lockedName  = regexp.MustCompile(`\b(ana|ben|key[0-9]{2})\b`)
)

// The order of locks is conversation, app keys, user keys, session keys, each
// sorted: nobody who follows it can deadlock with another who does. An append on
// PostgreSQL is one statement, of which TestLockOrderOfAppend asks the database.
func TestLockOrder(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		if b.postgres() {
			r := newRig(t, b)
			checkLockOrder(t, r.statements(func() { updateKeys(t, r) }), "app_states user_states", map[string]int{"app_states": 40, "user_states": 40})
			return
		}
		r := newRig(t, b)
		key := made(t, r.svc, "s1", nil, "ana", "ben")
		// Every author changes keys of every scope, in no order and from both ends.
		var events []*session.Event
		for i := range 20 {
			e := &session.Event{Author: []string{"ben", "ana"}[i%2], StateDelta: session.State{}}
			for j, scope := range []string{"", "user:", "app:"} {
				e.StateDelta[fmt.Sprintf("%skey%02d", scope, (19-i+7*j)%20)] = i
				e.StateDelete = append(e.StateDelete, fmt.Sprintf("%skey%02d", scope, 20+(i+3*j)%20))
			}
			events = append(events, e)
		}
		sent := r.statements(func() {
			got(r.svc.AppendEvents(t.Context(), &session.AppendEventsRequest{Key: key, Events: events}))(t)
		})
		checkLockOrder(t, sent, "conversations app_states user_states session_states", map[string]int{
			"app_states": 40, "user_states": 40, "session_states": 40,
		})

		sent = r.statements(func() { updateKeys(t, r) })
		checkLockOrder(t, sent, "app_states user_states", map[string]int{"app_states": 40, "user_states": 40})
	})
}

// updateKeys changes 40 keys of an app and 40 of a user, in no order.
func updateKeys(t *testing.T, r *rig) {
	t.Helper()
	req := &session.UpdateStateRequest{AppName: "app", UserID: "ana", Delta: session.State{}}
	for i := range 20 {
		req.Delta[fmt.Sprintf("user:key%02d", 19-i)] = i
		req.Delta[fmt.Sprintf("app:key%02d", 19-i)] = i
		req.Delete = append(req.Delete, fmt.Sprintf("user:key%02d", 39-i), fmt.Sprintf("app:key%02d", 39-i))
	}
	got(r.svc.UpdateState(t.Context(), req))(t)
}

// While an append waits for a key that another transaction holds, it has locked
// all that comes before in the order, and nothing that comes after.
func TestLockOrderOfAppend(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		if !b.postgres() {
			t.Skip("SQLite locks the database")
		}
		r := newRig(t, b)
		key := made(t, r.svc, "s1", nil, "ana", "ben")
		change := func() []*session.Event {
			var events []*session.Event
			for i := range 6 {
				delta := session.State{}
				for _, scope := range []string{"", "user:", "app:"} {
					delta[fmt.Sprintf("%skey%02d", scope, (5*i+1)%6)] = i
				}
				events = append(events, &session.Event{Author: []string{"ben", "ana"}[i%2], StateDelta: delta})
			}
			return events
		}
		got(r.svc.AppendEvents(t.Context(), &session.AppendEventsRequest{Key: key, Events: change()}))(t)
		holder, looker := r.conn(t), r.conn(t)
		var order []string // all keys in the order in which they are to be locked
		for _, table := range []string{"app_states", "user_states", "session_states"} {
			owner := map[bool]string{true: "user_id", false: "''::text"}[table == "user_states"]
			order = append(order, strings.Fields(queryLines(t, looker,
				"SELECT '"+table+"/' || "+owner+" || '/' || name FROM hansard_"+table+" ORDER BY "+owner+", name"))...)
		}
		if len(order) != 18 {
			t.Fatalf("the keys are %v, want 18", order)
		}
		for i, held := range order {
			table, rest, _ := strings.Cut(held, "/")
			owner, name, _ := strings.Cut(rest, "/")
			where := " WHERE name = '" + name + "'"
			if owner != "" {
				where += " AND user_id = '" + owner + "'"
			}
			do(t, holder, "BEGIN")
			do(t, holder, "SELECT 1 FROM hansard_"+table+where+" FOR UPDATE")
			pid := ask(t, holder, "SELECT pg_backend_pid()")
			appended := make(chan error)
			go func() {
				_, err := r.svc.AppendEvents(t.Context(), &session.AppendEventsRequest{Key: key, Events: change()})
				appended <- err
			}()
			awaitBlocked(t, r, pid)
			var free []string
			for _, table := range []string{"app_states", "user_states", "session_states"} {
				owner := map[bool]string{true: "user_id", false: "''::text"}[table == "user_states"]
				free = append(free, strings.Fields(queryLines(t, looker,
					"SELECT '"+table+"/' || "+owner+" || '/' || name FROM hansard_"+table+" ORDER BY "+owner+", name FOR UPDATE SKIP LOCKED"))...)
			}
			do(t, holder, "ROLLBACK")
			must(t, <-appended)
			if !slices.Equal(free, order[i+1:]) {
				t.Fatalf("waiting for %s it has not locked %v, want %v", held, free, order[i+1:])
			}
		}
		r.healthy(t)
	})
}

// checkLockOrder checks in which order the statements lock tables, how many
// keys of each, and that those are sorted, by their owner first.
func checkLockOrder(t *testing.T, sent []statement, wantTables string, wantRows map[string]int) {
	t.Helper()
	var tables []string
	rows := map[string]int{}
	for _, s := range sent {
		if !strings.HasPrefix(s.sql, "INSERT") && !strings.HasPrefix(s.sql, "UPDATE") &&
			!strings.HasPrefix(s.sql, "WITH") && !strings.HasSuffix(s.sql, "FOR NO KEY UPDATE") {
			continue // locks nothing
		}
		match := lockedTable.FindStringSubmatch(s.sql)
		if match == nil {
			continue // rows of the log, which belong to the locked conversation
		}
		table := match[1]
		if len(tables) == 0 || tables[len(tables)-1] != table {
			tables = append(tables, table)
		}
		if table == "conversations" {
			continue
		}
		names := rowNames(s, table == "user_states")
		if !slices.IsSorted(names) {
			t.Errorf("%s are locked in the order %v, want sorted", table, names)
		}
		rows[table] += len(names)
	}
	if got := strings.Join(tables, " "); got != wantTables {
		t.Errorf("locked are %s, want %s", got, wantTables)
	}
	if !maps.Equal(rows, wantRows) {
		t.Errorf("keys locked by table are %v, want %v", rows, wantRows)
	}
}

// rowNames returns the keys that a statement writes in the order in which it
// names them, with the owner before each if there is one.
func rowNames(s statement, owned bool) []string {
	var owners, names []string
	for _, arg := range s.args {
		for _, word := range lockedName.FindAllString(fmt.Sprint(arg), -1) {
			if strings.HasPrefix(word, "key") {
				names = append(names, word)
			} else {
				owners = append(owners, word)
			}
		}
	}
	for i := range names {
		if owned && i < len(owners) {
			names[i] = owners[i] + " " + names[i]
		}
	}
	return names
}
