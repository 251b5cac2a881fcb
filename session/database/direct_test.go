package database_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/hansardlog/hansard/internal/dbtest"
	"github.com/hansardlog/hansard/session"
	"github.com/hansardlog/hansard/session/database"
	"github.com/hansardlog/hansard/session/database/pgdirect"
	"github.com/hansardlog/hansard/session/sessiontest"
)

// directRig is a rig with the direct path and one connection for the service.
func directRig(t *testing.T) *rig {
	t.Helper()
	r := newRig(t, backends()[1])
	if r.name != "postgres-direct" {
		t.Fatalf("the second backend is %s", r.name)
	}
	return r
}

// The suite on the direct path with combining, which has its requests merged.
func TestDirectCombiningConformance(t *testing.T) {
	t.Parallel()
	b := backends()[1]
	b.opts = []database.Option{database.WithDirect(pgdirect.New())}
	sessiontest.Run(t, sessiontest.Config{
		New: func(t *testing.T) session.Service { return checked(t, b) },
		NewWith: func(t *testing.T, o sessiontest.Options) session.Service {
			return checked(t, b, optionsOf(o)...)
		},
	})
}

// However pgx is told to run statements, the direct path gives the same answers.
func TestDirectExecModes(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"cache_statement", "cache_describe", "describe_exec", "exec", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			b := backends()[1]
			b.dial = postgresParam("default_query_exec_mode", mode)
			r := newRig(t, b)
			key := made(t, r.svc, "s1", nil, "ana", "ben")
			e := keyed("ana", "k", `a "quoted" \ ? $1 'text'`)
			e.StateDelta = session.State{"a": 1, "user:b": "?", "app:c": nil}
			e.StateDelete = []string{"gone"}
			first := said(t, r.svc, key, e)
			if first.Seq != 3 || string(first.Payload) != string(e.Payload) {
				t.Errorf("stored as %+v", first)
			}
			got(r.svc.AppendEvents(t.Context(), &session.AppendEventsRequest{Key: key, Events: keyedBatchOf("ana", "ben")}))(t)
			again := got(r.svc.AppendEvent(t.Context(), &session.AppendEventRequest{Key: key, Event: e}))(t)
			if !again.Replayed || again.Event.Seq != 3 {
				t.Errorf("again: %+v", again)
			}
			if _, err := r.svc.AppendEvent(t.Context(), &session.AppendEventRequest{Key: key, Event: words("mallory", "x")}); !errors.Is(err, session.ErrNotMember) {
				t.Errorf("a stranger: %v", err)
			}
			r.healthy(t)
		})
	}
}

func keyedBatchOf(authors ...string) (events []*session.Event) {
	for i, author := range authors {
		e := keyed(author, "batch", "words")
		e.StateDelta = session.State{"user:mine": i}
		events = append(events, e)
	}
	return events
}

// Where the driver is another, the option changes nothing.
func TestDirectDoesNotServe(t *testing.T) {
	t.Parallel()
	w, _, svc := watched(t)
	fillForTrips(t, svc)
	for _, b := range backends() {
		if b.postgres() {
			continue
		}
		svc := open(t, b, database.WithDirect(pgdirect.New()))
		said(t, svc, made(t, svc, "s1", nil), words("ana", "words"))
	}
	if trips, _ := w.count(func() { said(t, svc, tripSession, words("ana", "words")) }); trips != 4 {
		t.Errorf("without the option an append is %d round trips, want 4", trips)
	}
}

// After an error in the middle nothing is stored, and the connection goes back
// to the pool without a transaction.
func TestDirectFailure(t *testing.T) {
	t.Parallel()
	r := directRig(t)
	pool := got(r.db.DB())(t)
	pool.SetMaxOpenConns(1)
	key := made(t, r.svc, "s1", nil)
	r.exec(t, "ALTER TABLE hansard_events ADD CONSTRAINT no_poison CHECK (branch <> 'poison')")
	for range 3 {
		e := words("ana", "poison")
		e.Branch, e.StateDelta = "poison", session.State{"a": 1, "app:a": 1}
		if _, err := r.svc.AppendEvent(t.Context(), &session.AppendEventRequest{Key: key, Event: e}); session.Code(err) != "INTERNAL" {
			t.Errorf("got %v, want the constraint's error", err)
		}
		said(t, r.svc, key, words("ana", "words"))
	}
	if n := r.number(t, "SELECT count(*) FROM hansard_events") + 10*r.number(t, "SELECT count(*) FROM hansard_session_states"); n != 3 {
		t.Errorf("%d events and ten times state rows, want 3", n)
	}
	r.healthy(t)
}

// An append that waits for the lock ends with its context, or with its
// connection. It is stored once or not at all, and its key tells: COMMIT has been
// sent, so a server that does not learn of the end in time may go on.
func TestDirectInterrupted(t *testing.T) {
	t.Parallel()
	for name, interrupt := range map[string]func(t *testing.T, r *rig, cancel func(), holder int64){
		"context": func(_ *testing.T, _ *rig, cancel func(), _ int64) { cancel() },
		"connection": func(t *testing.T, r *rig, _ func(), holder int64) {
			r.number(t, "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE ?::int = ANY (pg_blocking_pids(pid))", holder)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := directRig(t)
			key := made(t, r.svc, "s1", nil)
			holder := r.conn(t)
			do(t, holder, "BEGIN")
			do(t, holder, "SELECT 1 FROM hansard_conversations FOR UPDATE")
			pid := ask(t, holder, "SELECT pg_backend_pid()")
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			failed := make(chan error)
			go func() {
				_, err := r.svc.AppendEvent(ctx, &session.AppendEventRequest{Key: key, Event: keyed("ana", "k", "words")})
				failed <- err
			}()
			awaitBlocked(t, r, pid)
			interrupt(t, r, cancel, pid)
			err := <-failed
			if code := session.Code(err); code != map[string]string{"context": "CANCELED", "connection": "INTERNAL"}[name] {
				t.Errorf("got %v, code %s", err, code)
			}
			do(t, holder, "ROLLBACK")
			resp := got(r.svc.AppendEvent(t.Context(), &session.AppendEventRequest{Key: key, Event: keyed("ana", "k", "words")}))(t)
			if resp.Replayed && name == "connection" || resp.Event.Seq != 1 {
				t.Errorf("the append after the interrupted one: %+v", resp)
			}
			r.healthy(t)
		})
	}
}

// The default isolation of the server plays no part.
func TestDirectIsolation(t *testing.T) {
	t.Parallel()
	d := postgres.Open(dbtestParam(dbtest.Postgres(t), "default_transaction_isolation", "serializable"))
	db := got(gorm.Open(d, &gorm.Config{Logger: logger.Discard}))(t)
	pool := got(db.DB())(t)
	t.Cleanup(func() { must(t, pool.Close()) })
	pool.SetMaxOpenConns(8)
	svc := got(database.New(db, database.WithDirect(pgdirect.New()), database.WithRetry(1, 0), database.WithCombining(1)))(t)
	must(t, svc.Migrate(t.Context()))
	key := made(t, svc, "s1", nil)
	atOnce(8, func(int) { said(t, svc, key, words("ana", "words")) })
	if n := got(svc.Get(t.Context(), &session.GetRequest{Key: key}))(t).Session.HeadSeq; n != 8 {
		t.Errorf("head %d, want 8", n)
	}
}
