package database

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/go-gormigrate/gormigrate/v2"
	"gorm.io/gorm"
)

//go:embed migrations
var migrationFiles embed.FS

// migrationsTable records which migrations a database has; it is made with the
// first one.
const migrationsTable = `CREATE TABLE {migrations} (id varchar(255) NOT NULL PRIMARY KEY)`

// migration is one numbered file: its ID is the name without .sql.
type migration struct {
	id         string
	statements []string // with the names filled in
}

// migrations returns the migrations of a dialect in their order.
func migrations(dialect string, t tables) ([]migration, error) {
	dir := "migrations/" + dialect
	entries, err := fs.ReadDir(migrationFiles, dir) // sorted by name
	if err != nil {
		return nil, fmt.Errorf("database: migrations of %s: %w", dialect, err)
	}
	var list []migration
	for _, entry := range entries {
		text, err := fs.ReadFile(migrationFiles, dir+"/"+entry.Name())
		if err != nil {
			return nil, fmt.Errorf("database: migration %s: %w", entry.Name(), err)
		}
		m := migration{id: strings.TrimSuffix(entry.Name(), ".sql")}
		for statement := range strings.SplitSeq(t.replacer.Replace(string(text)), ";\n") {
			if statement = strings.TrimSpace(statement); statement != "" {
				m.statements = append(m.statements, statement)
			}
		}
		list = append(list, m)
	}
	return list, nil
}

// Migrate brings the database's tables to this version of the code. It may run
// in several processes at once and again at any time. Everything happens in one
// transaction: a failure leaves the database as it was.
//
// It returns an error matching [ErrSchemaTooNew] if the database was migrated
// by a newer version, and one that names the table if a table of Hansard's name
// exists that Hansard did not make: no such table is ever altered; choose
// another prefix.
func (s *Service) Migrate(ctx context.Context) error {
	if s.joined {
		return errors.New("database: Migrate of a Service that joined a transaction")
	}
	list, err := migrations(s.dialect.name(), s.t)
	if err != nil {
		return err
	}
	err = s.run(ctx, func(tx *gorm.DB) error { return s.migrate(tx, list) }, func(db *gorm.DB, fn func(*gorm.DB) error) error {
		if done, err := s.migrated(db, list); err != nil || done {
			return err // the common start of a process takes no lock
		}
		return s.dialect.migrate(db, s.t, fn)
	})
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	return nil
}

// migrated reports whether nothing is to be done.
func (s *Service) migrated(db *gorm.DB, list []migration) (bool, error) {
	found, err := s.dialect.existing(db, s.t, []string{"migrations"})
	if err != nil || len(found) == 0 {
		return false, err
	}
	applied, err := s.applied(db, list)
	return len(applied) == len(list), err
}

// migrate runs inside the dialect's migration transaction.
func (s *Service) migrate(tx *gorm.DB, list []migration) error {
	found, err := s.dialect.existing(tx, s.t, append([]string{"migrations"}, tableNames...))
	if err != nil {
		return err
	}
	if slices.Contains(found, "migrations") {
		if _, err := s.applied(tx, list); err != nil {
			return err
		}
	} else if len(found) > 0 {
		return s.foreign(found[0])
	} else if _, err := exec(tx, s.t.sql(migrationsTable)); err != nil {
		return err
	}
	runner := gormigrate.New(tx, &gormigrate.Options{
		TableName:    s.t.gormName("migrations"),
		IDColumnName: "id",
		IDColumnSize: 255,
	}, runnable(list))
	return runner.Migrate()
}

func runnable(list []migration) []*gormigrate.Migration {
	var out []*gormigrate.Migration
	for _, m := range list {
		out = append(out, &gormigrate.Migration{ID: m.id, Migrate: func(tx *gorm.DB) error {
			for _, statement := range m.statements {
				if _, err := exec(tx, statement); err != nil {
					return fmt.Errorf("migration %s: %w", m.id, err)
				}
			}
			return nil
		}})
	}
	return out
}

// applied returns the recorded migrations. The record is ours if it looks like
// it and the first migration is in it: both were made in one transaction.
func (s *Service) applied(tx *gorm.DB, list []migration) ([]string, error) {
	var applied []string
	ours, err := s.isRecord(tx)
	if err != nil {
		return nil, err
	}
	if ours {
		err = query(tx, s.t.sql(`SELECT id FROM {migrations} ORDER BY id`), nil, func(rows *sql.Rows) error {
			var id string
			err := rows.Scan(&id)
			applied = append(applied, id)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if !slices.Contains(applied, list[0].id) {
		return nil, s.foreign("migrations")
	}
	for _, id := range applied {
		if !slices.ContainsFunc(list, func(m migration) bool { return m.id == id }) {
			return nil, fmt.Errorf("%w: it has migration %s, this version ends with %s", ErrSchemaTooNew, id, list[len(list)-1].id)
		}
	}
	return applied, nil
}

// isRecord reports whether the migration table has the one column of ours.
func (s *Service) isRecord(tx *gorm.DB) (bool, error) {
	rows, err := tx.Raw(s.t.sql(`SELECT * FROM {migrations} LIMIT 1`)).Rows()
	if err != nil {
		return false, err
	}
	defer func() { _ = rows.Close() }() // nothing of it is read but the columns
	columns, err := rows.Columns()
	return slices.Equal(columns, []string{"id"}), errors.Join(err, rows.Err())
}

func (s *Service) foreign(table string) error {
	return fmt.Errorf("database: table %s exists and was not made by Hansard; choose another prefix (WithTablePrefix)", s.t.name(table))
}

// Schema returns the DDL that [Service.Migrate] would run on an empty database,
// the record of the migrations included, for people who apply it themselves.
// dialect is postgres or sqlite; of the options the prefix matters.
func Schema(dialect string, opts ...Option) (string, error) {
	cfg, err := newConfig(opts)
	if err != nil {
		return "", err
	}
	d, err := dialectOf(dialect)
	if err != nil {
		return "", err
	}
	t, err := newTables(cfg.prefix)
	if err != nil {
		return "", err
	}
	if t.schema != "" && !d.hasSchemas() {
		return "", fmt.Errorf("database: table prefix %q names a schema, which %s does not have", cfg.prefix, d.name())
	}
	list, err := migrations(d.name(), t)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if t.schema != "" {
		fmt.Fprintf(&b, "CREATE SCHEMA IF NOT EXISTS %q;\n\n", t.schema)
	}
	fmt.Fprintf(&b, "%s;\n\n", t.sql(migrationsTable))
	for _, m := range list {
		for _, statement := range m.statements {
			fmt.Fprintf(&b, "%s;\n\n", statement)
		}
		fmt.Fprintf(&b, "INSERT INTO %s (id) VALUES ('%s');\n\n", t.name("migrations"), m.id)
	}
	return strings.TrimSpace(b.String()) + "\n", nil
}
