package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/hansardlog/hansard/internal/pgserver"
	"github.com/hansardlog/hansard/session/database"
	"github.com/hansardlog/hansard/session/database/pgdirect"
)

// paths are the ways of an append through package database on PostgreSQL.
var paths = []struct {
	name    string
	options []database.Option
}{
	{"portable", nil},
	{"direct", []database.Option{database.WithDirect(pgdirect.New())}},
}

// postgresDB is a server of our own, as PostgreSQL comes: durable. It is
// reached by a Unix socket. Each of Hansard, ADK and the floor has a schema; the
// paths of Hansard share one.
type postgresDB struct {
	cleanup
	dsn   string
	pool  int // connections of each client
	admin *sql.DB
}

func openPostgres(ctx context.Context, pool int) (_ *postgresDB, err error) {
	connections := max(100, 4*pool+30) // 100 is how it comes
	dsn, stop, err := pgserver.Start(pgserver.Config{Settings: []string{fmt.Sprintf("max_connections=%d", connections)}})
	if err != nil {
		return nil, err
	}
	db := &postgresDB{dsn: dsn, pool: pool}
	db.later(stop)
	defer func() {
		if err != nil {
			err = errors.Join(err, db.run())
		}
	}()
	if db.admin, err = db.connect("public", nil); err != nil {
		return nil, err
	}
	for _, schema := range []string{"hansard", "adk", "floor"} {
		if err := db.makeSchema(ctx, schema); err != nil {
			return nil, err
		}
	}
	return db, nil
}

func (db *postgresDB) makeSchema(ctx context.Context, schema string) error {
	_, err := db.admin.ExecContext(ctx, "CREATE SCHEMA "+schema)
	return err
}

// connect returns a pool in a schema. With a wire it has one connection, of
// which the round trips are counted.
func (db *postgresDB) connect(schema string, w *wire) (*sql.DB, error) {
	config, err := pgx.ParseConfig(db.dsn)
	if err != nil {
		return nil, err
	}
	config.RuntimeParams["search_path"] = schema
	size := db.pool
	if w != nil {
		size = 1
		dial := config.DialFunc
		config.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dial(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return w.watched(conn), nil
		}
	}
	// No ping before a statement: it would count as a round trip.
	pool := stdlib.OpenDB(*config, stdlib.OptionShouldPing(func(context.Context, stdlib.ShouldPingParams) bool { return false }))
	pool.SetMaxOpenConns(size)
	pool.SetMaxIdleConns(size)
	db.later(pool.Close)
	return pool, nil
}

func onPostgres(pool *sql.DB) gorm.Dialector { return postgres.New(postgres.Config{Conn: pool}) }

// hansard opens Hansard on one of its paths.
func (db *postgresDB) hansard(ctx context.Context, schema string, w *wire, opts ...database.Option) (hansard, error) {
	pool, err := db.connect(schema, w)
	if err != nil {
		return hansard{}, err
	}
	return openHansard(ctx, onPostgres(pool), opts...)
}

func (db *postgresDB) adk(w *wire) (adk, error) {
	pool, err := db.connect("adk", w)
	if err != nil {
		return adk{}, err
	}
	return openADK(onPostgres(pool))
}

func (db *postgresDB) floor(ctx context.Context) (floorPostgres, error) {
	h, err := db.hansard(ctx, "floor", nil)
	if err != nil {
		return floorPostgres{}, err
	}
	config, err := pgxpool.ParseConfig(db.dsn)
	if err != nil {
		return floorPostgres{}, err
	}
	config.ConnConfig.RuntimeParams["search_path"] = "floor"
	config.MaxConns = int32(db.pool)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return floorPostgres{}, err
	}
	db.later(func() error { pool.Close(); return nil })
	return floorPostgres{h, pool}, nil
}

// empty removes all rows from a schema but the record of migrations, so that no
// repetition pays for those before it.
func (db *postgresDB) empty(ctx context.Context, schema string) error {
	var tables string
	err := db.admin.QueryRowContext(ctx, `SELECT string_agg(format('%I.%I', schemaname, tablename), ', ') FROM pg_tables
		WHERE schemaname = $1 AND tablename NOT LIKE '%migrations'`, schema).Scan(&tables)
	if err != nil {
		return err
	}
	_, err = db.admin.ExecContext(ctx, "TRUNCATE "+tables)
	return err
}

// settle makes the server's state after a load that of a quiet one.
func (db *postgresDB) settle(ctx context.Context) error {
	for _, statement := range []string{"VACUUM ANALYZE", "CHECKPOINT"} {
		if _, err := db.admin.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}
