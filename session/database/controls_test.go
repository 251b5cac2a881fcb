package database_test

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"
)

// The tests in this file take one mechanism away and show the fault that it
// prevents, by hand and without luck: two transactions take turns. Without such
// a control a test that finds no fault may be looking at nothing.

// turns are two connections to one PostgreSQL schema.
type turns struct{ a, b *sql.Conn }

// onPostgres returns a service on PostgreSQL and two connections beside it.
func onPostgres(t *testing.T) (*rig, turns) {
	t.Helper()
	r := newRig(t, backends()[0])
	if !r.postgres() {
		t.Fatal("the first backend is not PostgreSQL")
	}
	return r, turns{r.conn(t), r.conn(t)}
}

// conn takes a connection of the rig's pool for the rest of the test.
func (r *rig) conn(t testing.TB) *sql.Conn {
	t.Helper()
	pool := got(r.db.DB())(t)
	conn := got(pool.Conn(t.Context()))(t)
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	})
	return conn
}

// do runs a statement that must succeed.
func do(t testing.TB, conn *sql.Conn, statement string, args ...any) {
	t.Helper()
	if _, err := conn.ExecContext(t.Context(), statement, args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// ask reads one number.
func ask(t testing.TB, conn *sql.Conn, query string, args ...any) (n int64) {
	t.Helper()
	if err := conn.QueryRowContext(t.Context(), query, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// sqlState is the code of a PostgreSQL error, "" for none.
func sqlState(err error) string {
	var state interface{ SQLState() string }
	if errors.As(err, &state) {
		return state.SQLState()
	}
	return ""
}

const uniqueViolation = "23505"

func TestControlCheckThenInsertDuplicates(t *testing.T) {
	t.Parallel()
	r, conns := onPostgres(t)
	r.exec(t, "CREATE TABLE requests (author text, key text)")
	check := func(conn *sql.Conn) {
		t.Helper()
		if n := ask(t, conn, "SELECT count(*) FROM requests WHERE author = 'ana' AND key = 'k1'"); n != 0 {
			t.Fatal("the request is there already: the turns are wrong")
		}
	}
	insert := "INSERT INTO requests VALUES ('ana', 'k1')"
	do(t, conns.a, "BEGIN")
	do(t, conns.b, "BEGIN")
	check(conns.a)
	check(conns.b)
	do(t, conns.a, insert)
	do(t, conns.b, insert)
	do(t, conns.a, "COMMIT")
	do(t, conns.b, "COMMIT")
	if n := r.number(t, "SELECT count(*) FROM requests"); n != 2 {
		t.Errorf("%d rows for one request, want the duplicate that looking first does not prevent", n)
	}

	r.exec(t, "TRUNCATE requests", "CREATE UNIQUE INDEX requests_once ON requests (author, key)")
	do(t, conns.a, "BEGIN")
	do(t, conns.b, "BEGIN")
	check(conns.a)
	check(conns.b)
	do(t, conns.a, insert)
	do(t, conns.a, "COMMIT")
	if _, err := conns.b.ExecContext(t.Context(), insert); sqlState(err) != uniqueViolation {
		t.Errorf("insert under the unique index: %v, want a unique violation", err)
	}
	do(t, conns.b, "ROLLBACK")
}

func TestControlDatabaseSequenceLeavesGaps(t *testing.T) {
	t.Parallel()
	r, conns := onPostgres(t)
	rolledBack := map[int]bool{2: true, 5: true, 6: true}

	r.exec(t, "CREATE SEQUENCE numbers", "CREATE TABLE numbered (seq bigint PRIMARY KEY)")
	for i := range 10 {
		end := "COMMIT"
		if rolledBack[i] {
			end = "ROLLBACK"
		}
		do(t, conns.a, "BEGIN")
		do(t, conns.a, "INSERT INTO numbered VALUES (nextval('numbers'))")
		do(t, conns.a, end)
	}
	rows, highest := r.number(t, "SELECT count(*) FROM numbered"), r.number(t, "SELECT max(seq) FROM numbered")
	if rows != 7 || highest != 10 {
		t.Errorf("a database sequence left %d rows up to %d, want the gaps: 7 up to 10", rows, highest)
	}

	key := made(t, r.svc, "s1", nil)
	errRefused := errors.New("the caller's own transaction fails")
	for i := range 10 {
		err := r.db.WithContext(t.Context()).Transaction(func(tx *gorm.DB) error {
			said(t, r.svc.WithTx(tx), key, words("ana", fmt.Sprint(i)))
			if rolledBack[i] {
				return errRefused
			}
			return nil
		})
		if rolledBack[i] != errors.Is(err, errRefused) {
			t.Fatalf("append %d: %v", i, err)
		}
	}
	rows, highest = r.number(t, "SELECT count(*) FROM hansard_events"), r.number(t, "SELECT max(seq) FROM hansard_events")
	if rows != 7 || highest != 7 {
		t.Errorf("the conversation has %d events up to %d, want 7 up to 7", rows, highest)
	}
	r.healthy(t)
}

const (
	readPlain    = "SELECT next_seq FROM hansard_conversations"
	readLocked   = readPlain + " FOR NO KEY UPDATE"
	raiseByValue = "UPDATE hansard_conversations SET next_seq = $1::bigint + 1"
	raiseByOne   = "UPDATE hansard_conversations SET next_seq = next_seq + 1 WHERE $1::bigint > 0" // one parameter, as the other
)

// beginRead begins an append without the service: it reads next_seq.
func beginRead(t *testing.T, conn *sql.Conn, read string) int64 {
	t.Helper()
	do(t, conn, "BEGIN ISOLATION LEVEL READ COMMITTED")
	return ask(t, conn, read)
}

// writeCommit ends it: it stores an event at seq and raises next_seq.
func writeCommit(t *testing.T, conn *sql.Conn, seq int64, raise string) {
	t.Helper()
	do(t, conn, `INSERT INTO hansard_events (conversation_id, generation, seq, timestamp, recorded_at, id, kind, author,
			subject, invocation_id, branch, format)
		SELECT id, generation, $1, 0, updated_at, 'e', 'message', 'ana', '', '', '', '' FROM hansard_conversations`, seq)
	do(t, conn, raise, seq)
	do(t, conn, "COMMIT")
}

func TestControlAppendWithoutRowLock(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, raise, want string }{
		{"next_seq from what was read", raiseByValue, "P1"},
		{"next_seq from what is there", raiseByOne, "P1 P5"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, conns := onPostgres(t)
			made(t, r.svc, "s1", nil)
			unconstrain(t, r.db, "hansard_events")
			a, b := beginRead(t, conns.a, readPlain), beginRead(t, conns.b, readPlain)
			writeCommit(t, conns.a, a, tt.raise)
			writeCommit(t, conns.b, b, tt.raise)
			if found := r.findings(t); guarantees(found) != tt.want {
				t.Errorf("two appends that read next_seq without the lock break %v, want %s", found, tt.want)
			}
		})
	}

	t.Run("with the lock", func(t *testing.T) {
		r, conns := onPostgres(t)
		made(t, r.svc, "s1", nil)
		unconstrain(t, r.db, "hansard_events")
		holder := ask(t, conns.a, "SELECT pg_backend_pid()")
		a := beginRead(t, conns.a, readLocked)
		do(t, conns.b, "BEGIN ISOLATION LEVEL READ COMMITTED")
		var b int64
		answered := make(chan error)
		go func() { answered <- conns.b.QueryRowContext(t.Context(), readLocked).Scan(&b) }()
		awaitBlocked(t, r, holder)
		writeCommit(t, conns.a, a, raiseByOne)
		must(t, <-answered)
		writeCommit(t, conns.b, b, raiseByOne)
		if n := r.number(t, readPlain); a != 1 || b != 2 || n != 3 {
			t.Errorf("sequences %d and %d, next_seq %d, want 1, 2 and 3", a, b, n)
		}
		r.healthy(t)
	})
}

// awaitBlocked waits until a backend waits for what another one holds.
func awaitBlocked(t *testing.T, r *rig, holder int64) {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if r.number(t, "SELECT count(*) FROM pg_stat_activity WHERE ?::int = ANY (pg_blocking_pids(pid))", holder) > 0 {
			return
		}
	}
	t.Fatal("nobody waits for the lock")
}

// The keys and unique indexes refuse what the lock already prevents.
func TestConstraintsAreASafetyNet(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		r := newRig(t, b)
		key := made(t, r.svc, "s1", nil, "ana", "ben")
		said(t, r.svc, key, keyed("ana", "k1", "once"))
		for what, statement := range map[string]string{
			"a sequence twice": `INSERT INTO hansard_events SELECT * FROM hansard_events WHERE seq = 3`,
			"a request twice": `INSERT INTO hansard_events (conversation_id, generation, seq, timestamp, recorded_at, id, kind, author,
					subject, invocation_id, branch, format, idempotency_key, request_hash)
				SELECT conversation_id, generation, 4, timestamp, recorded_at, id, kind, author,
					subject, invocation_id, branch, format, idempotency_key, request_hash FROM hansard_events WHERE seq = 3`,
			"two open periods": `INSERT INTO hansard_membership_periods (conversation_id, generation, from_seq, member, app_name)
				SELECT conversation_id, generation, 3, member, app_name FROM hansard_membership_periods WHERE member = 'ana'`,
			"a conversation twice": `INSERT INTO hansard_conversations SELECT * FROM hansard_conversations`,
		} {
			err := r.db.WithContext(t.Context()).Exec(statement).Error
			if err == nil || !strings.Contains(strings.ToLower(err.Error()), "unique constraint") {
				t.Errorf("%s: %v, want a unique violation", what, err)
			}
		}
		r.healthy(t)
	})
}
