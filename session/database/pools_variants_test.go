package database_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
	"gorm.io/gorm/schema"

	"github.com/hansardlog/hansard/internal/dbtest"
	"github.com/hansardlog/hansard/session"
	"github.com/hansardlog/hansard/session/database"
	"github.com/hansardlog/hansard/session/inmemory"
	"github.com/hansardlog/hansard/session/sessiontest"
)

// variant is a *gorm.DB as an embedder may have it.
type variant struct {
	name   string
	config func(*gorm.Config)
	// dial is the backend's own if nil.
	dial  func(t testing.TB) gorm.Dialector
	only  string // a backend; empty: every one
	suite bool   // the full counts run the whole conformance suite on it
}

// postgresParam returns how to dial PostgreSQL with one more parameter.
func postgresParam(name, value string) func(t testing.TB) gorm.Dialector {
	return func(t testing.TB) gorm.Dialector {
		return postgres.Open(dbtestParam(dbtest.Postgres(t), name, value))
	}
}

func variants() []variant {
	return []variant{
		{name: "PrepareStmt", config: func(c *gorm.Config) { c.PrepareStmt = true }, suite: true},
		{name: "TranslateError", config: func(c *gorm.Config) { c.TranslateError = true }, suite: true},
		{name: "SkipDefaultTransaction", config: func(c *gorm.Config) { c.SkipDefaultTransaction = true }},
		{name: "DisableNestedTransaction", config: func(c *gorm.Config) { c.DisableNestedTransaction = true }},
		{name: "AllowGlobalUpdate, QueryFields, CreateBatchSize", config: func(c *gorm.Config) {
			c.AllowGlobalUpdate, c.QueryFields, c.CreateBatchSize, c.PropagateUnscoped = true, true, 1, true
		}},
		{name: "NamingStrategy", config: func(c *gorm.Config) {
			c.NamingStrategy = schema.NamingStrategy{TablePrefix: "theirs_", SingularTable: true, NoLowerCase: true}
		}},
		{name: "simple protocol", only: "postgres", suite: true, dial: func(t testing.TB) gorm.Dialector {
			return postgres.New(postgres.Config{DSN: dbtest.Postgres(t), PreferSimpleProtocol: true})
		}},
		{name: "exec mode", only: "postgres", dial: postgresParam("default_query_exec_mode", "exec")},
		{name: "describe cache", only: "postgres", dial: postgresParam("default_query_exec_mode", "cache_describe")},
		{name: "describe and exec", only: "postgres", dial: postgresParam("default_query_exec_mode", "describe_exec")},
		{name: "serializable", only: "postgres", dial: postgresParam("default_transaction_isolation", "serializable")},
		{name: "repeatable read", only: "postgres", dial: postgresParam("default_transaction_isolation", "'repeatable\\ read'")},
		{name: "other time zone", only: "postgres", dial: postgresParam("TimeZone", "Asia/Kathmandu")},
		{name: "no standard strings", only: "postgres", dial: postgresParam("standard_conforming_strings", "off")},
	}
}

func openVariant(t testing.TB, v variant, b backend, opts ...database.Option) (*gorm.DB, *database.Service) {
	t.Helper()
	dial := v.dial
	if dial == nil {
		dial = b.dial
	}
	config := &gorm.Config{Logger: logger.Discard}
	if v.config != nil {
		v.config(config)
	}
	db, err := gorm.Open(dial(t), config)
	must(t, err)
	pool, err := db.DB()
	must(t, err)
	pool.SetMaxOpenConns(8)
	t.Cleanup(func() { must(t, pool.Close()) })
	svc, err := database.New(db, slices.Concat(b.opts, opts)...)
	must(t, err)
	must(t, svc.Migrate(t.Context()))
	t.Cleanup(func() {
		for err := range svc.Check(context.WithoutCancel(t.Context())) {
			t.Errorf("check: %v", err)
		}
	})
	return db, svc
}

func eachVariant(t *testing.T, test func(t *testing.T, v variant, b backend)) {
	each(t, func(t *testing.T, b backend) {
		for _, v := range variants() {
			if v.only == "" || v.only == b.name {
				t.Run(v.name, func(t *testing.T) { test(t, v, b) })
			}
		}
	})
}

// TestVariants: however the embedder's handle is configured, the answers are
// those of the memory backend, and concurrent appends are gapless.
func TestVariants(t *testing.T) {
	eachVariant(t, func(t *testing.T, v variant, b backend) {
		const seed = 42
		_, svc := openVariant(t, v, b, database.WithClock(randomClock(seed)), database.WithIDs(numberedIDs()),
			database.WithMaxPayload(diffMaxPayload))
		memory := newWorld(inmemory.New(inmemory.WithClock(randomClock(seed)), inmemory.WithIDs(numberedIDs()),
			inmemory.WithMaxPayload(diffMaxPayload)))
		compareWorlds(t, seed, fewer(200, 80), memory, newWorld(svc))
	})
}

func TestVariantsConcurrency(t *testing.T) {
	eachVariant(t, func(t *testing.T, v variant, b backend) {
		db, svc := openVariant(t, v, b)
		key := made(t, svc, "s1", nil)
		n := fewer(16, 8)
		atOnce(n, func(i int) {
			e := &session.Event{Author: "ana", IdempotencyKey: fmt.Sprint(i), StateDelta: session.State{"k": i, fmt.Sprint("app:", i): i}}
			if _, err := svc.AppendEvent(t.Context(), &session.AppendEventRequest{Key: key, Event: e}); err != nil {
				t.Error(err)
			}
		})
		s := got(svc.Get(t.Context(), &session.GetRequest{Key: key}))(t).Session
		if s.HeadSeq != int64(n) || len(s.State) != n+1 {
			t.Errorf("head %d and %d state keys, want %d and %d", s.HeadSeq, len(s.State), n, n+1)
		}
		// In a transaction of theirs too.
		must(t, db.Transaction(func(tx *gorm.DB) error {
			w := newWorld(svc.WithTx(tx))
			w.must(t, fixture()...)
			for _, op := range operations() {
				op.prepared(t, w, 1)
				if _, err := op.try(t.Context(), t, w, 1); err != nil {
					t.Errorf("%s: %v", op.name, err)
				}
			}
			return nil
		}))
	})
}

func TestVariantsConformance(t *testing.T) {
	eachVariant(t, func(t *testing.T, v variant, b backend) {
		if !v.suite {
			t.Skip("the suite runs for the variants that change how statements travel or fail")
		}
		if !b.postgres() && b.name != "sqlite" || testing.Short() {
			t.Skip("one driver of each dialect is enough; make full runs the suite again")
		}
		sessiontest.Run(t, sessiontest.Config{
			New: func(t *testing.T) session.Service {
				_, svc := openVariant(t, v, b)
				return svc
			},
			NewWith: func(t *testing.T, o sessiontest.Options) session.Service {
				var opts []database.Option
				if o.Clock != nil {
					opts = append(opts, database.WithClock(o.Clock))
				}
				if o.IDs != nil {
					opts = append(opts, database.WithIDs(o.IDs))
				}
				if o.MaxPayload != 0 {
					opts = append(opts, database.WithMaxPayload(o.MaxPayload))
				}
				_, svc := openVariant(t, v, b, opts...)
				return svc
			},
		})
	})
}

// counter is a GORM plugin of the embedder's.
type counter struct{ initialized, statements atomic.Int64 }

func (c *counter) Name() string { return "counter" }

func (c *counter) Initialize(db *gorm.DB) error {
	c.initialized.Add(1)
	count := func(*gorm.DB) { c.statements.Add(1) }
	if err := db.Callback().Raw().After("gorm:raw").Register("counter:raw", count); err != nil {
		return err
	}
	return db.Callback().Row().After("gorm:row").Register("counter:row", count)
}

// TestBorrowedHandle: New leaves the caller's handle as it is, its plugins see
// what the service does, and Close does not close it.
func TestBorrowedHandle(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		db, err := gorm.Open(b.dial(t), &gorm.Config{Logger: logger.Discard, TranslateError: true, PrepareStmt: true})
		must(t, err)
		pool, err := db.DB()
		must(t, err)
		t.Cleanup(func() { must(t, pool.Close()) })
		pool.SetMaxOpenConns(7)
		plugin := &counter{}
		must(t, db.Use(plugin))
		config, connPool, ctx := *db.Config, db.Statement.ConnPool, db.Statement.Context

		svc, err := database.New(db)
		must(t, err)
		if n := mustCount(t, pool, "SELECT count(*) FROM "+map[bool]string{true: "pg_tables WHERE schemaname = current_schema()", false: "sqlite_master"}[b.postgres()]); n != 0 {
			t.Errorf("New made %d tables", n)
		}
		must(t, svc.Migrate(t.Context()))
		before := plugin.statements.Load()
		wantWorking(t, svc, "s1")
		if plugin.statements.Load() == before || plugin.initialized.Load() != 1 {
			t.Errorf("the plugin was initialized %d times and saw %d statements", plugin.initialized.Load(), plugin.statements.Load()-before)
		}
		if db.TranslateError != config.TranslateError || db.SkipDefaultTransaction != config.SkipDefaultTransaction ||
			db.Logger != config.Logger || db.PrepareStmt != config.PrepareStmt || db.ConnPool != config.ConnPool ||
			db.NamingStrategy != config.NamingStrategy || len(db.Plugins) != len(config.Plugins) || db.Error != nil {
			t.Errorf("the handle's configuration was changed from\n%+v to\n%+v", config, *db.Config)
		}
		if db.Statement.ConnPool != connPool || db.Statement.Context != ctx || db.Statement.Table != "" {
			t.Errorf("the handle's statement was changed to %v, %v, %q", db.Statement.ConnPool, db.Statement.Context, db.Statement.Table)
		}
		if n := pool.Stats().MaxOpenConnections; n != 7 {
			t.Errorf("the pool has at most %d connections, want the 7 of its owner", n)
		}
		must(t, svc.Close())
		if err := pool.PingContext(t.Context()); err != nil {
			t.Errorf("the pool after Close: %v", err)
		}
		wantWorking(t, svc, "s2")
	})
}
