package database_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hansardlog/hansard/session"
)

// planSizes say how much stands in the tables when plans are looked at.
type planSizes struct {
	big    int // events of the conversation that is read and written
	others int // other conversations
	each   int // events of each
	users  int // with state; and a tenth as many apps
	guests int // other members of the conversation that is read
}

// fillForPlans stores the conversation "big", a group of ana, ben and cem in
// which every event has an idempotency key, and others beside it: of many apps
// and users, some groups, all with state.
func (r *rig) fillForPlans(t testing.TB, size planSizes) session.Key {
	t.Helper()
	key := made(t, r.svc, "big", session.State{"a": 1, "user:b": 2, "app:c": 3}, "ana", "ben", "cem")
	series := func(n int) string {
		if r.postgres() {
			return fmt.Sprintf("generate_series(1, %d) AS n(i)", n)
		}
		return fmt.Sprintf("(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) SELECT i FROM n) AS n", n)
	}
	id, hash := "CAST(printf('%016d', n.i) AS BLOB)", "x'01'"
	if r.postgres() {
		id, hash = "md5(n.i::text)::uuid", `'\x01'::bytea`
	}
	fill := strings.NewReplacer("{id}", id, "{hash}", hash,
		"{big}", series(size.big), "{others}", series(size.others), "{each}", series(size.each), "{ten}", series(10),
		"{guests}", series(size.guests), "{apps}", series(size.users/10), "{users}", series(size.users))
	for _, statement := range []string{
		`INSERT INTO hansard_events (conversation_id, generation, seq, timestamp, recorded_at, id, kind, author, subject,
				invocation_id, branch, format, idempotency_key, request_hash, payload)
			SELECT c.id, c.generation, n.i + 3, n.i, c.updated_at, 'event ' || n.i, 'message',
				CASE n.i % 3 WHEN 0 THEN 'ana' WHEN 1 THEN 'ben' ELSE 'cem' END, '', 'run ' || (n.i / 10), '', 'text',
				'key ' || n.i, {hash}, '"some words that were said as number ' || n.i || '"'
			FROM hansard_conversations c CROSS JOIN {big} WHERE c.session_id = 'big'`,
		fmt.Sprintf(`UPDATE hansard_conversations SET next_seq = %d`, size.big+4),
		`INSERT INTO hansard_membership_periods (conversation_id, generation, member, from_seq, app_name)
			SELECT c.id, c.generation, 'guest ' || n.i, n.i, c.app_name FROM hansard_conversations c CROSS JOIN {guests}`,
		// One in twenty of the others is in the app that is asked for, and olga
		// owns every second of those.
		`INSERT INTO hansard_conversations (id, uid, generation, next_seq, min_seq, epoch, created_at, updated_at, kind,
				app_name, user_id, session_id)
			SELECT {id}, {id}, n.i, 1000, 1, 1, n.i, n.i, CASE n.i % 2 WHEN 0 THEN 'session' ELSE 'group' END,
				CASE n.i % 20 WHEN 0 THEN 'app' ELSE 'app ' || (n.i % 200) END,
				CASE n.i % 40 WHEN 0 THEN 'olga' ELSE 'user ' || (n.i % 2000) END, 'session ' || n.i
			FROM {others}`,
		`INSERT INTO hansard_events (conversation_id, generation, seq, timestamp, recorded_at, id, kind, author, subject,
				invocation_id, branch, format, idempotency_key, request_hash, payload)
			SELECT c.id, c.generation, n.i, n.i, c.updated_at, 'event ' || n.i, 'message', 'ana', '', '', '', 'text',
				'key ' || n.i, {hash}, '"some words that were said as number ' || n.i || '"'
			FROM hansard_conversations c CROSS JOIN {each} WHERE c.session_id <> 'big'`,
		`INSERT INTO hansard_membership_periods (conversation_id, generation, member, from_seq, app_name)
			SELECT c.id, c.generation, 'member ' || ((c.generation + n.i) % 1000), n.i, c.app_name
			FROM hansard_conversations c CROSS JOIN {ten} WHERE c.session_id <> 'big'`,
		`INSERT INTO hansard_membership_periods (conversation_id, generation, member, from_seq, app_name)
			SELECT id, generation, 'ana', 20, app_name FROM hansard_conversations
			WHERE app_name = 'app' AND user_id = 'olga' AND session_id <> 'big'`,
		`INSERT INTO hansard_session_states (conversation_id, generation, name, value, updated_at, version)
			SELECT c.id, c.generation, 'key ' || n.i, '1', 0, 1
			FROM hansard_conversations c CROSS JOIN {ten} WHERE c.session_id <> 'big'`,
		`INSERT INTO hansard_state_checkpoints (conversation_id, generation, seq, state)
			SELECT c.id, c.generation, 0, '{"a":1}' FROM hansard_conversations c WHERE c.session_id <> 'big'`,
		`INSERT INTO hansard_app_states (app_name, name, value, updated_at, version)
			SELECT CASE a.i WHEN 1 THEN 'app' ELSE 'app ' || a.i END, 'key ' || n.i, '1', 0, 1
			FROM (SELECT i FROM {apps}) a CROSS JOIN {ten}`,
		`INSERT INTO hansard_user_states (app_name, user_id, name, value, updated_at, version)
			SELECT 'app', CASE u.i WHEN 1 THEN 'olga' WHEN 2 THEN 'ana' ELSE 'user ' || u.i END, 'key ' || n.i, '1', 0, 1
			FROM (SELECT i FROM {users}) u CROSS JOIN {ten}`,
		`INSERT INTO hansard_discarded_logs (conversation_id, generation, discarded_at)
			SELECT c.id, -n.i, 0 FROM hansard_conversations c CROSS JOIN {ten} WHERE c.session_id <> 'big'`,
	} {
		r.exec(t, fill.Replace(statement))
	}
	return key
}
