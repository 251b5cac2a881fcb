package database

import (
	"database/sql"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"gorm.io/gorm"

	"github.com/hansardlog/hansard/internal/request"
	"github.com/hansardlog/hansard/model"
	"github.com/hansardlog/hansard/session"
)

// appendShape is what the text of the statement depends on.
type appendShape struct {
	conditions
	single              bool // one event, which is spared the escaping of arrays
	app, users, session bool // scopes with changes
}

// postgresAppend is the middle of an append as one statement, so that an append
// is four round trips, BEGIN, lock, this, COMMIT, or one if they are pipelined.
//
// It takes all it needs from the row that is locked, and nothing from an answer
// to the statement before. Its snapshot is newer than the lock. The update
// happens only if nothing stands against the append, and everything else takes
// the row of that update: a refusal has allocated and written nothing. Each
// scope of state waits for the one before, since parts of a statement have no
// order of their own, but locks have one.
func postgresAppend(shape appendShape) string {
	var b strings.Builder
	add := func(parts ...string) {
		for _, part := range parts {
			b.WriteString(part)
		}
	}

	keys := `unnest(?::text[], ?::text[]) AS k(author, idempotency_key)`
	if shape.single {
		keys = `(VALUES (?::text, ?::text)) AS k(author, idempotency_key)`
	}
	// A UID asked for that is another finds no conversation.
	add(`WITH conv AS (SELECT c.id, c.generation, c.app_name, c.kind, ?::bigint AS now, ?::bigint AS count,
			coalesce(?::bigint, c.next_seq - 1) = c.next_seq - 1 AS fresh
		FROM {conversations} c WHERE `, byKey, ` AND c.uid = coalesce(?::uuid, c.uid))`)

	// LATERAL with LIMIT looks each key up by its index, whatever the planner
	// thinks of the rest.
	from, none, replays, strangers := `conv`, ``, `0`, `0`
	if shape.keyed {
		add(`, replays AS (SELECT count(*) AS n FROM conv CROSS JOIN `, keys, ` CROSS JOIN LATERAL (
			SELECT FROM {events} e WHERE e.conversation_id = conv.id AND e.generation = conv.generation
				AND e.author = k.author AND e.idempotency_key = k.idempotency_key LIMIT 1) e)`)
		from, none, replays = from+`, replays`, none+` AND replays.n = 0`, `(SELECT n FROM replays)`
	}
	if shape.guarded {
		authors := `unnest(?::text[]) AS k(author)`
		if shape.single {
			authors = `(VALUES (?::text)) AS k(author)`
		}
		add(`, strangers AS (SELECT count(*) AS n FROM conv CROSS JOIN `, authors, ` LEFT JOIN LATERAL (
			SELECT true AS current FROM {membership_periods} p WHERE p.conversation_id = conv.id AND p.generation = conv.generation
				AND p.member = k.author AND p.to_seq IS NULL LIMIT 1) m ON true
			WHERE conv.kind <> 'session' AND m.current IS NULL)`)
		from, none, strangers = from+`, strangers`, none+` AND strangers.n = 0`, `(SELECT n FROM strangers)`
	}

	add(`, head AS (UPDATE {conversations} c SET next_seq = c.next_seq + conv.count, updated_at = greatest(c.updated_at, conv.now)
		FROM `, from, ` WHERE c.id = conv.id AND conv.fresh`, none, `
		RETURNING c.updated_at, c.next_seq - conv.count AS first)`)
	add(`, written AS (`, insertEvents, `conv.id, conv.generation, head.updated_at, head.first`, insertEventsFrom,
		eventRows(shape.single), `, conv, head)`)
	before := ``
	for _, scope := range []struct {
		name, table, key, values, rows string
		changed                        bool
	}{
		{"app", "{app_states}", "app_name", "conv.app_name", `unnest(?::text[], ?::text[]) WITH ORDINALITY AS r(name, value, place)`, shape.app},
		// Whose user: keys they are depends on the kind: both answers travel.
		{"users", "{user_states}", "app_name, user_id", "conv.app_name, r.owner", `unnest(?::text[], ?::text[], ?::text[], ?::text[])
			WITH ORDINALITY AS r(kind, owner, name, value, place)`, shape.users},
		{"own", "{session_states}", "conversation_id, generation", "conv.id, conv.generation",
			`unnest(?::text[], ?::text[]) WITH ORDINALITY AS r(name, value, place)`, shape.session},
	} {
		if !scope.changed {
			continue
		}
		from := scope.rows + `, conv, head` + before
		if scope.name == "users" {
			from += ` WHERE (r.kind = 'session') = (conv.kind = 'session')`
		}
		add(`, `, scope.name, ` AS (`, upsert(scope.table, scope.key, scope.values, "conv.now", from), ` RETURNING true)`)
		before = `, (SELECT count(*) FROM ` + scope.name + `) AS before`
	}
	add(` SELECT `, replays, `, `, strangers, `, head.first, head.updated_at FROM (VALUES (1)) AS one LEFT JOIN head ON true`)
	return b.String()
}

// appendStatement returns the statement for an append and its parameters; key
// are those of byKey.
func appendStatement(t tables, a *request.Append, c conditions, key []any) (text string, args []any) {
	shape := appendShape{conditions: c, single: len(a.Events) == 1}
	var expected any
	if a.ExpectedSeq != nil {
		expected = *a.ExpectedSeq
	}
	var uid any
	if a.UID != "" {
		uid = boundUID(a.UID).String()
	}
	args = make([]any, 0, 32)
	args = append(args, a.Now, len(a.Events), expected)
	args = append(args, key...)
	args = append(args, uid)
	if c.keyed {
		args = appendKeys(args, a.Events)
	}
	if c.guarded && shape.single {
		args = append(args, a.Events[0].Author)
	} else if c.guarded {
		args = append(args, textArray(a.Authors(), self))
	}
	args = appendEventRows(args, a.Events)

	owned := changesOf(session.KindSession, a.Key.UserID, a.Events)
	rows := owned.rows()
	if shape.app = len(rows.app) > 0; shape.app {
		args = append(args, names(rows.app), values(rows.app))
	}
	if shape.users = len(rows.users) > 0; shape.users {
		members := changesOf(session.KindGroup, "", a.Events).rows().users
		users := slices.Concat(rows.users, members)
		kinds := slices.Concat(slices.Repeat([]string{string(session.KindSession)}, len(rows.users)),
			slices.Repeat([]string{string(session.KindGroup)}, len(members)))
		args = append(args, textArray(kinds, self), owners(users), names(users), values(users))
	}
	if shape.session = len(rows.session) > 0; shape.session {
		args = append(args, names(rows.session), values(rows.session))
	}
	return t.text(shape, func() string { return postgresAppend(shape) }), args
}

func (p postgres) decideAndWrite(tx *gorm.DB, t tables, _ model.Conversation, a *request.Append, c conditions, v verdict, _ *leftEvents) (verdict, error) {
	text, args := appendStatement(t, a, c, keyArgs(p, a.Key))
	err := query(tx, text, args, func(rows *sql.Rows) error { return v.scan(rows.Scan) })
	return v, err
}

// insertAll has nothing to do: a transaction appends to one conversation.
func (postgres) insertAll(*gorm.DB, tables, []leftEvent) error { return nil }

// scan reads the row that the statement returns.
func (v *verdict) scan(scan func(dest ...any) error) error {
	var first, updatedAt sql.NullInt64
	err := scan(&v.replays, &v.strangers, &first, &updatedAt)
	v.taken, v.first, v.updatedAt = first.Valid, first.Int64, updatedAt.Int64
	return err
}

func (p postgres) replays(tx *gorm.DB, t tables, conv model.Conversation, columns string, events []*request.Event, scan func(*sql.Rows) error) error {
	args := appendKeys(nil, events)
	if len(events) == 1 { // as an array takes them
		args = []any{textArray([]string{events[0].Author}, self), textArray([]string{events[0].IdempotencyKey}, self)}
	}
	return query(tx, t.sql(`SELECT `+columns+` FROM unnest(?::text[], ?::text[]) AS k(author, idempotency_key) CROSS JOIN LATERAL (
			SELECT * FROM {events} WHERE conversation_id = ?::uuid AND generation = ?::bigint
				AND author = k.author AND idempotency_key = k.idempotency_key LIMIT 1) e`),
		append(args, p.uuid(conv.ID), conv.Generation), scan)
}

const (
	insertEvents = `INSERT INTO {events} (conversation_id, generation, recorded_at, seq, timestamp, id, kind, author,
			subject, invocation_id, branch, format, idempotency_key, request_hash, delta, deletions, payload)
		SELECT `
	// insertEventsFrom follows the first sequence.
	insertEventsFrom = ` + r.place - 1, r.timestamp, r.id, r.kind, r.author, r.subject, r.invocation_id, r.branch, r.format,
			r.idempotency_key, decode(r.request_hash, 'hex'), r.delta, r.deletions, r.payload FROM `
	eventRowColumns = `r(timestamp, id, kind, author, subject, invocation_id, branch, format, idempotency_key,
			request_hash, delta, deletions, payload, place)`
)

// insertEvents writes events whose RecordedAt is known.
func (p postgres) insertEvents(tx *gorm.DB, t tables, conv model.Conversation, events []*request.Event) error {
	args := []any{p.uuid(conv.ID), conv.Generation, events[0].RecordedAt, events[0].Seq}
	_, err := exec(tx, t.sql(insertEvents+`?::uuid, ?::bigint, ?::bigint, ?::bigint`+insertEventsFrom+eventRows(len(events) == 1)),
		appendEventRows(args, events)...)
	return err
}

// eventRows is the row source of one or of several events.
func eventRows(single bool) string {
	if single {
		return `(VALUES (?::bigint, ?::text, ?::text, ?::text, ?::text, ?::text, ?::text, ?::text, ?::text,
				?::text, ?::text, ?::text, ?::text, 1)) AS ` + eventRowColumns
	}
	return `unnest(?::bigint[], ?::text[], ?::text[], ?::text[], ?::text[], ?::text[], ?::text[], ?::text[], ?::text[],
			?::text[], ?::text[], ?::text[], ?::text[]) WITH ORDINALITY AS ` + eventRowColumns
}

// appendEventRows appends the parameters of eventRows.
func appendEventRows(args []any, events []*request.Event) []any {
	if len(events) == 1 {
		e := events[0]
		var hash any // nobody asks for it without a key
		if e.IdempotencyKey != "" {
			hash = hex.EncodeToString(e.Hash)
		}
		return append(args, e.Timestamp, e.ID, string(e.Kind), e.Author, e.Subject, e.InvocationID, e.Branch, e.Format,
			keyOf(e), hash, text(e.Delta), text(e.Deletions), text(e.Payload))
	}
	for _, column := range []func(*request.Event) *string{
		func(e *request.Event) *string { return self(strconv.FormatInt(e.Timestamp, 10)) },
		func(e *request.Event) *string { return &e.ID },
		func(e *request.Event) *string { return self(string(e.Kind)) },
		func(e *request.Event) *string { return &e.Author },
		func(e *request.Event) *string { return &e.Subject },
		func(e *request.Event) *string { return &e.InvocationID },
		func(e *request.Event) *string { return &e.Branch },
		func(e *request.Event) *string { return &e.Format },
		keyOrNull,
		func(e *request.Event) *string {
			if e.IdempotencyKey == "" {
				return nil
			}
			return self(hex.EncodeToString(e.Hash))
		},
		func(e *request.Event) *string { return textOrNull(e.Delta) },
		func(e *request.Event) *string { return textOrNull(e.Deletions) },
		func(e *request.Event) *string { return textOrNull(e.Payload) },
	} {
		args = append(args, textArray(events, column))
	}
	return args
}

// appendKeys appends author and idempotency key, each as one parameter.
func appendKeys(args []any, events []*request.Event) []any {
	if len(events) == 1 {
		return append(args, events[0].Author, keyOf(events[0]))
	}
	return append(args, textArray(events, func(e *request.Event) *string { return &e.Author }), textArray(events, keyOrNull))
}
