// Package dbtest gives tests a database of their own: a schema in a throw-away
// PostgreSQL server, or a SQLite file.
//
// The PostgreSQL server starts on first use, is shared by the tests of one test
// binary and ends with that binary, however it ends. It is made from binaries
// installed on the machine, or is the one that HANSARD_TEST_POSTGRES names (a
// DSN, in key=value or URL form). Where there is neither, tests that ask for
// PostgreSQL are skipped, or fail if HANSARD_TEST_REQUIRE_POSTGRES is not empty.
//
// A server started here does not sync to disk and compares text by the rules of
// a language unless a column says COLLATE "C", so that an order of names which
// merely comes from the server's settings shows as a failure.
package dbtest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hansardlog/hansard/internal/pgserver"
)

const (
	serverVar  = "HANSARD_TEST_POSTGRES"
	requireVar = "HANSARD_TEST_REQUIRE_POSTGRES"
)

// settings do not sync to disk.
var settings = pgserver.Config{Language: "en", Settings: []string{
	"fsync=off", "synchronous_commit=off", "full_page_writes=off", "max_connections=300", "shared_buffers=128MB",
}}

// shared is the server of this test binary.
var shared struct {
	once sync.Once
	dsn  string
	stop func() error
	err  error
}

// Main runs the tests and then stops the server, if one was started:
//
//	func TestMain(m *testing.M) { os.Exit(dbtest.Main(m)) }
func Main(m *testing.M) int {
	code := m.Run()
	shared.once.Do(func() {}) // a straggling goroutine must not start one now
	if shared.stop == nil {
		return code
	}
	if err := shared.stop(); err != nil {
		fmt.Fprintf(os.Stderr, "dbtest: stop PostgreSQL: %v\n", err)
		return max(code, 1)
	}
	return code
}

// PostgresServer returns the DSN of the server that the tests of this binary
// share, for tests that make schemas or databases themselves.
func PostgresServer(t testing.TB) string {
	t.Helper()
	shared.once.Do(func() {
		if dsn := os.Getenv(serverVar); dsn != "" {
			shared.dsn = dsn
			return
		}
		shared.dsn, shared.stop, shared.err = pgserver.Start(settings)
	})
	if shared.err != nil {
		refuse(t, shared.err, os.Getenv(requireVar) != "")
	}
	return shared.dsn
}

// refuse ends a test that cannot have a server. Only the want of one is a
// reason to skip: a server that does not start is a fault.
func refuse(t testing.TB, err error, required bool) {
	t.Helper()
	switch {
	case !errors.Is(err, pgserver.ErrNone):
		t.Fatalf("dbtest: start PostgreSQL: %v", err)
	case required:
		t.Fatalf("dbtest: %s is set, but there is %v", requireVar, err)
	default:
		t.Skipf("dbtest: %v, or set %s to the DSN of a server", err, serverVar)
	}
}

// Postgres returns the DSN of a new, empty schema, which is the only one in its
// search path. The schema is dropped when the test ends; connections to it must
// have ended their transactions by then.
func Postgres(t testing.TB) string {
	t.Helper()
	server := PostgresServer(t)
	schema := "hansard_test_" + strings.ToLower(rand.Text()[:16]) // unique among the users of a server
	if err := execute(t.Context(), server, "CREATE SCHEMA "+schema); err != nil {
		t.Fatalf("dbtest: create schema: %v", err)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context()) // cancelled before cleanups run
		if err := execute(ctx, server, "SET lock_timeout = '10s'", "DROP SCHEMA "+schema+" CASCADE"); err != nil {
			t.Errorf("dbtest: drop schema (does the test leave a transaction open?): %v", err)
		}
	})
	return withParam(server, "search_path", schema)
}

// execute runs the statements on a connection of their own.
func execute(ctx context.Context, dsn string, statements ...string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	for _, s := range statements {
		if _, err := conn.Exec(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// withParam adds a parameter to a DSN of either form. The value is plain.
func withParam(dsn, name, value string) string {
	if u, err := url.Parse(dsn); err == nil && (u.Scheme == "postgres" || u.Scheme == "postgresql") {
		q := u.Query()
		q.Set(name, value)
		u.RawQuery = q.Encode()
		return u.String()
	}
	return dsn + " " + name + "=" + value
}
