package database_test

import (
	"database/sql"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/hansardlog/hansard/session/database"
)

var ourTables = []string{
	"conversations", "events", "membership_periods", "state_checkpoints",
	"session_states", "app_states", "user_states", "discarded_logs",
}

func mustRun(t *testing.T, plain *sql.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := plain.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

func mustCount(t *testing.T, plain *sql.DB, query string) (n int) {
	t.Helper()
	if err := plain.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// TestMigrateRefusesForeignTable: a table of the name that Hansard did not make
// is named in the error and stays as it is, and nothing is made beside it.
func TestMigrateRefusesForeignTable(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		tests := []struct{ name, table, create, fill string }{
			{"migrations of another shape", "hansard_migrations", "CREATE TABLE hansard_migrations (version int)", "INSERT INTO hansard_migrations VALUES (1)"},
			{"migrations of another program", "hansard_migrations", "CREATE TABLE hansard_migrations (id varchar(255) PRIMARY KEY)", "INSERT INTO hansard_migrations VALUES ('0001_users')"},
			{"empty migrations", "hansard_migrations", "CREATE TABLE hansard_migrations (id varchar(255) PRIMARY KEY)", ""},
			{"view", "hansard_events", "CREATE VIEW hansard_events AS SELECT 1 AS id", ""},
		}
		for _, table := range ourTables {
			name := "hansard_" + table
			tests = append(tests, struct{ name, table, create, fill string }{table, name, "CREATE TABLE " + name + " (id int)", "INSERT INTO " + name + " VALUES (1)"})
		}
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				d, _, plain := faulty(t, b)
				mustRun(t, plain, tt.create)
				rows := 0
				if tt.fill != "" {
					mustRun(t, plain, tt.fill)
					rows = 1
				} else if tt.name == "view" {
					rows = 1
				}
				tables := tablesIn(t, plain, b)
				svc := opened(t, d)
				for range 2 {
					if err := svc.Migrate(t.Context()); err == nil || !strings.Contains(err.Error(), tt.table) {
						t.Errorf("error %v, want one that names %s", err, tt.table)
					} else if errors.Is(err, database.ErrSchemaTooNew) {
						t.Errorf("error %v matches ErrSchemaTooNew", err)
					}
				}
				if now := tablesIn(t, plain, b); !slices.Equal(now, tables) {
					t.Errorf("there are now %v, want %v", now, tables)
				}
				if n := mustCount(t, plain, "SELECT count(*) FROM "+tt.table); n != rows {
					t.Errorf("%d rows in %s, want %d", n, tt.table, rows)
				}
				// Another prefix is the way out.
				other := openDialector(t, sameDatabase(b.dial(t)), database.WithTablePrefix("other_"))
				wantWorking(t, other, "other prefix")
			})
		}
	})
}

// TestMigrateRefusesForeignName: SQLite takes names in another case for the same,
// and an index may have the name of a table or index of ours.
func TestMigrateRefusesForeignName(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		creations := []string{"CREATE TABLE t (a int, b int); CREATE INDEX hansard_events ON t (a)", "CREATE TABLE t (a int, b int); CREATE INDEX hansard_events_request ON t (a)"}
		if !b.postgres() {
			creations = append(creations, "CREATE TABLE Hansard_Events (id int)", "CREATE TABLE HANSARD_MIGRATIONS (id int)")
		}
		for _, create := range creations {
			d, _, plain := faulty(t, b)
			mustRun(t, plain, create)
			tables := tablesIn(t, plain, b)
			err := opened(t, d).Migrate(t.Context())
			if err == nil || !strings.Contains(strings.ToLower(err.Error()), "hansard_") {
				t.Errorf("%s: error %v, want one that names it", create, err)
			}
			if now := tablesIn(t, plain, b); !slices.Equal(now, tables) {
				t.Errorf("%s: there are now %v, want %v", create, now, tables)
			}
		}
	})
}

// TestMigrateRefusesNewerSchema: an older program must not run on the tables of
// a newer one as if it knew them.
func TestMigrateRefusesNewerSchema(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		d, _, plain := faulty(t, b)
		svc := openDialector(t, d)
		mustRun(t, plain, "INSERT INTO hansard_migrations (id) VALUES ('9999_from_the_future')")
		tables := tablesIn(t, plain, b)
		for range 2 {
			err := svc.Migrate(t.Context())
			if !errors.Is(err, database.ErrSchemaTooNew) || !strings.Contains(err.Error(), "9999_from_the_future") {
				t.Errorf("error %v, want ErrSchemaTooNew that names the migration", err)
			}
		}
		if now := tablesIn(t, plain, b); !slices.Equal(now, tables) {
			t.Errorf("there are now %v, want %v", now, tables)
		}
		if n := mustCount(t, plain, "SELECT count(*) FROM hansard_migrations"); n != 2 {
			t.Errorf("%d migrations are recorded, want 2", n)
		}
	})
}

// TestMigrateBesideOthers: the tables of ADK-Go have the names of ours without
// the prefix.
func TestMigrateBesideOthers(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		d, _, plain := faulty(t, b)
		foreign := []string{"sessions", "events", "app_states", "user_states", "migrations"}
		for _, table := range foreign {
			mustRun(t, plain, "CREATE TABLE "+table+" (id varchar(64) PRIMARY KEY, app_name varchar(64), state text)",
				"INSERT INTO "+table+" VALUES ('1', 'app', '{}')")
		}
		svc := openDialector(t, d)
		wantWorking(t, svc, "s1")
		must(t, svc.Delete(t.Context(), deletion("s1")))
		for _, table := range foreign {
			if n := mustCount(t, plain, "SELECT count(*) FROM "+table+" WHERE id = '1' AND app_name = 'app' AND state = '{}'"); n != 1 {
				t.Errorf("%s was changed", table)
			}
		}
	})
}
