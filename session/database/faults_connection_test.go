package database_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/hansardlog/hansard/session"
	"github.com/hansardlog/hansard/session/database"
)

// onBackend skips the test unless the backend is among those of this build.
func onBackend(t *testing.T, name string) backend {
	t.Helper()
	for _, b := range backends() {
		if b.name == name {
			return b
		}
	}
	t.Skipf("no backend %s in this build", name)
	return backend{}
}

// TestConnectionIsKilled ends the server's side of the connection before each
// statement of each operation. What the transaction did is gone, the error is
// no answer of the store, nothing is stored twice, and the idempotency key tells
// what became of the request.
func TestConnectionIsKilled(t *testing.T) {
	b := onBackend(t, "postgres")
	w, f, plain := faultyWorld(t, b)
	kill := func() {
		_, err := plain.ExecContext(t.Context(), `SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name = current_schema()`)
		if err != nil {
			t.Error(err)
		}
	}
	for _, op := range operations() {
		t.Run(op.name, func(t *testing.T) {
			for killing := 1; ; killing++ {
				op.prepared(t, w, killing)
				events := countEvents(t, plain)
				f.set(func(n int, _ string, after bool) error {
					if n == killing && !after {
						kill()
					}
					return nil
				})
				_, err := op.try(t.Context(), t, w, killing)
				calls := f.calls()
				f.set(nil)
				if len(calls) < killing {
					break
				}
				if err != nil && session.Code(err) != "INTERNAL" {
					t.Errorf("killed before statement %d: error %v with code %s, want INTERNAL", killing, err, session.Code(err))
				}
				if n := strings.Count(strings.Join(calls, "\n"), "COMMIT"); n > 1 {
					t.Errorf("killed before statement %d: %d COMMITs, want no retry:\n%s", killing, n, strings.Join(calls, "\n"))
				}
				if err := op.again(t, w, killing); err != nil {
					t.Errorf("killed before statement %d, then: %v", killing, err)
				}
				op.wantDone(t, w, killing)
				if got, want := countEvents(t, plain), events+op.events; got != want {
					t.Errorf("killed before statement %d, then: %d events, want %d", killing, got, want)
				}
			}
		})
	}
}

// TestServerIsGone: a database that cannot be reached is never "not found".
func TestServerIsGone(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		d, f, _ := faulty(t, b)
		svc := openDialector(t, d)
		w := newWorld(svc)
		w.must(t, fixture()...)
		gone := errors.New("connection refused")
		f.set(func(int, string, bool) error { return gone })
		for _, op := range operations() {
			_, err := op.try(t.Context(), t, w, 0)
			if !errors.Is(err, gone) || session.Code(err) != "INTERNAL" || errors.Is(err, session.ErrNotFound) {
				t.Errorf("%s: error %v with code %s, want the driver's with INTERNAL", op.name, err, session.Code(err))
			}
		}
		n := 0
		for err := range svc.Check(t.Context()) {
			if n++; !errors.Is(err, gone) {
				t.Errorf("check: %v, want the driver's error", err)
			}
		}
		if n != 1 {
			t.Errorf("check yields %d times, want once", n)
		}
	})
}

// withDSN changes the DSN of a dialector.
func withDSN(d gorm.Dialector, change func(string) string) gorm.Dialector {
	field := reflect.ValueOf(d).Elem().FieldByName("DSN")
	field.SetString(change(field.String()))
	return d
}

// lockable is a service whose connections wait 20 ms for a lock, and a pool on
// the same database that waits ten seconds.
func lockable(t *testing.T, b backend, change func(dsn string) string, opts ...database.Option) (*database.Service, *sql.DB) {
	t.Helper()
	d := withDSN(b.dial(t), change)
	field := reflect.ValueOf(d).Elem().FieldByName("DSN")
	patient := field.String()
	db, err := gorm.Open(d)
	must(t, err)
	pool, err := db.DB()
	must(t, err)
	drv := pool.Driver()
	must(t, pool.Close())
	field.SetString(strings.NewReplacer("_busy_timeout=10000", "_busy_timeout=20", "busy_timeout(10000)", "busy_timeout(20)").Replace(patient))
	if b.postgres() {
		field.SetString(dbtestParam(patient, "lock_timeout", "20ms"))
	}
	svc := openDialector(t, d, opts...)
	plain := sql.OpenDB(faultyConnector{drv, patient, &faults{}, ""})
	t.Cleanup(func() { must(t, plain.Close()) })
	return svc, plain
}

// dbtestParam adds a parameter to a DSN of PostgreSQL in either form.
func dbtestParam(dsn, name, value string) string {
	if strings.HasPrefix(dsn, "postgres") {
		return dsn + "&" + name + "=" + value // dbtest has added search_path already
	}
	return dsn + " " + name + "=" + value
}

func unchanged(dsn string) string { return dsn }

// hold keeps the locks of a statement until release.
func hold(t *testing.T, plain *sql.DB, begin string, statements ...string) (release func()) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	conn, err := plain.Conn(ctx)
	must(t, err)
	for _, s := range append([]string{begin}, statements...) {
		if _, err := conn.ExecContext(ctx, s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	return func() {
		if _, err := conn.ExecContext(ctx, "ROLLBACK"); err != nil {
			t.Error(err)
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
}

// writeLock takes what an append to any session needs.
func writeLock(t *testing.T, b backend, plain *sql.DB) (release func()) {
	if b.postgres() {
		return hold(t, plain, "BEGIN", "SELECT * FROM hansard_conversations FOR UPDATE")
	}
	return hold(t, plain, "BEGIN IMMEDIATE")
}

// TestLockedElsewhere: another connection holds the lock for longer than all
// tries; reads do not wait for it.
func TestLockedElsewhere(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		svc, plain := lockable(t, b, unchanged, database.WithRetry(3, time.Millisecond))
		key := made(t, svc, "s1", nil)
		said(t, svc, key, words("ana", "before"))
		release := writeLock(t, b, plain)
		_, err := svc.AppendEvent(t.Context(), &session.AppendEventRequest{Key: key, Event: words("ana", "meanwhile")})
		if !errors.Is(err, session.ErrBusy) || session.Code(err) != "BUSY" {
			t.Errorf("append: error %v, want ErrBusy", err)
		}
		if head := got(svc.Get(t.Context(), &session.GetRequest{Key: key}))(t).Session.HeadSeq; head != 1 {
			t.Errorf("head is %d while the lock is held, want 1", head)
		}
		release()
		if e := said(t, svc, key, words("ana", "after")); e.Seq != 2 {
			t.Errorf("the event after the lock has sequence %d, want 2", e.Seq)
		}
		wantSound(t, svc)
	})
}

// TestLockReleasedInTime: the tries outlast the lock.
func TestLockReleasedInTime(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		svc, plain := lockable(t, b, unchanged, database.WithRetry(200, 10*time.Millisecond))
		key := made(t, svc, "s1", nil)
		release := writeLock(t, b, plain)
		timer := time.AfterFunc(100*time.Millisecond, release)
		defer timer.Stop()
		if e := said(t, svc, key, words("ana", "waits")); e.Seq != 1 {
			t.Errorf("sequence %d, want 1", e.Seq)
		}
	})
}

// TestRetryEndsWithContext: a lock that is never released and more tries than
// anybody waits for.
func TestRetryEndsWithContext(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		svc, plain := lockable(t, b, unchanged, database.WithRetry(1_000_000, time.Millisecond))
		key := made(t, svc, "s1", nil)
		defer writeLock(t, b, plain)()
		ctx, cancel := context.WithTimeout(t.Context(), 150*time.Millisecond)
		defer cancel()
		_, err := svc.AppendEvent(ctx, &session.AppendEventRequest{Key: key, Event: words("ana", "waits")})
		if err != context.DeadlineExceeded { //nolint:errorlint // itself is the contract
			t.Errorf("error %v, want context.DeadlineExceeded itself", err)
		}
	})
}

// TestCommitIsBusy: without a write-ahead log a reader keeps a writer from
// committing, and SQLite leaves the transaction open when a COMMIT fails. The
// connection must not go back to the pool like that.
func TestCommitIsBusy(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		if b.postgres() {
			t.Skip("readers do not stand in the way of a COMMIT there")
		}
		rollbackJournal := func(dsn string) string {
			return strings.NewReplacer("_journal_mode=WAL", "_journal_mode=DELETE", "journal_mode(WAL)", "journal_mode(DELETE)").Replace(dsn)
		}
		svc, plain := lockable(t, b, rollbackJournal, database.WithRetry(2, time.Millisecond))
		key := made(t, svc, "s1", nil)
		release := hold(t, plain, "BEGIN DEFERRED", "CREATE TEMP TABLE seen AS SELECT * FROM hansard_conversations")
		for i := range 3 {
			_, err := svc.AppendEvent(t.Context(), &session.AppendEventRequest{Key: key, Event: words("ana", fmt.Sprint("meanwhile ", i))})
			if !errors.Is(err, session.ErrBusy) {
				t.Errorf("append %d beside a reader: error %v, want ErrBusy", i, err)
			}
		}
		release()
		if e := said(t, svc, key, words("ana", "after")); e.Seq != 1 {
			t.Errorf("the event after the reader has sequence %d, want 1", e.Seq)
		}
		wantSound(t, svc)
	})
}
