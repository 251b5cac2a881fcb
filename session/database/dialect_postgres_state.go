package database

import (
	"database/sql"
	"strconv"
	"strings"

	"gorm.io/gorm"

	"github.com/hansardlog/hansard/internal/request"
	"github.com/hansardlog/hansard/model"
)

// upsertState is one statement for sets and removals: an upsert followed by a
// delete would take the rows' locks in two orders and deadlock.
func (postgres) upsertState(tx *gorm.DB, t tables, scope stateScope, rows []stateRow, now int64) error {
	var columns, selected []string
	var args []any
	for _, c := range scope.columns {
		columns = append(columns, c.name)
		selected = append(selected, "?::"+c.sqlType)
		args = append(args, c.value)
	}
	if scope.owner != "" {
		columns = append(columns, scope.owner)
		selected = append(selected, "r.owner")
	}
	args = append(args, now, owners(rows), names(rows), values(rows))
	_, err := exec(tx, t.sql(upsert(scope.table, strings.Join(columns, ", "), strings.Join(selected, ", "), "?::bigint",
		`unnest(?::text[], ?::text[], ?::text[]) WITH ORDINALITY AS r(owner, name, value, place)`)), args...)
	return err
}

// upsert writes the rows r in the order of their places. The columns before name
// are the key's, selected what they are set to.
func upsert(table, columns, selected, now, from string) string {
	return `INSERT INTO ` + table + ` AS s (` + columns + `, name, value, updated_at, version)
		SELECT ` + selected + `, r.name, r.value, ` + now + `, 1 FROM ` + from + ` ORDER BY r.place
		ON CONFLICT (` + columns + `, name) DO UPDATE
			SET value = excluded.value, updated_at = excluded.updated_at, version = s.version + 1`
}

// userStates: LATERAL with OFFSET looks each user up by the primary key.
func (postgres) userStates(tx *gorm.DB, t tables, app string, users []string, scan func(*sql.Rows) error) error {
	return query(tx, t.sql(`SELECT k.place - 1, s.name, s.value FROM unnest(?::text[]) WITH ORDINALITY AS k(user_id, place)
		CROSS JOIN LATERAL (SELECT name, value FROM {user_states} WHERE app_name = ? AND user_id = k.user_id AND value IS NOT NULL OFFSET 0) s`),
		[]any{textArray(users, self), app}, scan)
}

func (postgres) sessionStates(tx *gorm.DB, t tables, convs []model.Conversation, scan func(*sql.Rows) error) error {
	return query(tx, t.sql(`SELECT k.place - 1, s.name, s.value FROM unnest(?::uuid[], ?::bigint[]) WITH ORDINALITY AS k(id, generation, place)
		CROSS JOIN LATERAL (SELECT name, value FROM {session_states}
			WHERE conversation_id = k.id AND generation = k.generation AND value IS NOT NULL OFFSET 0) s`),
		[]any{
			textArray(convs, func(c model.Conversation) *string { return self(c.ID.String()) }),
			textArray(convs, func(c model.Conversation) *string { return self(strconv.FormatInt(c.Generation, 10)) }),
		}, scan)
}

func owners(rows []stateRow) string {
	return textArray(rows, func(r stateRow) *string { return &r.owner })
}

func names(rows []stateRow) string {
	return textArray(rows, func(r stateRow) *string { return &r.name })
}

func values(rows []stateRow) string {
	return textArray(rows, func(r stateRow) *string { return textOrNull(r.value) })
}

func self(s string) *string { return &s }

// textOrNull is an item of textArray.
func textOrNull(data []byte) *string {
	if data == nil {
		return nil
	}
	return self(string(data))
}

// keyOrNull is an idempotency key as an item of textArray; NULL equals no key.
func keyOrNull(e *request.Event) *string {
	if e.IdempotencyKey == "" {
		return nil
	}
	return &e.IdempotencyKey
}

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
