package adk_test

import (
	"cmp"
	"context"
	"slices"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/hansardlog/hansard/adapters/adk"
	"github.com/hansardlog/hansard/session"
	"github.com/hansardlog/hansard/session/database"
	"github.com/hansardlog/hansard/session/inmemory"
)

// newDestination opens Hansard on a database, with tables of a prefix.
func newDestination(t *testing.T, db *gorm.DB, prefix string) *database.Service {
	t.Helper()
	svc, err := database.New(db, database.WithTablePrefix(prefix))
	if err != nil {
		t.Fatal(err)
	}
	if err := svc.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for err := range svc.Check(context.WithoutCancel(t.Context())) {
			t.Error(err)
		}
	})
	return svc
}

// mustImport imports everything.
func mustImport(t *testing.T, src *sourceDB, dst session.Service, opts ...adk.ImportOption) adk.Report {
	t.Helper()
	rep, err := adk.Import(t.Context(), src.db, dst, opts...)
	if err != nil {
		t.Fatalf("import: %v\n%+v", err, rep)
	}
	return rep
}

// record is what must be the same however a session got into the store.
type record struct {
	Key       session.Key
	CreatedAt time.Time
	State     session.State
	Events    []*session.Event
}

// records returns all of an app.
func records(t *testing.T, svc session.Service, app string) []record {
	t.Helper()
	var all []record
	for s, err := range session.AllSessions(t.Context(), svc, session.ListRequest{AppName: app, PageSize: session.MaxPageSize}) {
		if err != nil {
			t.Fatal(err)
		}
		resp, err := svc.Get(t.Context(), &session.GetRequest{Key: s.Key})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range resp.Session.Events {
			e.RecordedAt = time.Time{}
		}
		all = append(all, record{s.Key, resp.Session.CreatedAt, resp.Session.State, resp.Session.Events})
	}
	slices.SortFunc(all, func(a, b record) int { return cmp.Compare(a.Key.String(), b.Key.String()) })
	return all
}

func memory() session.Service { return inmemory.New() }
