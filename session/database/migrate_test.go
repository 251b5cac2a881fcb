package database_test

import (
	"context"
	"database/sql"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/hansardlog/hansard/session"
	"github.com/hansardlog/hansard/session/database"
)

// sameDatabase returns another dialector for the database of d.
func sameDatabase(d gorm.Dialector) gorm.Dialector {
	if p, ok := d.(*postgres.Dialector); ok {
		return postgres.Open(p.DSN)
	}
	other := reflect.New(reflect.TypeOf(d).Elem())
	other.Elem().Set(reflect.ValueOf(d).Elem())
	return other.Interface().(gorm.Dialector)
}

// opened is openDialector without a migration.
func opened(t testing.TB, d gorm.Dialector, opts ...database.Option) *database.Service {
	t.Helper()
	svc, err := database.Open(d, opts...)
	must(t, err)
	t.Cleanup(func() { must(t, svc.Close()) })
	return svc
}

// tablesIn returns the names of all tables, views and indexes that a fresh
// database has by now.
func tablesIn(t *testing.T, plain *sql.DB, b backend) []string {
	t.Helper()
	query := `SELECT name FROM sqlite_master WHERE name NOT LIKE 'sqlite!_%' ESCAPE '!'`
	if b.postgres() {
		query = `SELECT relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
			WHERE n.nspname = current_schema() AND c.relkind IN ('r', 'v', 'i')`
	}
	rows, err := plain.QueryContext(context.WithoutCancel(t.Context()), query)
	must(t, err)
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name string
		must(t, rows.Scan(&name))
		names = append(names, name)
	}
	must(t, rows.Err())
	slices.Sort(names)
	return names
}

// wantWorking uses a service and checks it. What it stores has a name of its own.
func wantWorking(t *testing.T, svc *database.Service, name string) {
	t.Helper()
	key := session.Key{AppName: "app", UserID: "olga", SessionID: name}
	got(svc.Create(t.Context(), &session.CreateRequest{Key: key, Kind: session.KindGroup, Members: []string{"ana"}, State: session.State{"k": 1}}))(t)
	said(t, svc, key, &session.Event{Author: "ana", IdempotencyKey: "k", StateDelta: session.State{"app:k": name, "user:k": 1, "k": 2}})
	if s := got(svc.Get(t.Context(), &session.GetRequest{Key: key}))(t).Session; s.HeadSeq != 2 || len(s.Events) != 2 {
		t.Errorf("head %d and %d events, want 2", s.HeadSeq, len(s.Events))
	}
	wantSound(t, svc)
}

func TestMigrateAgain(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		d, f, plain := faulty(t, b)
		svc := openDialector(t, d)
		wantWorking(t, svc, "before")
		tables := tablesIn(t, plain, b)
		f.set(nil)
		for range 2 {
			must(t, svc.Migrate(t.Context()))
		}
		// The common start of a process neither waits for others nor writes.
		for _, statement := range f.calls() {
			if !strings.HasPrefix(strings.TrimSpace(statement), "SELECT") {
				t.Errorf("Migrate with nothing to do runs %s", statement)
			}
		}
		if now := tablesIn(t, plain, b); !slices.Equal(now, tables) {
			t.Errorf("tables %v after migrating again, want %v", now, tables)
		}
		wantWorking(t, svc, "after")
	})
}

func TestMigrateAtOnce(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		d := b.dial(t)
		services := make([]*database.Service, 8)
		for i := range services {
			services[i] = opened(t, sameDatabase(d))
		}
		atOnce(len(services), func(i int) {
			if err := services[i].Migrate(t.Context()); err != nil {
				t.Errorf("migration %d: %v", i, err)
			}
		})
		for i, svc := range services {
			wantWorking(t, svc, fmt.Sprint(i))
		}
	})
}

// TestMigrateFails fails each statement of a migration in turn, and ends the
// context at each: the database is as it was, or migrated whole.
func TestMigrateFails(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		for _, how := range []string{"error", "context"} {
			t.Run(how, func(t *testing.T) {
				d, f, plain := faulty(t, b)
				svc := opened(t, d, database.WithRetry(1, 0))
				pool := poolOf(d)
				pool.SetMaxOpenConns(1)
				for failing := 1; ; failing++ {
					ctx, cancel := context.WithCancel(t.Context())
					n := 0
					f.set(func(_ int, query string, after bool) error {
						// The runner looks for its table, which has been made by
						// then, and takes an error for a no.
						if after || strings.Contains(query, "sqlite_master WHERE type") || strings.Contains(query, "information_schema") {
							return nil
						}
						if n++; n != failing {
							return nil
						}
						if how == "error" {
							return errInjected
						}
						cancel()
						return nil
					})
					err := svc.Migrate(ctx)
					f.set(nil)
					cancel()
					if err == nil {
						if n >= failing && how == "error" {
							t.Errorf("statement %d failed and Migrate did not", failing)
						}
						break
					}
					if how == "context" && session.Code(err) != "CANCELED" {
						t.Errorf("context ended at statement %d: error %v, want context.Canceled", failing, err)
					}
					if left := tablesIn(t, plain, b); len(left) != 0 {
						t.Fatalf("statement %d of %d failed (%s) and left %v", failing, n, how, left)
					}
				}
				must(t, svc.Migrate(t.Context()))
				wantWorking(t, svc, "after")
			})
		}
	})
}

// TestSchemaByHand applies the printed DDL as a DBA does: then Migrate has
// nothing to do and the service works.
func TestSchemaByHand(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		for _, prefix := range []string{"hansard_", "", "x"} {
			t.Run("prefix="+prefix, func(t *testing.T) {
				d, f, plain := faulty(t, b)
				name, _, _ := strings.Cut(b.name, "-")
				ddl := got(database.Schema(name, database.WithTablePrefix(prefix)))(t)
				if _, err := plain.ExecContext(t.Context(), ddl); err != nil {
					t.Fatalf("%v\n%s", err, ddl)
				}
				byHand := tablesIn(t, plain, b)
				svc := opened(t, d, database.WithTablePrefix(prefix))
				f.set(nil)
				must(t, svc.Migrate(t.Context()))
				if calls := strings.Join(f.calls(), "\n"); strings.Contains(calls, "CREATE") {
					t.Errorf("Migrate creates what is there:\n%s", calls)
				}
				wantWorking(t, svc, "after")

				// Migrate makes the same.
				other, _, otherPlain := faulty(t, b)
				openDialector(t, other, database.WithTablePrefix(prefix))
				if migrated := tablesIn(t, otherPlain, b); !slices.Equal(migrated, byHand) {
					t.Errorf("by hand %v, by Migrate %v", byHand, migrated)
				}
			})
		}
	})
}

func TestSchemaRefuses(t *testing.T) {
	if ddl, err := database.Schema("oracle"); err == nil || !strings.Contains(err.Error(), "oracle") {
		t.Errorf("schema of an unknown dialect: %q, %v", ddl, err)
	}
	if ddl, err := database.Schema("sqlite", database.WithTablePrefix("Not-a-prefix")); err == nil {
		t.Errorf("schema with a bad prefix: %q", ddl)
	}
	if ddl, err := database.Schema("sqlite", database.WithTablePrefix("agents.hansard_")); err == nil {
		t.Errorf("schema of SQLite within a PostgreSQL schema: %q", ddl)
	}
}

// asRole returns a dialector for the database of a PostgreSQL DSN as another
// role.
func asRole(t *testing.T, dsn, role string) gorm.Dialector {
	t.Helper()
	config, err := pgx.ParseConfig(dsn)
	must(t, err)
	config.User = role
	registered := stdlib.RegisterConnConfig(config)
	t.Cleanup(func() { stdlib.UnregisterConnConfig(registered) })
	return postgres.New(postgres.Config{DriverName: "pgx", DSN: registered})
}

// TestMigrateWithoutRights: who may not create tables can use those that are
// there already, which is how a program runs where a DBA migrates.
func TestMigrateWithoutRights(t *testing.T) {
	t.Run("postgres", func(t *testing.T) {
		b := onBackend(t, "postgres")
		d, _, plain := faulty(t, b)
		openDialector(t, d)
		role := fmt.Sprintf("hansard_role_%d", time.Now().UnixNano())
		run := func(statements ...string) {
			for _, s := range statements {
				if _, err := plain.ExecContext(context.WithoutCancel(t.Context()), s); err != nil {
					t.Fatalf("%s: %v", s, err)
				}
			}
		}
		var schema string
		must(t, plain.QueryRowContext(t.Context(), "SELECT current_schema()").Scan(&schema))
		run("CREATE ROLE "+role+" LOGIN",
			"GRANT USAGE ON SCHEMA "+schema+" TO "+role,
			"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA "+schema+" TO "+role)
		t.Cleanup(func() { run("DROP OWNED BY "+role, "DROP ROLE "+role) })
		svc := opened(t, asRole(t, d.(*postgres.Dialector).DSN, role))
		must(t, svc.Migrate(t.Context()))
		wantWorking(t, svc, "as a role without rights")
	})
	each(t, func(t *testing.T, b backend) {
		if b.postgres() {
			t.Skip("above")
		}
		d := b.dial(t)
		wantWorking(t, openDialector(t, sameDatabase(d)), "before")
		svc := opened(t, withDSN(d, func(dsn string) string { return dsn + "&mode=ro" }))
		must(t, svc.Migrate(t.Context()))
		key := session.Key{AppName: "app", UserID: "olga", SessionID: "before"}
		if s := got(svc.Get(t.Context(), &session.GetRequest{Key: key}))(t).Session; s.HeadSeq != 2 {
			t.Errorf("head %d, want 2", s.HeadSeq)
		}
		if _, err := svc.AppendEvent(t.Context(), &session.AppendEventRequest{Key: key, Event: words("ana", "a")}); err == nil {
			t.Error("append to a file opened for reading: no error")
		}
	})
}
