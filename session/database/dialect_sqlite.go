package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/hansardlog/hansard/internal/request"
	"github.com/hansardlog/hansard/model"
	"github.com/hansardlog/hansard/session"
)

// sqlite has one writer for the whole database. A transaction that reads before
// it writes fails as busy when another writer commits in between, whatever the
// busy timeout. So a transaction of ours takes the write lock as it begins, and
// every one begins with a write, since in the caller's that is all we can do.
type sqlite struct{}

var _ dialect = sqlite{}

func (sqlite) name() string { return "sqlite" }

func (sqlite) hasSchemas() bool { return false }

// opened limits a database in memory to one connection that is kept.
func (sqlite) opened(db *gorm.DB, pool *sql.DB) error {
	var file string
	if _, err := queryRow(db, `SELECT file FROM pragma_database_list WHERE name = 'main'`, nil, &file); err != nil {
		return fmt.Errorf("database: open: %w", err)
	}
	if file == "" {
		pool.SetMaxOpenConns(1)
		pool.SetMaxIdleConns(1)
		pool.SetConnMaxLifetime(0)
		pool.SetConnMaxIdleTime(0)
	}
	return nil
}

// write begins and ends by hand too. database/sql would close the connection
// when a context ends inside a transaction, and with it a database in memory;
// and a pure-Go driver keeps the transaction open after a busy COMMIT and skips
// statements of an ended context without an error.
func (s sqlite) write(db *gorm.DB, fn func(*gorm.DB) error) error {
	return s.begin(db, "BEGIN IMMEDIATE", fn)
}

// read pins a connection and begins by hand: a DSN may make every transaction
// of the driver BEGIN IMMEDIATE, which takes the write lock.
func (s sqlite) read(db *gorm.DB, fn func(*gorm.DB) error) error {
	return s.begin(db, "BEGIN DEFERRED", fn)
}

// migrate takes the write lock before it looks: whoever comes second finds the
// work done.
func (s sqlite) migrate(db *gorm.DB, _ tables, fn func(*gorm.DB) error) error {
	return s.begin(db, "BEGIN IMMEDIATE", fn)
}

func (sqlite) begin(db *gorm.DB, begin string, fn func(*gorm.DB) error) error {
	return db.Connection(func(pinned *gorm.DB) (err error) {
		tx := pinned.Session(&gorm.Session{NewDB: true})
		end := "ROLLBACK" // also if fn panics
		defer func() {
			// The connection goes back to the pool: the transaction ends even if
			// the context has.
			ctx := context.WithoutCancel(tx.Statement.Context)
			_, endErr := exec(tx.WithContext(ctx), end)
			if endErr != nil && end == "COMMIT" {
				_, rollbackErr := exec(tx.WithContext(ctx), "ROLLBACK")
				err = endErr
				endErr = rollbackErr
			}
			if endErr != nil && !strings.Contains(endErr.Error(), "no transaction is active") {
				discard(tx)
			}
		}()
		_, err = exec(tx, begin)
		if err == nil {
			err = tx.Statement.Context.Err()
		}
		if err == nil {
			err = fn(tx)
		}
		if err == nil {
			err = tx.Statement.Context.Err()
		}
		if err == nil {
			end = "COMMIT"
		}
		return err
	})
}

// discard closes a pinned connection instead of returning it to the pool.
func discard(tx *gorm.DB) {
	if conn, ok := tx.Statement.ConnPool.(*sql.Conn); ok {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // reports what it was told
	}
}

// retryable: SQLITE_BUSY and SQLITE_LOCKED. The drivers have no error type in
// common, their texts begin alike.
func (sqlite) retryable(err error) bool {
	if err == nil {
		return false
	}
	s := err.Error()
	return strings.Contains(s, "database is locked") || strings.Contains(s, "table is locked") ||
		strings.Contains(s, "database schema is locked")
}

// undone: the database is in the process, and a COMMIT that fails is followed by
// a ROLLBACK.
func (sqlite) undone(error) bool { return true }

func (sqlite) lockName(session.Key) any { return nil }

func (sqlite) oneWriter() bool { return true }

func (sqlite) existing(tx *gorm.DB, t tables, names []string) ([]string, error) {
	var found []string
	for _, name := range names {
		ok, err := queryRow(tx, `SELECT 1 FROM sqlite_master WHERE name = ? COLLATE NOCASE`, []any{t.name(name)}, new(int))
		if err != nil {
			return nil, err
		}
		if ok {
			found = append(found, name)
		}
	}
	return found, nil
}

func (sqlite) uuid(id uuid.UUID) any { return blob(id[:]) }

// blob binds bytes as one value: GORM takes a plain slice that stands first in
// parentheses for a list.
type blob []byte

func (b blob) Value() (driver.Value, error) { return []byte(b), nil }

// conversationReturned is conversationColumns as RETURNING takes them.
var conversationReturned = strings.ReplaceAll(conversationColumns, "c.", "")

// lock writes first: GORM drops FOR UPDATE for SQLite, which has no row locks.
func (s sqlite) lock(tx *gorm.DB, t tables, key session.Key) (model.Conversation, error) {
	return queryConversation(tx, t.sql(`UPDATE {conversations} AS c SET next_seq = next_seq
		WHERE `+byKey+` RETURNING `+conversationReturned), keyArgs(s, key)...)
}

// lockAndTake spares a statement where neither keys nor members nor the head
// have to be looked at, the common case: a statement is most of the cost here.
func (s sqlite) lockAndTake(tx *gorm.DB, t tables, a *request.Append, c conditions) (conv model.Conversation, v verdict, err error) {
	if c.keyed || a.ExpectedSeq != nil {
		conv, err = s.lock(tx, t, a.Key)
		return conv, v, err
	}
	// As short as can be: the driver prepares it each time.
	statement := `UPDATE {conversations} AS c
		SET next_seq = next_seq + ? * (kind = 'session'), updated_at = max(updated_at, ? * (kind = 'session'))
		WHERE ` + byKey
	n := int64(len(a.Events))
	args := append([]any{n, a.Now}, keyArgs(s, a.Key)...)
	if a.UID != "" {
		statement += ` AND c.uid = ?`
		args = append(args, s.uuid(boundUID(a.UID)))
	}
	found, err := queryRow(tx, t.sql(statement+` RETURNING uid, generation, kind, next_seq, updated_at`), args,
		&conv.UID, &conv.Generation, &conv.Kind, &conv.NextSeq, &conv.UpdatedAt)
	if err == nil && !found {
		err = request.ErrNone
	}
	conv.ID, conv.AppName, conv.UserID, conv.SessionID = request.ConversationID(a.Key), a.Key.AppName, a.Key.UserID, a.Key.SessionID
	if v.taken = session.Kind(conv.Kind) == session.KindSession; v.taken {
		conv.NextSeq -= n
		v.first, v.updatedAt = conv.NextSeq, conv.UpdatedAt
	}
	return conv, v, err
}

func (s sqlite) decideAndWrite(tx *gorm.DB, t tables, conv model.Conversation, a *request.Append, c conditions, v verdict, left *leftEvents) (verdict, error) {
	if !v.taken {
		var err error
		if v, err = s.decide(tx, t, conv, a, c); err != nil || !v.taken {
			return v, err
		}
	}
	if events := v.number(a); left != nil {
		left.add(a.Key, conv, events)
	} else if err := s.insertEvents(tx, t, conv, events); err != nil {
		return v, err
	}
	return v, writeStates(tx, s, t, conv, changesOf(session.Kind(conv.Kind), conv.UserID, a.Events), a.Now)
}

// decide takes the sequences if nothing stands against the append.
func (s sqlite) decide(tx *gorm.DB, t tables, conv model.Conversation, a *request.Append, c conditions) (v verdict, err error) {
	if c.keyed {
		err := s.replays(tx, t, conv, "1", a.Events, func(*sql.Rows) error { v.replays++; return nil })
		if err != nil || v.replays > 0 {
			return v, err
		}
	}
	if c.guarded && session.Kind(conv.Kind) != session.KindSession {
		v.strangers, err = s.strangers(tx, t, conv, a.Authors())
		if err != nil || v.strangers > 0 {
			return v, err
		}
	}
	if a.ExpectedSeq != nil && *a.ExpectedSeq != conv.NextSeq-1 {
		return v, nil
	}
	v.taken, err = queryRow(tx, t.sql(`UPDATE {conversations} AS c SET next_seq = next_seq + ?, updated_at = max(updated_at, ?)
		WHERE `+byKey+` RETURNING next_seq, updated_at`), append([]any{len(a.Events), a.Now}, keyArgs(s, a.Key)...), &v.first, &v.updatedAt)
	v.first -= int64(len(a.Events))
	return v, err
}

// strangers is 1 if one of the authors is no current member, and else 0.
func (s sqlite) strangers(tx *gorm.DB, t tables, conv model.Conversation, authors []string) (int, error) {
	for _, author := range authors {
		found, err := queryRow(tx, t.sql(`SELECT 1 FROM {membership_periods}
			WHERE conversation_id = ? AND generation = ? AND member = ? AND to_seq IS NULL`),
			[]any{s.uuid(conv.ID), conv.Generation, author}, new(int))
		if err != nil {
			return 0, err
		}
		if !found {
			return 1, nil
		}
	}
	return 0, nil
}

// replays: CROSS JOIN is how SQLite is told to look each pair up by the index.
func (s sqlite) replays(tx *gorm.DB, t tables, conv model.Conversation, columns string, events []*request.Event, scan func(*sql.Rows) error) error {
	for part := range slices.Chunk(events, (maxParameters-2)/2) {
		var args []any
		for _, e := range part {
			args = append(args, e.Author, keyOf(e))
		}
		args = append(args, s.uuid(conv.ID), conv.Generation)
		err := query(tx, t.replacer.Replace(`WITH k(author, idempotency_key) AS (VALUES `+placeholders(len(part), "(?, ?)")+`)
			SELECT `+columns+` FROM k CROSS JOIN {events} e ON e.conversation_id = ? AND e.generation = ?
				AND e.author = k.author AND e.idempotency_key = k.idempotency_key`), args, scan)
		if err != nil {
			return err
		}
	}
	return nil
}

// eventColumnCount is how many parameters an event takes in insertEvents.
const eventColumnCount = 17

func (s sqlite) insertEvents(tx *gorm.DB, t tables, conv model.Conversation, events []*request.Event) error {
	var left leftEvents
	left.add(session.Key{}, conv, events)
	return s.insertAll(tx, t, left.all)
}

// insertRows names the statement that inserts so many events.
type insertRows int

func (s sqlite) insertAll(tx *gorm.DB, t tables, events []leftEvent) error {
	for part := range slices.Chunk(events, maxParameters/eventColumnCount) {
		args := make([]any, 0, len(part)*eventColumnCount)
		for _, l := range part {
			e := l.event
			var hash any // nobody asks for it without a key
			if e.IdempotencyKey != "" {
				hash = blob(e.Hash)
			}
			args = append(args, s.uuid(l.conversation), l.generation, e.Seq, e.Timestamp, e.RecordedAt, e.ID, string(e.Kind), e.Author, e.Subject,
				e.InvocationID, e.Branch, e.Format, keyOf(e), hash, text(e.Delta), text(e.Deletions), text(e.Payload))
		}
		_, err := exec(tx, t.text(insertRows(len(part)), func() string {
			return `INSERT INTO {events} (conversation_id, generation, seq, timestamp, recorded_at, id,
				kind, author, subject, invocation_id, branch, format, idempotency_key, request_hash, delta, deletions, payload)
				VALUES ` + placeholders(len(part), row(eventColumnCount))
		}), args...)
		if err != nil {
			return err
		}
	}
	return nil
}

func (sqlite) userStates(tx *gorm.DB, t tables, app string, users []string, scan func(*sql.Rows) error) error {
	return eachListed(len(users), 2, func(i int, args []any) []any { return append(args, i, users[i]) }, func(rows string, args []any) error {
		return query(tx, t.replacer.Replace(`WITH k(place, user_id) AS (VALUES `+rows+`)
			SELECT k.place, s.name, s.value FROM k CROSS JOIN {user_states} s
			WHERE s.app_name = ? AND s.user_id = k.user_id AND s.value IS NOT NULL`), append(args, app), scan)
	})
}

func (s sqlite) sessionStates(tx *gorm.DB, t tables, convs []model.Conversation, scan func(*sql.Rows) error) error {
	return eachListed(len(convs), 3, func(i int, args []any) []any {
		return append(args, i, s.uuid(convs[i].ID), convs[i].Generation)
	}, func(rows string, args []any) error {
		return query(tx, t.replacer.Replace(`WITH k(place, id, generation) AS (VALUES `+rows+`)
			SELECT k.place, s.name, s.value FROM k CROSS JOIN {session_states} s
			WHERE s.conversation_id = k.id AND s.generation = k.generation AND s.value IS NOT NULL`), args, scan)
	})
}

// eachListed calls run with rows of placeholders for parts of a list, and what
// add appends for each place.
func eachListed(n, columns int, add func(i int, args []any) []any, run func(rows string, args []any) error) error {
	for from := 0; from < n; {
		to := min(n, from+(maxParameters-1)/columns)
		args := make([]any, 0, (to-from)*columns+1)
		for i := from; i < to; i++ {
			args = add(i, args)
		}
		if err := run(placeholders(to-from, row(columns)), args); err != nil {
			return err
		}
		from = to
	}
	return nil
}

func (sqlite) upsertState(tx *gorm.DB, t tables, scope stateScope, rows []stateRow, now int64) error {
	columns, fixed := "", []any{}
	for _, c := range scope.columns {
		columns += c.name + ", "
		fixed = append(fixed, c.value)
	}
	if scope.owner != "" {
		columns += scope.owner + ", "
	}
	key := columns + "name"
	perRow := len(fixed) + 5
	for part := range slices.Chunk(rows, maxParameters/perRow) {
		args := make([]any, 0, len(part)*perRow)
		for _, r := range part {
			args = append(args, fixed...)
			if scope.owner != "" {
				args = append(args, r.owner)
			}
			args = append(args, r.name, text(r.value), now, 1)
		}
		_, err := exec(tx, t.replacer.Replace(`INSERT INTO `+scope.table+` AS s (`+columns+`name, value, updated_at, version)
			VALUES `+placeholders(len(part), row(len(args)/len(part)))+`
			ON CONFLICT (`+key+`) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at, version = s.version + 1`),
			args...)
		if err != nil {
			return err
		}
	}
	return nil
}
