package database

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	puresqlite "github.com/glebarez/sqlite"
	pgdriver "gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/hansardlog/hansard/internal/dbtest"
	"github.com/hansardlog/hansard/internal/request"
	"github.com/hansardlog/hansard/model"
	"github.com/hansardlog/hansard/session"
)

// unlocked is a dialect whose lock only reads. It returns when all who are to
// meet have read, and what is written first is not committed before another
// waits for it, so that the fault does not wait for luck.
type unlocked struct {
	dialect
	meet  func()
	first func(tx *gorm.DB)
}

func (u unlocked) lockAndTake(tx *gorm.DB, t tables, a *request.Append, _ conditions) (model.Conversation, verdict, error) {
	var conv model.Conversation
	err := query(tx, t.sql(`SELECT `+conversationColumns+` FROM {conversations} c WHERE c.id = ?`),
		[]any{u.uuid(request.ConversationID(a.Key))}, func(rows *sql.Rows) error { return scanConversation(rows.Scan, &conv) })
	u.meet()
	return conv, verdict{}, err
}

func (u unlocked) decideAndWrite(tx *gorm.DB, t tables, conv model.Conversation, a *request.Append, c conditions, v verdict, left *leftEvents) (verdict, error) {
	v, err := u.dialect.decideAndWrite(tx, t, conv, a, c, v, left)
	u.first(tx)
	return v, err
}

// awaitWaiter returns a function that, called first, returns when another
// transaction waits for tx, and called again at once.
func awaitWaiter(t *testing.T) func(tx *gorm.DB) {
	var once sync.Once
	return func(tx *gorm.DB) {
		once.Do(func() {
			for range 2000 {
				var n int
				_, err := queryRow(tx, `SELECT count(*) FROM pg_stat_activity WHERE pg_backend_pid() = ANY (pg_blocking_pids(pid))`, nil, &n)
				if err != nil || n > 0 {
					return
				}
				time.Sleep(5 * time.Millisecond)
			}
			t.Error("nobody waits for the first append")
		})
	}
}

// meeting returns a function that returns once n have called it.
func meeting(n int) func() {
	var wg sync.WaitGroup
	wg.Add(n)
	return func() {
		wg.Done()
		wg.Wait()
	}
}

var controlKey = session.Key{AppName: "app", UserID: "olga", SessionID: "s1"}

// withoutRetries returns a service that reports every conflict, with a session.
func withoutRetries(t *testing.T, d gorm.Dialector) *Service {
	t.Helper()
	s, err := Open(d, WithRetry(1, 0), WithCombining(1)) // combined, one would wait outside the database
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	s.owned.SetMaxOpenConns(16)
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Create(t.Context(), &session.CreateRequest{Key: controlKey}); err != nil {
		t.Fatal(err)
	}
	return s
}

// appendTogether sends n appends of one author at the same time and returns
// those of their errors that are not nil.
func appendTogether(t *testing.T, s *Service, n int, complete func(i int, req *session.AppendEventRequest)) (refused []error) {
	t.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			req := &session.AppendEventRequest{Key: controlKey, Event: &session.Event{Author: "ana"}}
			complete(i, req)
			if _, err := s.AppendEvent(t.Context(), req); err != nil {
				mu.Lock()
				defer mu.Unlock()
				refused = append(refused, err)
			}
		})
	}
	wg.Wait()
	return refused
}

func ownKey(i int, req *session.AppendEventRequest) { req.Event.IdempotencyKey = fmt.Sprintf("k%d", i) }

func oneKey(_ int, req *session.AppendEventRequest) { req.Event.IdempotencyKey = "k" }

func oneHead(_ int, req *session.AppendEventRequest) { req.ExpectedSeq = new(int64) }

// broken returns the guarantees that Check finds broken.
func broken(t *testing.T, s *Service) string {
	t.Helper()
	var names []string
	for err := range s.Check(t.Context()) {
		var v *Violation
		if !errors.As(err, &v) {
			t.Fatalf("check: %v", err)
		}
		names = append(names, v.Guarantee)
	}
	return strings.Join(names, " ")
}

func drop(t *testing.T, s *Service, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := exec(s.with(t.Context()), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

const (
	dropPrimaryKey = "ALTER TABLE hansard_events DROP CONSTRAINT hansard_events_pkey"
	dropRequestKey = "DROP INDEX hansard_events_request"
)

func TestControlPostgresWithoutLock(t *testing.T) {
	t.Parallel()
	start := func(t *testing.T, dropped ...string) *Service {
		s := withoutRetries(t, pgdriver.Open(dbtest.Postgres(t)))
		drop(t, s, dropped...)
		s.dialect = unlocked{s.dialect, meeting(2), awaitWaiter(t)}
		return s
	}
	t.Run("the index refuses what it lets through", func(t *testing.T) {
		s := start(t)
		refused := appendTogether(t, s, 2, oneKey)
		if len(refused) != 1 || session.Code(refused[0]) != "INTERNAL" || !strings.Contains(refused[0].Error(), "hansard_events_request") {
			t.Errorf("refused: %v, want one append for a key that is taken", refused)
		}
	})
	t.Run("without the index a request is stored twice", func(t *testing.T) {
		s := start(t, dropRequestKey)
		if refused := appendTogether(t, s, 2, oneKey); len(refused) > 0 {
			t.Fatal(refused)
		}
		if found := broken(t, s); found != "P2" {
			t.Errorf("broken are %s, want P2", found)
		}
	})
	t.Run("two appends take one expected head", func(t *testing.T) {
		s := start(t)
		if refused := appendTogether(t, s, 2, oneHead); len(refused) > 0 {
			t.Errorf("refused: %v, want the fault: none", refused)
		}
	})
	t.Run("with the lock only one takes it", func(t *testing.T) {
		s := withoutRetries(t, pgdriver.Open(dbtest.Postgres(t)))
		refused := appendTogether(t, s, 8, oneHead)
		if len(refused) != 7 || !errors.Is(refused[0], session.ErrStale) {
			t.Errorf("refused: %v, want 7 of 8 as stale", refused)
		}
	})
	t.Run("the lock needs neither key", func(t *testing.T) {
		s := withoutRetries(t, pgdriver.Open(dbtest.Postgres(t)))
		drop(t, s, dropPrimaryKey, dropRequestKey)
		for _, key := range []func(int, *session.AppendEventRequest){ownKey, oneKey} {
			if refused := appendTogether(t, s, 32, key); len(refused) > 0 {
				t.Fatal(refused)
			}
		}
		if found := broken(t, s); found != "" {
			t.Errorf("broken are %s, want none", found)
		}
	})
}

// deferred is unlocked in a transaction that takes no lock until it writes, as
// the caller's may be.
type deferred struct{ unlocked }

func (deferred) write(db *gorm.DB, fn func(*gorm.DB) error) error {
	return sqlite{}.begin(db, "BEGIN DEFERRED", fn)
}

func TestControlSQLiteReadsBeforeItWrites(t *testing.T) {
	t.Parallel()
	s := withoutRetries(t, puresqlite.Open(dbtest.PureSQLiteDSN(dbtest.SQLite(t))))
	written := s.dialect
	s.dialect = deferred{unlocked{written, meeting(2), func(*gorm.DB) {}}}
	begin := time.Now()
	refused := appendTogether(t, s, 2, ownKey)
	if len(refused) != 1 || !errors.Is(refused[0], session.ErrBusy) {
		t.Errorf("refused: %v, want one append as busy", refused)
	}
	if took := time.Since(begin); took >= 10*time.Second {
		t.Errorf("refused after %v: the busy timeout of the DSN helps a transaction that reads first", took)
	}

	s.dialect = written
	if refused := appendTogether(t, s, 64, ownKey); len(refused) > 0 {
		t.Errorf("%d of 64 appends that write first were refused: %v", len(refused), refused[0])
	}
	if found := broken(t, s); found != "" {
		t.Errorf("broken are %s, want none", found)
	}
}
