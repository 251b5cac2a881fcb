package dbtest

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	_ "github.com/glebarez/go-sqlite"
)

func TestPureSQLiteDSN(t *testing.T) {
	// Characters with a meaning in a URI stay part of the name.
	path := filepath.Join(filepath.Dir(SQLite(t)), "100% #1.db")
	db, err := sql.Open("sqlite", PureSQLiteDSN(path, "_pragma=foreign_keys(1)"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "0", "busy_timeout": "10000", "foreign_keys": "1"} {
		var got string
		if err := db.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got); err != nil || got != want {
			t.Errorf("%s = %q, %v, want %q", pragma, got, err, want)
		}
	}
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE words (n int)"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the database is elsewhere: %v", err)
	}
}
