package database_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hansardlog/hansard/session"
	"github.com/hansardlog/hansard/session/database"
)

// damage is what a test does to the tables behind the service's back, and which
// guarantees Check must then report broken in one conversation, and no others.
type damage struct {
	name  string
	loose []string // tables that lose their constraints first
	sql   []string // {s} and {g} select the rows of that conversation
	in    string   // the conversation
	want  string
}

// damages are done to what fillForDamage stores.
var damages = []damage{
	{"first event missing", nil, []string{"DELETE FROM hansard_events WHERE {s} AND seq = 1"}, "s", "P1"},
	{"middle event missing", nil, []string{"DELETE FROM hansard_events WHERE {s} AND seq = 3"}, "s", "P1"},
	{"event below min_seq", nil, []string{"UPDATE hansard_conversations SET min_seq = 2 WHERE session_id = 's'"}, "s", "P1"},
	{"sequence repeated", []string{"hansard_events"}, []string{
		"INSERT INTO hansard_events SELECT * FROM hansard_events WHERE {s} AND seq = 3",
	}, "s", "P1"},

	{"request stored twice", nil, []string{
		"DROP INDEX hansard_events_request",
		`UPDATE hansard_events SET idempotency_key = 'k3', request_hash =
			(SELECT request_hash FROM hansard_events WHERE {g} AND seq = 3) WHERE {g} AND seq = 7`,
	}, "g", "P2"},

	{"periods overlap", nil, []string{ // ana leaves for the first time after she came back
		"UPDATE hansard_events SET seq = 99 WHERE {g} AND seq = 4",
		"UPDATE hansard_events SET seq = 4 WHERE {g} AND seq = 9",
		"UPDATE hansard_events SET seq = 9 WHERE {g} AND seq = 99",
		"UPDATE hansard_membership_periods SET to_seq = 9 WHERE {g} AND member = 'ana' AND from_seq = 1",
	}, "g", "P3"},
	{"two periods open", nil, []string{ // ana never left, and came back
		"DROP INDEX hansard_membership_periods_open",
		"UPDATE hansard_events SET kind = 'message', subject = '' WHERE {g} AND seq = 4",
		"UPDATE hansard_membership_periods SET to_seq = NULL WHERE {g} AND member = 'ana' AND from_seq = 1",
	}, "g", "P3"},
	{"period repeated", []string{"hansard_membership_periods"}, []string{
		"INSERT INTO hansard_membership_periods SELECT * FROM hansard_membership_periods WHERE {g} AND member = 'ben'",
	}, "g", "P3"},

	{"period without join", nil, []string{
		`INSERT INTO hansard_membership_periods (conversation_id, generation, member, from_seq, app_name)
			SELECT id, generation, 'zoe', 3, app_name FROM hansard_conversations WHERE session_id = 'g'`,
	}, "g", "P4"},
	{"period opens elsewhere", nil, []string{
		"UPDATE hansard_membership_periods SET from_seq = 3 WHERE {g} AND member = 'ben'",
	}, "g", "P4"},
	{"join without period", nil, []string{"DELETE FROM hansard_membership_periods WHERE {g} AND member = 'ben'"}, "g", "P4"},
	{"leave without end of period", nil, []string{
		"UPDATE hansard_membership_periods SET to_seq = NULL WHERE {g} AND member = 'ben'",
	}, "g", "P4"},
	{"period ends without leave", nil, []string{
		"UPDATE hansard_membership_periods SET to_seq = 9 WHERE {g} AND member = 'ana' AND from_seq = 6",
	}, "g", "P4"},

	{"next_seq too high", nil, []string{"UPDATE hansard_conversations SET next_seq = next_seq + 1 WHERE session_id = 's'"}, "s", "P5"},
	{"next_seq too low", nil, []string{"UPDATE hansard_conversations SET next_seq = next_seq - 1 WHERE session_id = 's'"}, "s", "P5"},
	{"last event missing", nil, []string{"DELETE FROM hansard_events WHERE {s} AND seq = 4"}, "s", "P5"},
	{"every event missing", nil, []string{"DELETE FROM hansard_events WHERE {e}"}, "e", "P5"},

	{"state value changed", nil, []string{"UPDATE hansard_session_states SET value = '11' WHERE {s} AND name = 'a'"}, "s", "P8"},
	{"state value lost", nil, []string{"UPDATE hansard_session_states SET value = NULL WHERE {s} AND name = 'a'"}, "s", "P8"},
	{"state row missing", nil, []string{"DELETE FROM hansard_session_states WHERE {s} AND name = 'c'"}, "s", "P8"},
	{"removed state back", nil, []string{"UPDATE hansard_session_states SET value = '2' WHERE {s} AND name = 'b'"}, "s", "P8"},
	{"state row from nowhere", nil, []string{
		`INSERT INTO hansard_session_states (conversation_id, generation, updated_at, version, name, value)
			SELECT id, generation, 0, 1, 'z', '1' FROM hansard_conversations WHERE session_id = 's'`,
	}, "s", "P8"},
	{"checkpoint changed", nil, []string{`UPDATE hansard_state_checkpoints SET state = '{"a":1,"b":2,"d":5}' WHERE {s}`}, "s", "P8"},
	{"checkpoint is no JSON", nil, []string{`UPDATE hansard_state_checkpoints SET state = '{"a":1,' WHERE {s}`}, "s", "P8"},
	{"checkpoint missing", nil, []string{"DELETE FROM hansard_state_checkpoints WHERE {s}"}, "s", "P8"},
	{"delta changed", nil, []string{`UPDATE hansard_events SET delta = '{"c":4}' WHERE {s} AND seq = 2`}, "s", "P8"},
	{"deletion lost", nil, []string{`UPDATE hansard_events SET deletions = NULL WHERE {s} AND seq = 2`}, "s", "P8"},
}

// fillForDamage stores s with state, g with members who come and go, e with one
// event, and copies of s and g that stay whole.
func fillForDamage(t *testing.T, r *rig) {
	t.Helper()
	for _, id := range []string{"s", "whole s"} {
		key := made(t, r.svc, id, session.State{"a": 1, "b": 2, "d": 4, "app:x": 1, "user:y": 2})
		said(t, r.svc, key, words("agent", "1"))
		said(t, r.svc, key, &session.Event{Author: "agent", StateDelta: session.State{"c": 3, "a": 10, "app:x": 2}, StateDelete: []string{"b", "user:y"}})
		said(t, r.svc, key, words("agent", "3"))
		said(t, r.svc, key, words("agent", "4"))
	}
	for _, id := range []string{"g", "whole g"} {
		key := made(t, r.svc, id, nil, "ana", "ben")
		said(t, r.svc, key, keyed("ana", "k3", "3"))
		got(r.svc.Leave(t.Context(), &session.LeaveRequest{Key: key, Member: "ana"}))(t)
		said(t, r.svc, key, words("ben", "5"))
		got(r.svc.Join(t.Context(), &session.JoinRequest{Key: key, Member: "ana", Actor: "ben"}))(t)
		said(t, r.svc, key, keyed("ana", "k7", "7"))
		got(r.svc.Leave(t.Context(), &session.LeaveRequest{Key: key, Member: "ben", Actor: "ana"}))(t)
		said(t, r.svc, key, words("ana", "9"))
	}
	said(t, r.svc, made(t, r.svc, "e", nil), words("agent", "1"))
}

var rowsIn = strings.NewReplacer(
	"{s}", "conversation_id = (SELECT id FROM hansard_conversations WHERE session_id = 's')",
	"{g}", "conversation_id = (SELECT id FROM hansard_conversations WHERE session_id = 'g')",
	"{e}", "conversation_id = (SELECT id FROM hansard_conversations WHERE session_id = 'e')",
)

func TestCheckReportsDamage(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		r := newRig(t, b)
		fillForDamage(t, r)
		for _, d := range damages {
			t.Run(d.name, func(t *testing.T) {
				found := r.damaged(t, d.loose, d.sql)
				if guarantees(found) != d.want {
					t.Errorf("check found %v, want violations of %s alone", found, d.want)
				}
				for _, v := range found {
					if v.Key != sessionKey(d.in) || v.Detail == "" {
						t.Errorf("%v is of %v, want of %v with a detail", v, v.Key, sessionKey(d.in))
					}
					if text := v.Error(); !strings.Contains(text, d.want) || !strings.Contains(text, v.Key.String()) {
						t.Errorf("the text %q does not name guarantee and session", text)
					}
				}
			})
		}
		r.healthy(t)
	})
}

// damaged returns what Check finds after the damage, which is then undone: all
// of it happens in one transaction.
func (r *rig) damaged(t *testing.T, loose, statements []string) []*database.Violation {
	t.Helper()
	tx := r.db.WithContext(t.Context()).Begin()
	must(t, tx.Error)
	defer tx.Rollback()
	for _, table := range loose {
		unconstrain(t, tx, table)
	}
	for _, s := range statements {
		execute(t, tx, rowsIn.Replace(s))
	}
	return findings(t, r.svc.WithTx(tx))
}

func TestCheckReportsOrphans(t *testing.T) {
	tests := []struct {
		name   string
		sql    []string
		tables []string // that hold orphans
	}{
		{"state and log", []string{"DELETE FROM hansard_conversations WHERE session_id = 's'"},
			[]string{"hansard_events", "hansard_session_states", "hansard_state_checkpoints"}},
		{"members", []string{"DELETE FROM hansard_conversations WHERE session_id = 'g'"},
			[]string{"hansard_events", "hansard_membership_periods"}},
		{"another generation", []string{`INSERT INTO hansard_state_checkpoints (conversation_id, generation, seq, state)
			SELECT id, generation + 1, 0, '{}' FROM hansard_conversations WHERE session_id = 's'`},
			[]string{"hansard_state_checkpoints"}},
		{"a removal that is not finished leaves none", []string{
			`INSERT INTO hansard_discarded_logs (conversation_id, generation, discarded_at)
				SELECT id, generation, 0 FROM hansard_conversations WHERE session_id IN ('s', 'g')`,
			"DELETE FROM hansard_conversations WHERE session_id IN ('s', 'g')",
		}, nil},
	}
	each(t, func(t *testing.T, b backend) {
		r := newRig(t, b)
		fillForDamage(t, r)
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				var tables []string
				for _, v := range r.damaged(t, nil, tt.sql) {
					if v.Guarantee != "orphan" || v.Key != (session.Key{}) {
						t.Errorf("%v: guarantee %s of %v, want an orphan without key", v, v.Guarantee, v.Key)
					}
					table, _, _ := strings.Cut(v.Detail, " ")
					tables = append(tables, table)
				}
				slices.Sort(tables)
				if !slices.Equal(tables, tt.tables) {
					t.Errorf("orphans in %v, want in %v", tables, tt.tables)
				}
			})
		}
	})
}
