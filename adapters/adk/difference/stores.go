package main

import (
	"context"
	"crypto/rand"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"google.golang.org/adk/v2/platform"
	"google.golang.org/adk/v2/session"
	adkdatabase "google.golang.org/adk/v2/session/database"
	"gorm.io/driver/postgres"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/hansardlog/hansard/adapters/adk"
	"github.com/hansardlog/hansard/session/database"
)

// stores holds the services: ADK's and Hansard's on each database.
type stores struct {
	services []service
	cleanup  []func() error
}

type service struct {
	name string
	session.Service
}

func openStores(ctx context.Context, dsn string) (_ *stores, err error) {
	s := new(stores)
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	dir, err := os.MkdirTemp("", "hansard-difference-")
	if err != nil {
		return nil, err
	}
	s.cleanup = append(s.cleanup, func() error { return os.RemoveAll(dir) })
	file := "file:" + filepath.Join(dir, "difference.db") + "?_journal_mode=WAL&_busy_timeout=10000"
	if err := s.open(ctx, "SQLite", func() gorm.Dialector { return sqlite.Open(file) }); err != nil {
		return nil, err
	}
	if dsn == "" {
		return s, nil
	}
	schema, err := s.makeSchema(ctx, dsn)
	if err != nil {
		return nil, err
	}
	return s, s.open(ctx, "PostgreSQL", func() gorm.Dialector { return postgres.Open(inSchema(dsn, schema)) })
}

// open opens a database twice, once for each service.
func (s *stores) open(ctx context.Context, name string, dialector func() gorm.Dialector) error {
	db, err := gorm.Open(dialector(), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		return err
	}
	s.cleanup = append(s.cleanup, func() error { return closePool(db) })
	// ADK's service cannot be closed, so its pool is ours.
	own, err := adkdatabase.NewSessionService(dialector(), &gorm.Config{Logger: logger.Discard, ConnPool: db.ConnPool})
	if err != nil {
		return err
	}
	if err := adkdatabase.AutoMigrate(own); err != nil {
		return err
	}
	svc, err := database.Open(dialector(), database.WithClock(platform.Now))
	if err != nil {
		return err
	}
	s.cleanup = append(s.cleanup, svc.Close)
	if err := svc.Migrate(ctx); err != nil {
		return err
	}
	s.services = append(s.services, service{"ADK-Go " + version() + ", " + name, own}, service{"Hansard, " + name, adk.New(svc)})
	return nil
}

// close undoes what was opened, the last first.
func (s *stores) close() error {
	var errs []error
	for _, undo := range slices.Backward(s.cleanup) {
		errs = append(errs, undo())
	}
	return errors.Join(errs...)
}

// makeSchema makes a schema, which close drops.
func (s *stores) makeSchema(ctx context.Context, dsn string) (string, error) {
	db, err := gorm.Open(postgres.Open(dsn), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		return "", err
	}
	s.cleanup = append(s.cleanup, func() error { return closePool(db) })
	schema := "hansard_difference_" + strings.ToLower(rand.Text()[:12])
	if err := db.WithContext(ctx).Exec("CREATE SCHEMA " + schema).Error; err != nil {
		return "", err
	}
	s.cleanup = append(s.cleanup, func() error {
		return db.WithContext(context.WithoutCancel(ctx)).Exec("DROP SCHEMA " + schema + " CASCADE").Error
	})
	return schema, nil
}

// inSchema adds a search path to a DSN of either form.
func inSchema(dsn, schema string) string {
	if u, err := url.Parse(dsn); err == nil && strings.HasPrefix(u.Scheme, "postgres") {
		q := u.Query()
		q.Set("search_path", schema)
		u.RawQuery = q.Encode()
		return u.String()
	}
	return dsn + " search_path=" + schema
}

func closePool(db *gorm.DB) error {
	pool, err := db.DB()
	if err != nil {
		return err
	}
	return pool.Close()
}

// version returns the version of ADK-Go that this program is built with.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			if dep.Path == "google.golang.org/adk/v2" {
				return dep.Version
			}
		}
	}
	return "of unknown version"
}
