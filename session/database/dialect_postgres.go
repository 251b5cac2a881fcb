package database

import (
	"database/sql"
	"encoding/hex"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/hansardlog/hansard/internal/request"
	"github.com/hansardlog/hansard/model"
	"github.com/hansardlog/hansard/session"
)

// postgres locks the row of the conversation and lets everything else run
// beside. Lists of any length travel as arrays, so that a statement's text is
// the same for every length: one plan, one prepared statement, no limit on
// parameters. Every parameter has a cast, for servers that see only text (a
// pooler in front, the simple protocol).
type postgres struct{}

var _ dialect = postgres{}

func (postgres) name() string { return "postgres" }

func (postgres) hasSchemas() bool { return true }

func (postgres) opened(*gorm.DB, *sql.DB) error { return nil }

// write asks for READ COMMITTED whatever the connection's default: the decision
// is a statement after the lock and must see what the previous holder committed.
func (postgres) write(db *gorm.DB, fn func(*gorm.DB) error) error {
	return db.Transaction(fn, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
}

func (postgres) read(db *gorm.DB, fn func(*gorm.DB) error) error {
	return db.Transaction(fn, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
}

// migrate takes an advisory lock in the migration's own transaction: one of the
// session would hang a pool of one connection.
func (p postgres) migrate(db *gorm.DB, t tables, fn func(*gorm.DB) error) error {
	return db.Transaction(func(tx *gorm.DB) error {
		if err := p.makeSchema(tx, t.schema); err != nil {
			return err
		}
		_, err := exec(tx, `SELECT pg_advisory_xact_lock(hashtextextended(
			'hansard migration of ' || coalesce(nullif(?::text, ''), current_schema()) || '.' || ?::text, 0))`, t.schema, t.prefix)
		if err != nil {
			return err
		}
		return fn(tx)
	}, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
}

// makeSchema makes the schema if it is missing. It asks first, because even
// IF NOT EXISTS needs the right to make one, and it locks before it makes one,
// because two prefixes may want the same.
func (postgres) makeSchema(tx *gorm.DB, schema string) error {
	exists := func() (exists bool, err error) {
		_, err = queryRow(tx, `SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = ?::text)`, []any{schema}, &exists)
		return exists, err
	}
	if schema == "" {
		return nil
	}
	if ok, err := exists(); err != nil || ok {
		return err
	}
	if _, err := exec(tx, `SELECT pg_advisory_xact_lock(hashtextextended('hansard schema ' || ?::text, 0))`, schema); err != nil {
		return err
	}
	if ok, err := exists(); err != nil || ok {
		return err
	}
	_, err := exec(tx, `CREATE SCHEMA "`+schema+`"`)
	return err
}

// retryable: serialization_failure, deadlock_detected, lock_not_available.
func (postgres) retryable(err error) bool {
	var state interface{ SQLState() string } // pgx and pq both have it
	if !errors.As(err, &state) {
		return false
	}
	switch state.SQLState() {
	case "40001", "40P01", "55P03":
		return true
	}
	return false
}

func (postgres) existing(tx *gorm.DB, t tables, names []string) ([]string, error) {
	var found []string
	for _, name := range names {
		var exists bool
		_, err := queryRow(tx, `SELECT EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
			WHERE n.nspname = coalesce(nullif(?::text, ''), current_schema()) AND c.relname = ?::text)`,
			[]any{t.schema, t.prefix + name}, &exists)
		if err != nil {
			return nil, err
		}
		if exists {
			found = append(found, name)
		}
	}
	return found, nil
}

func (postgres) uuid(id uuid.UUID) any { return id.String() }

// lock: FOR NO KEY UPDATE is what the UPDATE takes that follows; no stronger
// lock is needed, since nothing refers to the row by a foreign key.
func (p postgres) lock(tx *gorm.DB, t tables, key session.Key) (model.Conversation, error) {
	return queryConversation(tx, t.sql(`SELECT `+conversationColumns+` FROM {conversations} c
		WHERE `+byKey+` FOR NO KEY UPDATE`), keyArgs(p, key)...)
}

// decideAndWrite is one statement, so that an append without state is four
// round trips: BEGIN, lock, this, COMMIT. Its snapshot is newer than the lock.
// The update happens only if nothing stands against the append, the insert
// takes its sequences from the update: a refusal has allocated nothing.
func (p postgres) decideAndWrite(tx *gorm.DB, t tables, conv model.Conversation, a *request.Append, c conditions) (verdict, error) {
	id, generation := p.uuid(conv.ID), conv.Generation
	var text strings.Builder
	var args []any
	add := func(sql string, values ...any) {
		text.WriteString(sql)
		args = append(args, values...)
	}

	add(`WITH replays AS (SELECT `)
	switch {
	case !c.keyed:
		add(`0 AS n)`)
	case len(a.Events) == 1:
		e := a.Events[0]
		add(`count(*) AS n FROM {events} WHERE conversation_id = ?::uuid AND generation = ?::bigint
			AND author = ?::text AND idempotency_key = ?::text)`, id, generation, e.Author, e.IdempotencyKey)
	default:
		from, values := p.joinReplays(conv, a.Events)
		add(`count(*) AS n FROM `+from+`)`, values...)
	}

	add(`, members AS (SELECT `)
	if len(c.members) == 0 {
		add(`0 AS n)`)
	} else {
		// One by one: ANY would read every open member of the conversation.
		add(`count(*) AS n FROM unnest(?::text[]) AS k(member) CROSS JOIN LATERAL (
				SELECT 1 FROM {membership_periods} WHERE conversation_id = ?::uuid AND generation = ?::bigint
					AND member = k.member AND to_seq IS NULL LIMIT 1) p)`, textArray(c.members, self), id, generation)
	}

	add(`, head AS (UPDATE {conversations} c SET next_seq = c.next_seq + ?::bigint, updated_at = greatest(c.updated_at, ?::bigint)
		FROM replays, members
		WHERE `+byKey+`
			AND replays.n = 0 AND members.n = ?::bigint AND ?::boolean
		RETURNING c.updated_at), `,
		slices.Concat([]any{len(a.Events), a.Now}, keyArgs(p, a.Key), []any{len(c.members), c.head})...)

	rows, values := eventRows(a.Events)
	add(`written AS (`+insertEvents+`head.updated_at`+insertEventsFrom+rows+`, head)
		SELECT replays.n, members.n, head.updated_at FROM replays CROSS JOIN members LEFT JOIN head ON true`,
		append([]any{id, generation}, values...)...)

	var v verdict
	var updatedAt sql.NullInt64
	_, err := queryRow(tx, t.sql(text.String()), args, &v.replays, &v.members, &updatedAt)
	v.written, v.updatedAt = updatedAt.Valid, updatedAt.Int64
	return v, err
}

// joinReplays finds each author and key by the unique index, whatever the
// planner thinks of the rest.
func (p postgres) joinReplays(conv model.Conversation, events []*request.Event) (from string, args []any) {
	return `unnest(?::text[], ?::text[]) AS k(author, idempotency_key) CROSS JOIN LATERAL (
			SELECT * FROM {events} WHERE conversation_id = ?::uuid AND generation = ?::bigint
				AND author = k.author AND idempotency_key = k.idempotency_key LIMIT 1) e`,
		[]any{
			textArray(events, func(e *request.Event) *string { return &e.Author }),
			textArray(events, func(e *request.Event) *string {
				if e.IdempotencyKey == "" {
					return nil // equals no key
				}
				return &e.IdempotencyKey
			}),
			p.uuid(conv.ID), conv.Generation,
		}
}

func (p postgres) replays(tx *gorm.DB, t tables, conv model.Conversation, columns string, events []*request.Event, scan func(*sql.Rows) error) error {
	from, args := p.joinReplays(conv, events)
	return query(tx, t.sql(`SELECT `+columns+` FROM `+from), args, scan)
}

const (
	insertEvents = `INSERT INTO {events} (conversation_id, generation, recorded_at, seq, timestamp, id, kind, author,
			subject, invocation_id, branch, format, idempotency_key, request_hash, delta, deletions, payload)
		SELECT ?::uuid, ?::bigint, `
	insertEventsFrom = `, r.seq, r.timestamp, r.id, r.kind, r.author, r.subject, r.invocation_id, r.branch, r.format,
			r.idempotency_key, decode(r.request_hash, 'hex'), r.delta, r.deletions, r.payload FROM `
	// eventRowColumns name what eventRows returns.
	eventRowColumns = `r(seq, timestamp, id, kind, author, subject, invocation_id, branch, format, idempotency_key,
			request_hash, delta, deletions, payload)`
)

// insertEvents writes events whose RecordedAt is known.
func (p postgres) insertEvents(tx *gorm.DB, t tables, conv model.Conversation, events []*request.Event) error {
	rows, values := eventRows(events)
	args := append([]any{p.uuid(conv.ID), conv.Generation, events[0].RecordedAt}, values...)
	_, err := exec(tx, t.sql(insertEvents+`?::bigint`+insertEventsFrom+rows), args...)
	return err
}

// eventRows returns a row source of the events. A single one, the common case,
// is spared the escaping of arrays.
func eventRows(events []*request.Event) (source string, args []any) {
	if len(events) == 1 {
		e := events[0]
		var hash any // nobody asks for it without a key
		if e.IdempotencyKey != "" {
			hash = hex.EncodeToString(e.Hash)
		}
		return `(VALUES (?::bigint, ?::bigint, ?::text, ?::text, ?::text, ?::text, ?::text, ?::text, ?::text, ?::text,
				?::text, ?::text, ?::text, ?::text)) AS ` + eventRowColumns,
			[]any{
				e.Seq, e.Timestamp, e.ID, string(e.Kind), e.Author, e.Subject, e.InvocationID, e.Branch, e.Format,
				keyOf(e), hash, text(e.Delta), text(e.Deletions), text(e.Payload),
			}
	}
	str := func(get func(*request.Event) string) any {
		return textArray(events, func(e *request.Event) *string { s := get(e); return &s })
	}
	data := func(get func(*request.Event) []byte) any {
		return textArray(events, func(e *request.Event) *string {
			if b := get(e); b != nil {
				s := string(b)
				return &s
			}
			return nil
		})
	}
	keyed := func(get func(*request.Event) string) any {
		return textArray(events, func(e *request.Event) *string {
			if e.IdempotencyKey == "" {
				return nil
			}
			s := get(e)
			return &s
		})
	}
	return `unnest(?::bigint[], ?::bigint[], ?::text[], ?::text[], ?::text[], ?::text[], ?::text[], ?::text[], ?::text[],
			?::text[], ?::text[], ?::text[], ?::text[], ?::text[]) AS ` + eventRowColumns,
		[]any{
			str(func(e *request.Event) string { return strconv.FormatInt(e.Seq, 10) }),
			str(func(e *request.Event) string { return strconv.FormatInt(e.Timestamp, 10) }),
			str(func(e *request.Event) string { return e.ID }),
			str(func(e *request.Event) string { return string(e.Kind) }),
			str(func(e *request.Event) string { return e.Author }),
			str(func(e *request.Event) string { return e.Subject }),
			str(func(e *request.Event) string { return e.InvocationID }),
			str(func(e *request.Event) string { return e.Branch }),
			str(func(e *request.Event) string { return e.Format }),
			keyed(func(e *request.Event) string { return e.IdempotencyKey }),
			keyed(func(e *request.Event) string { return hex.EncodeToString(e.Hash) }),
			data(func(e *request.Event) []byte { return e.Delta }),
			data(func(e *request.Event) []byte { return e.Deletions }),
			data(func(e *request.Event) []byte { return e.Payload }),
		}
}

// upsertState is one statement for sets and removals: an upsert followed by a
// delete would take the rows' locks in two orders and deadlock.
func (postgres) upsertState(tx *gorm.DB, t tables, scope stateScope, rows []stateRow, now int64) error {
	columns, selected, args := "", "", []any{}
	for _, c := range scope.columns {
		columns += c.name + ", "
		selected += "?::" + c.sqlType + ", "
		args = append(args, c.value)
	}
	key := columns + "name"
	if scope.owner != "" {
		columns += scope.owner + ", "
		selected += "r.owner, "
		key = columns + "name"
	}
	args = append(args, now,
		textArray(rows, func(r stateRow) *string { return &r.owner }),
		textArray(rows, func(r stateRow) *string { return &r.name }),
		textArray(rows, func(r stateRow) *string {
			if r.value == nil {
				return nil
			}
			s := string(r.value)
			return &s
		}))
	_, err := exec(tx, t.sql(`INSERT INTO `+scope.table+` AS s (`+columns+`name, value, updated_at, version)
		SELECT `+selected+`r.name, r.value, ?::bigint, 1
		FROM unnest(?::text[], ?::text[], ?::text[]) WITH ORDINALITY AS r(owner, name, value, place) ORDER BY r.place
		ON CONFLICT (`+key+`) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at, version = s.version + 1`),
		args...)
	return err
}

func self(s string) *string { return &s }

// textArray writes an array literal, which every driver passes on as text; nil
// is NULL.
func textArray[T any](items []T, get func(T) *string) string {
	var b strings.Builder
	b.WriteByte('{')
	for i, item := range items {
		if i > 0 {
			b.WriteByte(',')
		}
		s := get(item)
		if s == nil {
			b.WriteString("NULL")
			continue
		}
		b.WriteByte('"')
		_, _ = arrayEscaper.WriteString(&b, *s) // a Builder does not fail
		b.WriteByte('"')
	}
	b.WriteByte('}')
	return b.String()
}

var arrayEscaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`)
