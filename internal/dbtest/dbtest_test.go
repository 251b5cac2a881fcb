package dbtest

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/hansardlog/hansard/internal/pgserver"
)

func TestMain(m *testing.M) { os.Exit(Main(m)) }

func connect(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(t.Context()) })
	return conn
}

func count(t *testing.T, conn *pgx.Conn, query string, args ...any) int {
	t.Helper()
	var n int
	if err := conn.QueryRow(t.Context(), query, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

func TestPostgresSchemasAreApart(t *testing.T) {
	t.Parallel()
	a, b := connect(t, Postgres(t)), connect(t, Postgres(t))
	for i, conn := range []*pgx.Conn{a, b} {
		if _, err := conn.Exec(t.Context(), "CREATE TABLE words (n int)"); err != nil {
			t.Fatalf("schema %d: %v", i, err)
		}
	}
	if _, err := a.Exec(t.Context(), "INSERT INTO words VALUES (1)"); err != nil {
		t.Fatal(err)
	}
	if n := count(t, a, "SELECT count(*) FROM words"); n != 1 {
		t.Errorf("rows in the schema written to = %d, want 1", n)
	}
	if n := count(t, b, "SELECT count(*) FROM words"); n != 0 {
		t.Errorf("rows in the other schema = %d, want 0", n)
	}
}

func TestPostgresSchemaIsDropped(t *testing.T) {
	t.Parallel()
	server := PostgresServer(t)
	var schema string
	t.Run("user of a schema", func(t *testing.T) {
		conn := connect(t, Postgres(t))
		if err := conn.QueryRow(t.Context(), "SELECT current_schema()").Scan(&schema); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Exec(t.Context(), "CREATE TABLE words (n int)"); err != nil {
			t.Fatal(err)
		}
	})
	if !strings.HasPrefix(schema, "hansard_test_") {
		t.Fatalf("current schema = %q", schema)
	}
	if n := count(t, connect(t, server), "SELECT count(*) FROM pg_namespace WHERE nspname = $1", schema); n != 0 {
		t.Errorf("schema %s outlived its test", schema)
	}
}

// spy records how a test is ended, and ends only the goroutine.
type spy struct {
	testing.TB
	skipped, failed string
}

func (s *spy) Helper() {}

func (s *spy) Skipf(format string, args ...any) {
	s.skipped = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func (s *spy) Fatalf(format string, args ...any) {
	s.failed = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func TestWithoutPostgres(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name            string
		err             error
		required        bool
		skipped, failed string // parts of the message
	}{
		{"none", pgserver.ErrNone, false, "set " + serverVar, ""},
		{"none but required", pgserver.ErrNone, true, "", requireVar},
		{"does not start", fmt.Errorf("no space"), false, "", "no space"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var s spy
			ended := make(chan bool)
			go func() {
				defer close(ended)
				refuse(&s, tt.err, tt.required)
			}()
			<-ended
			if !strings.Contains(s.skipped, tt.skipped) || (s.skipped == "") != (tt.skipped == "") {
				t.Errorf("skipped with %q, want %q", s.skipped, tt.skipped)
			}
			if !strings.Contains(s.failed, tt.failed) || (s.failed == "") != (tt.failed == "") {
				t.Errorf("failed with %q, want %q", s.failed, tt.failed)
			}
		})
	}
}

func TestWithParam(t *testing.T) {
	for _, dsn := range []string{
		"host=/tmp/x user=postgres",
		"postgres://me:secret@db.example:5433/test?sslmode=disable",
		"postgresql://db.example/test",
	} {
		config, err := pgx.ParseConfig(withParam(dsn, "search_path", "mine"))
		if err != nil {
			t.Errorf("%s: %v", dsn, err)
			continue
		}
		if got := config.RuntimeParams["search_path"]; got != "mine" {
			t.Errorf("search_path of %s = %q, want mine", dsn, got)
		}
	}
}
