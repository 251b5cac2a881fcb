package database_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/hansardlog/hansard/session"
	"github.com/hansardlog/hansard/session/database"
)

func deletion(id string) *session.DeleteRequest {
	return &session.DeleteRequest{Key: session.Key{AppName: "app", UserID: "olga", SessionID: id}}
}

func TestPrefixRefused(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		db, err := gorm.Open(b.dial(t), &gorm.Config{Logger: logger.Discard})
		must(t, err)
		pool, err := db.DB()
		must(t, err)
		defer pool.Close()
		refused := []string{"Hansard_", "a-b", "a b", "1a", "a.b.c", ".a", "a;b", "é_", `a"b`, "a'b", "a\x00", strings.Repeat("a", 33),
			strings.Repeat("a", 64) + ".b", "A.b", "a b.c"}
		if !b.postgres() {
			refused = append(refused, "agents.hansard_")
		}
		for _, prefix := range refused {
			if _, err := database.New(db, database.WithTablePrefix(prefix)); err == nil || !strings.Contains(err.Error(), "prefix") {
				t.Errorf("prefix %q: error %v, want one about the prefix", prefix, err)
			}
		}
	})
}

// TestPrefixesShareNothing migrates prefixes at once in one database and lets
// the same keys live in each.
func TestPrefixesShareNothing(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		d := b.dial(t)
		prefixes := []string{"hansard_", "", "h", "hansard_events_", "_x", strings.Repeat("p", 32)}
		wantApart(t, d, prefixes)
	})
}

// TestPostgresSchemas: a prefix may name a schema, which Migrate makes and which
// need not be in the search path.
func TestPostgresSchemas(t *testing.T) {
	b := onBackend(t, "postgres")
	d, _, plain := faulty(t, b)
	var prefixes []string
	for i := range 2 {
		schema := fmt.Sprintf("agents%d_%d", i, time.Now().UnixNano())
		t.Cleanup(func() {
			if _, err := plain.ExecContext(context.WithoutCancel(t.Context()), "DROP SCHEMA IF EXISTS "+schema+" CASCADE"); err != nil {
				t.Error(err)
			}
		})
		prefixes = append(prefixes, schema+".hansard_", schema+".")
	}
	wantApart(t, d, append(prefixes, "hansard_"))
	for _, prefix := range prefixes {
		schema, rest, _ := strings.Cut(prefix, ".")
		n := mustCount(t, plain, fmt.Sprintf("SELECT count(*) FROM pg_tables WHERE schemaname = '%s' AND tablename = '%sevents'", schema, rest))
		if n != 1 {
			t.Errorf("no table %sevents", prefix)
		}
	}
	// By hand as well.
	schema := fmt.Sprintf("agents_by_hand_%d", time.Now().UnixNano())
	mustRun(t, plain, got(database.Schema("postgres", database.WithTablePrefix(schema+".hansard_")))(t))
	t.Cleanup(func() {
		if _, err := plain.ExecContext(context.WithoutCancel(t.Context()), "DROP SCHEMA "+schema+" CASCADE"); err != nil {
			t.Error(err)
		}
	})
	wantWorking(t, openDialector(t, sameDatabase(d), database.WithTablePrefix(schema+".hansard_")), "by hand")
}

// wantApart checks that services with different prefixes in one database, all
// migrated and used at once, share not one row.
func wantApart(t *testing.T, d gorm.Dialector, prefixes []string) {
	t.Helper()
	services := make([]*database.Service, 2*len(prefixes)) // two processes of each
	for i := range services {
		services[i] = opened(t, sameDatabase(d), database.WithTablePrefix(prefixes[i%len(prefixes)]))
	}
	atOnce(len(services), func(i int) {
		if err := services[i].Migrate(t.Context()); err != nil {
			t.Errorf("migrate %q: %v", prefixes[i%len(prefixes)], err)
		}
	})
	services = services[:len(prefixes)]
	for i, svc := range services {
		if list := got(svc.List(t.Context(), &session.ListRequest{AppName: "app"}))(t).Sessions; len(list) != 0 {
			t.Errorf("%q sees %d sessions of another prefix", prefixes[i], len(list))
		}
		if state := got(svc.GetState(t.Context(), &session.GetStateRequest{AppName: "app", UserID: "olga"}))(t).State; len(state) != 0 {
			t.Errorf("%q sees state %v of another prefix", prefixes[i], state)
		}
		wantWorking(t, svc, "s1")
		got(svc.UpdateState(t.Context(), &session.UpdateStateRequest{AppName: "app", UserID: "olga", Delta: session.State{"app:k": i, "user:k": i}}))(t)
	}
	for i, svc := range services {
		must(t, svc.Delete(t.Context(), deletion("s1")))
		_, err := svc.Get(t.Context(), &session.GetRequest{Key: deletion("s1").Key})
		if !errors.Is(err, session.ErrNotFound) {
			t.Errorf("%q after delete: error %v, want ErrNotFound", prefixes[i], err)
		}
		for j, other := range services[i+1:] {
			s, err := other.Get(t.Context(), &session.GetRequest{Key: deletion("s1").Key})
			if err != nil || s.Session.HeadSeq != 2 {
				t.Errorf("%q after the deletion in %q: %v", prefixes[i+1+j], prefixes[i], err)
			}
		}
		state := got(svc.GetState(t.Context(), &session.GetStateRequest{AppName: "app", UserID: "olga"}))(t).State
		for _, key := range []string{"app:k", "user:k"} {
			if v, err := session.Get[int](state, key); err != nil || v != i {
				t.Errorf("%q: %s is %d, %v, want %d", prefixes[i], key, v, err, i)
			}
		}
		for err := range svc.Check(t.Context()) {
			t.Errorf("%q: check: %v", prefixes[i], err)
		}
	}
}
