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
// meet have read, so that the fault does not wait for luck.
type unlocked struct {
	dialect
	meet func()
}

func (u unlocked) lock(tx *gorm.DB, t tables, key session.Key) (model.Conversation, error) {
	var conv model.Conversation
	err := query(tx, t.sql(`SELECT `+conversationColumns+` FROM {conversations} c WHERE c.id = ?`),
		[]any{u.uuid(request.ConversationID(key))}, func(rows *sql.Rows) error { return scanConversation(rows, &conv) })
	u.meet()
	return conv, err
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
	s, err := Open(d, WithRetry(1, 0))
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
func appendTogether(t *testing.T, s *Service, n int, key func(i int) string) (refused []error) {
	t.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			_, err := s.AppendEvent(t.Context(), &session.AppendEventRequest{
				Key: controlKey, Event: &session.Event{Author: "ana", IdempotencyKey: key(i)},
			})
			if err != nil {
				mu.Lock()
				defer mu.Unlock()
				refused = append(refused, err)
			}
		})
	}
	wg.Wait()
	return refused
}

func ownKey(i int) string { return fmt.Sprintf("k%d", i) }

func oneKey(int) string { return "k" }

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
		s.dialect = unlocked{s.dialect, meeting(2)}
		return s
	}
	t.Run("keys refuse what it lets through", func(t *testing.T) {
		s := start(t)
		refused := appendTogether(t, s, 2, ownKey)
		if len(refused) != 1 || session.Code(refused[0]) != "INTERNAL" || !strings.Contains(refused[0].Error(), "hansard_events_pkey") {
			t.Errorf("refused: %v, want one append for a sequence that is taken", refused)
		}
	})
	t.Run("without the primary key a sequence repeats", func(t *testing.T) {
		s := start(t, dropPrimaryKey)
		if refused := appendTogether(t, s, 2, ownKey); len(refused) > 0 {
			t.Fatal(refused)
		}
		if found := broken(t, s); found != "P1 P5" {
			t.Errorf("broken are %s, want P1 P5", found)
		}
	})
	t.Run("the lock needs neither key", func(t *testing.T) {
		s := withoutRetries(t, pgdriver.Open(dbtest.Postgres(t)))
		drop(t, s, dropPrimaryKey, dropRequestKey)
		for _, key := range []func(int) string{ownKey, oneKey} {
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
	s.dialect = deferred{unlocked{written, meeting(2)}}
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
