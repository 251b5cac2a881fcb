package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hansardlog/hansard/session"
)

// floorPostgres does what an append has to do, by hand: the lock, then the
// allocation with the event, then the state, in one round trip. It keeps the
// tables of package database, which make and read the sessions.
type floorPostgres struct {
	hansard
	pool *pgxpool.Pool
}

const (
	floorLock  = `SELECT next_seq FROM hansard_conversations WHERE id = $1 FOR NO KEY UPDATE`
	floorWrite = `WITH head AS (
			UPDATE hansard_conversations SET next_seq = next_seq + 1, updated_at = greatest(updated_at, $2)
			WHERE id = $1 RETURNING id, generation, next_seq - 1 AS seq, updated_at)
		INSERT INTO hansard_events (conversation_id, generation, seq, timestamp, recorded_at, id, kind, author, subject,
			invocation_id, branch, format, delta, payload)
		SELECT id, generation, seq, $2, updated_at, $3, 'message', $4, '', $5, '', $6, $7, $8 FROM head RETURNING seq`
	floorUpsert = `INSERT INTO hansard_user_states AS s (app_name, user_id, name, value, updated_at, version)
		VALUES ($1, $2, $3, $4, $5, 1)
		ON CONFLICT (app_name, user_id, name) DO UPDATE
		SET value = excluded.value, updated_at = excluded.updated_at, version = s.version + 1`
)

func (f floorPostgres) writer(ctx context.Context, key session.Key, _ bool) (writer, error) {
	w := floorPostgresWriter{pool: f.pool, key: key}
	return w, f.pool.QueryRow(ctx, `SELECT id::text FROM hansard_conversations
		WHERE app_name = $1 AND user_id = $2 AND session_id = $3`, key.AppName, key.UserID, key.SessionID).Scan(&w.id)
}

type floorPostgresWriter struct {
	pool *pgxpool.Pool
	key  session.Key
	id   string
}

func (w floorPostgresWriter) append(ctx context.Context, m message) (r receipt, err error) {
	r.attempts = 1
	delta, err := encodeDelta(m.delta)
	if err != nil {
		return r, err
	}
	now := time.Now().UnixMicro()
	b := &pgx.Batch{}
	b.Queue("BEGIN")
	b.Queue(floorLock, w.id)
	b.Queue(floorWrite, w.id, now, m.id, author, invocation, format, delta.text, string(m.payload)).
		QueryRow(func(row pgx.Row) error { return row.Scan(&r.seq) })
	for _, k := range delta.user {
		b.Queue(floorUpsert, w.key.AppName, w.key.UserID, k.name, k.value, now)
	}
	b.Queue("COMMIT")
	return r, w.pool.SendBatch(ctx, b).Close()
}

// encodedDelta is a delta as the tables hold it.
type encodedDelta struct {
	text *string
	user []encodedKey
}

type encodedKey struct{ name, value string }

// encodeDelta knows at most one user: key, which is all that workloads with a
// floor write.
func encodeDelta(delta map[string]any) (d encodedDelta, err error) {
	if len(delta) == 0 {
		return d, nil
	}
	for key, value := range delta {
		name, ok := strings.CutPrefix(key, session.UserPrefix)
		if !ok || len(delta) > 1 {
			return d, fmt.Errorf("the floor writes one user: key, not %q", key)
		}
		data, err := json.Marshal(value)
		if err != nil {
			return d, err
		}
		d.user = append(d.user, encodedKey{name, string(data)})
	}
	data, err := json.Marshal(delta)
	text := string(data)
	d.text = &text
	return d, err
}
