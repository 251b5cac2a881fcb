package database_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/hansardlog/hansard/internal/dbtest"
	"github.com/hansardlog/hansard/session"
	"github.com/hansardlog/hansard/session/database"
)

// 24 sessions of one user write the same app: and user: keys, half of them in
// the opposite order, and each a key of its own: none may fail, and no key be
// lost.
func TestOppositeKeyOrders(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		var opts []database.Option
		if b.postgres() {
			b.dial = ownDatabase
			opts = append(opts, database.WithRetry(1, 0)) // a deadlock must not be repaired
		}
		r := newRig(t, b, opts...)
		const writers = 24
		rounds := fewer(5, 2)
		want := session.State{}
		var keys []session.Key
		for w := range writers {
			keys = append(keys, made(t, r.svc, fmt.Sprintf("s%02d", w), nil))
			want[fmt.Sprintf("app:own%02d", w)] = json.Number(fmt.Sprint(rounds - 1))
			want[fmt.Sprintf("user:own%02d", w)] = json.Number(fmt.Sprint(rounds - 1))
		}
		atOnce(writers, func(w int) {
			for i := range rounds {
				if err := writeInOrder(t.Context(), r.svc, keys[w], w, i); err != nil {
					t.Errorf("writer %d, round %d: %v", w, i, err)
				}
			}
		})
		state := got(r.svc.GetState(t.Context(), &session.GetStateRequest{AppName: "app", UserID: "olga"}))(t).State
		for key, value := range want {
			if state[key] != value {
				t.Errorf("%s = %v, want %v: an acknowledged key is lost", key, state[key], value)
			}
		}
		if len(state) != len(want)+52 {
			t.Errorf("%d keys, want %d", len(state), len(want)+52)
		}
		r.healthy(t)
		if r.postgres() {
			onlyDeadlock(t, r)
		}
	})
}

// writeInOrder writes app:a to app:z and user:a to user:z, the first writers
// forwards, and an own key, by an append or without a session.
func writeInOrder(ctx context.Context, svc session.Service, key session.Key, w, i int) error {
	var letters []string
	for letter := 'a'; letter <= 'z'; letter++ {
		letters = append(letters, string(letter))
	}
	if w >= 12 {
		slices.Reverse(letters)
	}
	own := fmt.Sprintf("own%02d", w)
	if w%6 == 5 {
		req := &session.UpdateStateRequest{AppName: key.AppName, UserID: key.UserID, Delta: session.State{"app:" + own: i, "user:" + own: i}}
		for _, letter := range letters {
			req.Delta["app:"+letter], req.Delta["user:"+letter] = w, w
		}
		_, err := svc.UpdateState(ctx, req)
		return err
	}
	events := []*session.Event{{Author: "agent", StateDelta: session.State{"app:" + own: i, "user:" + own: i}}}
	for _, letter := range letters {
		events = append(events, &session.Event{Author: "agent", StateDelta: session.State{"app:" + letter: w, "user:" + letter: w}})
	}
	_, err := svc.AppendEvents(ctx, &session.AppendEventsRequest{Key: key, Events: events})
	return err
}

// ownDatabase makes a new database: deadlocks are counted by database, and
// other tests may want some.
func ownDatabase(t testing.TB) gorm.Dialector {
	t.Helper()
	config := got(pgx.ParseConfig(dbtest.PostgresServer(t)))(t)
	admin := stdlib.OpenDB(*config)
	config.Database = "hansard_test_" + strings.ToLower(rand.Text()[:16])
	_, err := admin.ExecContext(t.Context(), "CREATE DATABASE "+config.Database)
	must(t, err)
	t.Cleanup(func() {
		_, err := admin.ExecContext(context.WithoutCancel(t.Context()), "DROP DATABASE "+config.Database+" WITH (FORCE)")
		if err = errors.Join(err, admin.Close()); err != nil {
			t.Error(err)
		}
	})
	return postgres.New(postgres.Config{Conn: stdlib.OpenDB(*config)})
}

// onlyDeadlock makes a deadlock by hand, in the very rows that the service has
// written, and checks that the server has counted this one and no other.
func onlyDeadlock(t *testing.T, r *rig) {
	t.Helper()
	pool := got(r.db.DB())(t)
	pool.SetMaxIdleConns(0) // a backend reports its count when it ends
	const lock = "SELECT FROM hansard_app_states WHERE app_name = 'app' AND name = $1 FOR UPDATE"
	a, b := got(pool.Conn(t.Context()))(t), got(pool.Conn(t.Context()))(t)
	do(t, a, "BEGIN")
	do(t, b, "BEGIN")
	do(t, a, lock, "a")
	do(t, b, lock, "z")
	waited := make(chan error)
	go func() {
		_, err := a.ExecContext(t.Context(), lock, "z")
		waited <- err
	}()
	awaitBlocked(t, r, ask(t, b, "SELECT pg_backend_pid()"))
	_, err := b.ExecContext(t.Context(), lock, "a")
	if err != nil {
		do(t, b, "ROLLBACK") // a waits for b still if b is the one that was refused
	}
	if states := sqlState(err) + sqlState(<-waited); states != "40P01" {
		t.Errorf("locks in the opposite order end with the codes %q, want one deadlock", states)
	}
	for _, conn := range []*sql.Conn{a, b} {
		do(t, conn, "ROLLBACK")
		must(t, conn.Close())
	}
	const count = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
	n := r.number(t, count)
	for end := time.Now().Add(time.Minute); n == 0 && time.Now().Before(end); n = r.number(t, count) {
		time.Sleep(20 * time.Millisecond)
	}
	if n != 1 {
		t.Errorf("the server has counted %d deadlocks, want the one made by hand", n)
	}
}
