package database_test

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/hansardlog/hansard/internal/dbtest"
	"github.com/hansardlog/hansard/session/database"
)

// wire watches the one connection of a pool: how often the client sends
// something and waits for the answer, and the statements it sends.
type wire struct {
	mu      sync.Mutex
	trips   int
	waiting bool // something was sent since the last answer
	sent    []string
}

// watchedConn is a connection of which wire counts the round trips.
type watchedConn struct {
	net.Conn
	w *wire
}

func (c watchedConn) Write(p []byte) (int, error) {
	c.w.mu.Lock()
	c.w.waiting = true
	c.w.mu.Unlock()
	return c.Conn.Write(p)
}

func (c watchedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	if n > 0 && c.w.waiting {
		c.w.waiting = false
		c.w.trips++
	}
	return n, err
}

// TraceQueryStart implements [pgx.QueryTracer]: it notes the first word of each
// statement, BEGIN and COMMIT too.
func (w *wire) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	w.mu.Lock()
	defer w.mu.Unlock()
	word, _, _ := strings.Cut(data.SQL, " ")
	w.sent = append(w.sent, strings.ToUpper(word))
	return ctx
}

// TraceQueryEnd implements [pgx.QueryTracer].
func (w *wire) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// count returns the round trips of f and what it sends.
func (w *wire) count(f func()) (trips int, sent string) {
	w.mu.Lock()
	w.trips, w.sent = 0, nil
	w.mu.Unlock()
	f()
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.trips, strings.Join(w.sent, " ")
}

// watched returns a service on PostgreSQL over one connection, as pgx makes it
// by default, with prepared statements kept.
func watched(t *testing.T, opts ...database.Option) (*wire, *gorm.DB, *database.Service) {
	t.Helper()
	w := &wire{}
	config := got(pgx.ParseConfig(dbtest.Postgres(t)))(t)
	dial := config.DialFunc
	config.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		return watchedConn{conn, w}, err
	}
	config.Tracer = w
	pool := stdlib.OpenDB(*config, stdlib.OptionShouldPing(func(context.Context, stdlib.ShouldPingParams) bool { return false }))
	pool.SetMaxOpenConns(1)
	t.Cleanup(func() {
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	})
	db := got(gorm.Open(postgres.New(postgres.Config{Conn: pool}), &gorm.Config{Logger: logger.Discard}))(t)
	svc := got(database.New(db, opts...))(t)
	must(t, svc.Migrate(t.Context()))
	return w, db, svc
}
