package database_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"reflect"
	"sync"
	"testing"

	"gorm.io/gorm"
)

// faults stands between database/sql and a driver and sees every call in which
// something can go wrong: BEGIN, each statement, COMMIT.
type faults struct {
	mu   sync.Mutex
	n    int
	hook func(n int, query string, after bool) error
	seen []string
}

// set installs a hook, which is called before and after each call; n counts from
// 1. What it returns is what the database says. Nil: no faults.
func (f *faults) set(hook func(n int, query string, after bool) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n, f.seen, f.hook = 0, nil, hook
}

// calls returns the calls since the last set.
func (f *faults) calls() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.seen
}

func (f *faults) call(query string, run func() error) error {
	f.mu.Lock()
	f.n++
	f.seen = append(f.seen, query)
	n, hook := f.n, f.hook
	f.mu.Unlock()
	if hook != nil {
		if err := hook(n, query, false); err != nil {
			return err
		}
	}
	if err := run(); err != nil || hook == nil {
		return err
	}
	return hook(n, query, true)
}

// faulty returns a dialector for a fresh database whose driver is f's, and a
// pool on the same database that f does not see.
func faulty(t testing.TB, b backend) (d gorm.Dialector, f *faults, plain *sql.DB) {
	t.Helper()
	d = b.dial(t)
	db, err := gorm.Open(d)
	if err != nil {
		t.Fatal(err)
	}
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	drv := pool.Driver()
	if err := pool.Close(); err != nil {
		t.Fatal(err)
	}
	// All three dialectors have these two fields, and no interface for them.
	fields := reflect.ValueOf(d).Elem()
	dsn := fields.FieldByName("DSN").String()
	name := "" // of the connections in pg_stat_activity
	if b.postgres() {
		name = "SELECT set_config('application_name', current_schema(), false)"
	}
	f = &faults{}
	fields.FieldByName("Conn").Set(reflect.ValueOf(sql.OpenDB(faultyConnector{drv, dsn, f, name})))

	plain = sql.OpenDB(faultyConnector{drv, dsn, &faults{}, ""})
	t.Cleanup(func() {
		if err := plain.Close(); err != nil {
			t.Error(err)
		}
	})
	return d, f, plain
}

// faultyDSN is faulty for a database that only one pool sees.
func faultyDSN(t testing.TB, b backend, dsn string) (gorm.Dialector, *faults) {
	t.Helper()
	d, f, _ := faulty(t, b)
	drv := poolOf(d).Driver()
	if err := poolOf(d).Close(); err != nil {
		t.Fatal(err)
	}
	reflect.ValueOf(d).Elem().FieldByName("Conn").Set(reflect.ValueOf(sql.OpenDB(faultyConnector{drv, dsn, f, ""})))
	return d, f
}

// poolOf returns the pool that faulty made.
func poolOf(d gorm.Dialector) *sql.DB {
	return reflect.ValueOf(d).Elem().FieldByName("Conn").Interface().(*sql.DB)
}

type faultyConnector struct {
	drv driver.Driver
	dsn string
	f   *faults
	// first is run on each new connection, if not empty.
	first string
}

func (c faultyConnector) Driver() driver.Driver { return c.drv }

func (c faultyConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.drv.Open(c.dsn)
	if err == nil && c.first != "" {
		_, err = conn.(driver.ExecerContext).ExecContext(ctx, c.first, nil)
	}
	if err != nil {
		return nil, err
	}
	return faultyConn{conn, c.f}, nil
}

// faultyConn has the optional methods that the drivers have: none of them is a
// driver.Validator, which would change what database/sql does with connections.
type faultyConn struct {
	driver.Conn
	f *faults
}

func (c faultyConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	return c.Conn.(driver.ConnPrepareContext).PrepareContext(ctx, query)
}

func (c faultyConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (res driver.Result, err error) {
	err = c.f.call(query, func() (err error) {
		res, err = c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
		return err
	})
	return res, err
}

func (c faultyConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (rows driver.Rows, err error) {
	err = c.f.call(query, func() (err error) {
		rows, err = c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
		return err
	})
	if err != nil && rows != nil {
		_ = rows.Close()
		rows = nil
	}
	return rows, err
}

func (c faultyConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	var tx driver.Tx
	err := c.f.call("BEGIN", func() (err error) {
		tx, err = c.Conn.(driver.ConnBeginTx).BeginTx(ctx, opts)
		return err
	})
	if err != nil {
		if tx != nil {
			_ = tx.Rollback()
		}
		return nil, err
	}
	return faultyTx{tx, c.f}, nil
}

func (c faultyConn) ResetSession(ctx context.Context) error {
	if r, ok := c.Conn.(driver.SessionResetter); ok {
		return r.ResetSession(ctx)
	}
	return nil
}

func (c faultyConn) CheckNamedValue(v *driver.NamedValue) error {
	if checker, ok := c.Conn.(driver.NamedValueChecker); ok {
		return checker.CheckNamedValue(v)
	}
	return driver.ErrSkip
}

type faultyTx struct {
	tx driver.Tx
	f  *faults
}

func (tx faultyTx) Rollback() error { return tx.tx.Rollback() }

// Commit that fails has rolled back, as database/sql expects of a driver.
func (tx faultyTx) Commit() error {
	committed := false
	err := tx.f.call("COMMIT", func() error {
		committed = true
		return tx.tx.Commit()
	})
	if err != nil && !committed {
		_ = tx.tx.Rollback()
	}
	return err
}
