package database_test

import (
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/hansardlog/hansard/session"
	"github.com/hansardlog/hansard/session/database"
)

// rig is a service together with the *gorm.DB it was made on, through which a
// test reads and damages the tables behind the service's back.
type rig struct {
	backend
	svc *database.Service
	db  *gorm.DB

	mu       sync.Mutex
	watching bool
	seen     []statement
	stop     string // a statement with this in it fails with errStopped
	hook     func() // called once, before the next statement
}

// statement is one that the service sent, with what it bound.
type statement struct {
	sql  string
	args []any
}

// newRig returns a migrated service on a fresh database. The pool is small
// enough for many tests to share a server.
func newRig(t testing.TB, b backend, opts ...database.Option) *rig {
	t.Helper()
	db, err := gorm.Open(b.dial(t), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		t.Fatal(err)
	}
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	pool.SetMaxOpenConns(16)
	t.Cleanup(func() {
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	})
	r := &rig{backend: b, db: db}
	watch := func(tx *gorm.DB) {
		r.mu.Lock()
		hook := r.hook
		r.hook = nil
		r.mu.Unlock()
		if hook != nil {
			hook()
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if !r.watching {
			return
		}
		s := statement{tx.Statement.SQL.String(), slices.Clone(tx.Statement.Vars)}
		r.seen = append(r.seen, s)
		if r.stop != "" && strings.Contains(s.sql, r.stop) {
			_ = tx.AddError(errStopped) // returns it
		}
	}
	must(t, db.Callback().Row().Before("gorm:row").Register("test:row", watch))
	must(t, db.Callback().Raw().Before("gorm:raw").Register("test:raw", watch))
	r.svc, err = database.New(db, slices.Concat(b.opts, opts)...)
	must(t, err)
	must(t, r.svc.Migrate(t.Context()))
	return r
}

// before calls hook before the next statement that GORM sends.
func (r *rig) before(hook func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hook = hook
}

// statements returns what the service sends in f; BEGIN and COMMIT of the
// driver are no statements.
func (r *rig) statements(f func()) []statement {
	r.mu.Lock()
	r.watching, r.seen = true, nil
	r.mu.Unlock()
	f()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watching = false
	return r.seen
}

func (r *rig) postgres() bool { return r.db.Name() == "postgres" }

// exec runs statements behind the service's back.
func (r *rig) exec(t testing.TB, statements ...string) {
	t.Helper()
	execute(t, r.db.WithContext(t.Context()), statements...)
}

func execute(t testing.TB, db *gorm.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if err := db.Exec(s).Error; err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// number reads one number from the tables.
func (r *rig) number(t testing.TB, query string, args ...any) int64 {
	t.Helper()
	var n int64
	if err := r.db.WithContext(t.Context()).Raw(query, args...).Row().Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// unconstrain rebuilds a table without its keys, indexes and checks: what a
// database looks like that has lost them.
func unconstrain(t testing.TB, db *gorm.DB, table string) {
	t.Helper()
	execute(t, db,
		"CREATE TABLE loose AS SELECT * FROM "+table,
		"DROP TABLE "+table,
		"ALTER TABLE loose RENAME TO "+table)
}

// idLiteral writes an ID as a statement has it.
func (r *rig) idLiteral(id uuid.UUID) string {
	if r.postgres() {
		return "'" + id.String() + "'"
	}
	return "x'" + hex.EncodeToString(id[:]) + "'"
}

// findings are what Check yields, which must all be violations.
func (r *rig) findings(t testing.TB) []*database.Violation {
	t.Helper()
	return findings(t, r.svc)
}

func findings(t testing.TB, svc *database.Service) []*database.Violation {
	t.Helper()
	var found []*database.Violation
	for err := range svc.Check(t.Context()) {
		v, ok := err.(*database.Violation) //nolint:errorlint // Check promises the very type
		if !ok {
			t.Fatalf("check: %v", err)
		}
		found = append(found, v)
	}
	return found
}

// healthy checks that Check finds nothing.
func (r *rig) healthy(t testing.TB) {
	t.Helper()
	for _, v := range r.findings(t) {
		t.Errorf("check: %v", v)
	}
}

// guarantees returns the distinct guarantees of findings as one string.
func guarantees(found []*database.Violation) string {
	var names []string
	for _, v := range found {
		names = append(names, v.Guarantee)
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), " ")
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// got returns the value of a call that must succeed: got(svc.Get(ctx, req))(t).
func got[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		must(t, err)
		return v
	}
}

// fewer returns n, or the smaller count with -short.
func fewer(n, short int) int {
	if testing.Short() {
		return short
	}
	return n
}

// sessionKey is a session of olga in the app that the tests use.
func sessionKey(id string) session.Key {
	return session.Key{AppName: "app", UserID: "olga", SessionID: id}
}

// made creates a session; with members it is a group.
func made(t testing.TB, svc session.Service, id string, state session.State, members ...string) session.Key {
	t.Helper()
	req := &session.CreateRequest{Key: sessionKey(id), State: state, Members: members}
	if len(members) > 0 {
		req.Kind = session.KindGroup
	}
	return got(svc.Create(t.Context(), req))(t).Session.Key
}

// said appends an event that must be taken.
func said(t testing.TB, svc session.Service, key session.Key, e *session.Event) *session.Event {
	t.Helper()
	return got(svc.AppendEvent(t.Context(), &session.AppendEventRequest{Key: key, Event: e}))(t).Event
}

// words is a message.
func words(author, text string) *session.Event {
	payload, _ := json.Marshal(text) // a string is always encoded
	return &session.Event{Author: author, Payload: payload}
}

// keyed is a message with an idempotency key.
func keyed(author, key, text string) *session.Event {
	e := words(author, text)
	e.IdempotencyKey = key
	return e
}

// atOnce runs f(0) to f(n-1) at the same time and waits for them.
func atOnce(n int, f func(i int)) {
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-start
			f(i)
		})
	}
	close(start)
	wg.Wait()
}
