package adk_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	adksession "google.golang.org/adk/v2/session"
	adkdatabase "google.golang.org/adk/v2/session/database"
	"gorm.io/driver/postgres"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/hansardlog/hansard/internal/dbtest"
	"github.com/hansardlog/hansard/session"
)

// sourceDB is a database that ADK's own service writes.
type sourceDB struct {
	kind, dsn string
	adk       adksession.Service
	db        *gorm.DB // a pool of one connection
}

// sourceKinds are the databases that an import reads.
var sourceKinds = []string{"sqlite", "postgres"}

func onSources(t *testing.T, test func(t *testing.T, src *sourceDB)) {
	t.Helper()
	for _, kind := range sourceKinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			test(t, newSource(t, kind))
		})
	}
}

func newSource(t *testing.T, kind string) *sourceDB {
	t.Helper()
	src := &sourceDB{kind: kind}
	if kind == "sqlite" {
		src.dsn = dbtest.SQLiteDSN(dbtest.SQLite(t), "_synchronous=OFF")
	} else {
		src.dsn = dbtest.Postgres(t)
	}
	svc, err := adkdatabase.NewSessionService(dialectorOf(kind, src.dsn), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		t.Fatal(err)
	}
	if err := adkdatabase.AutoMigrate(svc); err != nil {
		t.Fatal(err)
	}
	src.adk = svc
	src.db = openPool(t, kind, src.dsn)
	return src
}

func dialectorOf(kind, dsn string) gorm.Dialector {
	if kind == "sqlite" {
		return sqlite.Open(dsn)
	}
	return postgres.Open(dsn)
}

// openPool opens a pool of one connection: a call while a cursor is open would
// wait for ever.
func openPool(t *testing.T, kind, dsn string) *gorm.DB {
	t.Helper()
	db, err := gorm.Open(dialectorOf(kind, dsn), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		t.Fatal(err)
	}
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	pool.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = pool.Close() })
	return db
}

// exec changes the source behind ADK's back.
func (src *sourceDB) exec(t *testing.T, statement string, args ...any) {
	t.Helper()
	if res := src.db.Exec(statement, args...); res.Error != nil || res.RowsAffected == 0 {
		t.Fatalf("%s: %v, %d rows", statement, res.Error, res.RowsAffected)
	}
}

// dump returns all that ADK's tables hold.
func (src *sourceDB) dump(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for _, table := range []string{"sessions", "events", "app_states", "user_states"} {
		var rows []map[string]any
		if err := src.db.Raw(`SELECT * FROM ` + table).Scan(&rows).Error; err != nil {
			t.Fatal(err)
		}
		lines := make([]string, len(rows))
		for i, row := range rows {
			lines[i] = fmt.Sprintf("%s %v\n", table, row) // maps are printed in the order of keys
		}
		slices.Sort(lines)
		b.WriteString(strings.Join(lines, ""))
	}
	return b.String()
}

func adkSession(t *testing.T, svc adksession.Service, k session.Key) adksession.Session {
	t.Helper()
	resp, err := svc.Get(t.Context(), &adksession.GetRequest{AppName: k.AppName, UserID: k.UserID, SessionID: k.SessionID})
	if err != nil {
		t.Fatal(err)
	}
	return resp.Session
}

// write makes a session through ADK's service.
func (src *sourceDB) write(t *testing.T, k session.Key, state map[string]any, events ...*adksession.Event) {
	t.Helper()
	resp, err := src.adk.Create(t.Context(), &adksession.CreateRequest{AppName: k.AppName, UserID: k.UserID, SessionID: k.SessionID, State: state})
	if err != nil {
		t.Fatal(err)
	}
	mustAppend(t, src.adk, resp.Session, events...)
}

// fullEvent is an event with every field filled. In it is no NUL for PostgreSQL,
// where ADK cannot store one.
func (src *sourceDB) fullEvent(t *testing.T) *adksession.Event {
	t.Helper()
	event := fullEvent(t)
	data, err := json.Marshal(event)
	if err != nil {
		t.Fatal(err)
	}
	if src.db.Name() == "postgres" {
		data = bytes.ReplaceAll(data, []byte(`\u0000`), nil)
	}
	stored := new(adksession.Event)
	if err := json.Unmarshal(data, stored); err != nil {
		t.Fatal(err)
	}
	return stored
}

// at is the time of the n-th second of the tests.
func at(n int) time.Time {
	return time.Date(2025, 3, 4, 5, 6, 0, 123456000, time.UTC).Add(time.Duration(n) * time.Second)
}

// timed returns an event of an agent.
func timed(id string, when time.Time, delta map[string]any) *adksession.Event {
	event := said(id, delta)
	event.Timestamp = when
	return event
}

func keyOf(id string) session.Key { return session.Key{AppName: "app", UserID: "ana", SessionID: id} }
