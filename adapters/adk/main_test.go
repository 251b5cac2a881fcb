package adk_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"google.golang.org/adk/v2/platform"
	adksession "google.golang.org/adk/v2/session"
	"gorm.io/driver/postgres"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"

	"github.com/hansardlog/hansard/adapters/adk"
	"github.com/hansardlog/hansard/internal/dbtest"
	"github.com/hansardlog/hansard/session"
	"github.com/hansardlog/hansard/session/database"
	"github.com/hansardlog/hansard/session/inmemory"
)

func TestMain(m *testing.M) { os.Exit(dbtest.Main(m)) }

// opener returns another service on the same store each time, as other
// processes would have it.
type opener func(t *testing.T) session.Service

// backends make a new and empty store each time.
var backends = []struct {
	name string
	new  func(t *testing.T) opener
}{
	{"memory", func(*testing.T) opener {
		svc := inmemory.New(inmemory.WithClock(platform.Now), inmemory.WithIDs(platform.NewUUID))
		return func(*testing.T) session.Service { return svc }
	}},
	{"sqlite", func(t *testing.T) opener {
		path := dbtest.SQLite(t)
		return openDatabase(t, func() gorm.Dialector { return sqlite.Open(dbtest.SQLiteDSN(path)) })
	}},
	{"postgres", func(t *testing.T) opener {
		dsn := dbtest.Postgres(t)
		return openDatabase(t, func() gorm.Dialector { return postgres.Open(dsn) })
	}},
}

// onBackends runs test on each backend.
func onBackends(t *testing.T, test func(t *testing.T, open opener)) {
	t.Helper()
	for _, b := range backends {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			test(t, b.new(t))
		})
	}
}

// openDatabase migrates a database and checks it when the test ends.
func openDatabase(t *testing.T, dialector func() gorm.Dialector) opener {
	t.Helper()
	open := func(t *testing.T) *database.Service {
		t.Helper()
		svc, err := database.Open(dialector(), database.WithClock(platform.Now), database.WithIDs(platform.NewUUID))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := svc.Close(); err != nil {
				t.Error(err)
			}
		})
		return svc
	}
	svc := open(t)
	if err := svc.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for err := range svc.Check(context.WithoutCancel(t.Context())) {
			t.Error(err)
		}
	})
	return func(t *testing.T) session.Service { return open(t) }
}

// inMemory returns ADK's service over Hansard in memory, and Hansard's.
func inMemory(opts ...adk.Option) (adksession.Service, session.Service) {
	svc := inmemory.New(inmemory.WithClock(platform.Now), inmemory.WithIDs(platform.NewUUID))
	return adk.New(svc, opts...), svc
}

// key is the session that most tests use.
var key = session.Key{AppName: "app", UserID: "ana", SessionID: "s"}

// create makes the session of key.
func create(t *testing.T, svc adksession.Service, state map[string]any) adksession.Session {
	t.Helper()
	return createAs(t, svc, key.SessionID, state)
}

func createAs(t *testing.T, svc adksession.Service, id string, state map[string]any) adksession.Session {
	t.Helper()
	resp, err := svc.Create(t.Context(), &adksession.CreateRequest{AppName: key.AppName, UserID: key.UserID, SessionID: id, State: state})
	if err != nil {
		t.Fatal(err)
	}
	return resp.Session
}

// get reads the session of key.
func get(t *testing.T, svc adksession.Service) adksession.Session {
	t.Helper()
	resp, err := svc.Get(t.Context(), &adksession.GetRequest{AppName: key.AppName, UserID: key.UserID, SessionID: key.SessionID})
	if err != nil {
		t.Fatal(err)
	}
	return resp.Session
}

// said returns an event of an agent with a state delta.
func said(id string, delta map[string]any) *adksession.Event {
	return &adksession.Event{ID: id, Author: "agent", Actions: adksession.EventActions{StateDelta: delta}}
}

// mustAppend appends the events in order.
func mustAppend(t *testing.T, svc adksession.Service, to adksession.Session, events ...*adksession.Event) {
	t.Helper()
	for _, event := range events {
		if err := svc.AppendEvent(t.Context(), to, event); err != nil {
			t.Fatalf("append %s: %v", event.ID, err)
		}
	}
}

// ids returns the IDs of a session's events in their order.
func ids(s adksession.Session) []string {
	var ids []string
	for event := range s.Events().All() {
		ids = append(ids, event.ID)
	}
	return ids
}

// value returns a state key for people: its type and its value.
func value(t *testing.T, s adksession.Session, key string) string {
	t.Helper()
	v, err := s.State().Get(key)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%T %v", v, v)
}
