package main

import (
	"context"
	"database/sql"
	"errors"

	adkdatabase "google.golang.org/adk/v2/session/database"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/hansardlog/hansard/session/database"
)

// openHansard opens Hansard on a pool that the dialector has.
func openHansard(ctx context.Context, d gorm.Dialector, opts ...database.Option) (hansard, error) {
	_, svc, err := openService(ctx, d, opts...)
	return hansard{svc}, err
}

func openService(ctx context.Context, d gorm.Dialector, opts ...database.Option) (*gorm.DB, *database.Service, error) {
	db, err := gorm.Open(d, &gorm.Config{Logger: logger.Discard, SkipDefaultTransaction: true})
	if err != nil {
		return nil, nil, err
	}
	svc, err := database.New(db, opts...)
	if err != nil {
		return nil, nil, err
	}
	return db, svc, svc.Migrate(ctx)
}

// openADK opens ADK-Go's service on a pool that the dialector has.
func openADK(d gorm.Dialector) (adk, error) {
	svc, err := adkdatabase.NewSessionService(d, &gorm.Config{Logger: logger.Discard})
	if err != nil {
		return adk{}, err
	}
	return adk{svc}, adkdatabase.AutoMigrate(svc)
}

// column returns the first column of a query.
func column[T any](ctx context.Context, db *sql.DB, query string, args ...any) (values []T, err error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var v T
		if err := rows.Scan(&v); err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return values, rows.Err()
}
