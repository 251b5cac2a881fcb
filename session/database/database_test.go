package database_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/hansardlog/hansard/internal/dbtest"
	"github.com/hansardlog/hansard/session"
	"github.com/hansardlog/hansard/session/database"
	"github.com/hansardlog/hansard/session/database/pgdirect"
	"github.com/hansardlog/hansard/session/sessiontest"
)

func TestMain(m *testing.M) { os.Exit(dbtest.Main(m)) }

// backend is one way to reach a database. Every test of a guarantee runs on
// each of backends.
type backend struct {
	name string
	dial func(t testing.TB) gorm.Dialector // a fresh, empty database
	opts []database.Option
}

// Appends are combined but on two of them: there every append takes the lock,
// also within one process.
func backends() []backend {
	dial := func(t testing.TB) gorm.Dialector { return postgres.Open(dbtest.Postgres(t)) }
	direct := database.WithDirect(pgdirect.New())
	return slices.Concat([]backend{
		{"postgres", dial, nil},
		{"postgres-direct", dial, []database.Option{direct, database.WithCombining(1)}},
	}, pureBackends(), cgoBackends())
}

func (b backend) postgres() bool { return strings.HasPrefix(b.name, "postgres") }

// each runs a test on every backend.
func each(t *testing.T, test func(t *testing.T, b backend)) {
	for _, b := range backends() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			test(t, b)
		})
	}
}

// open returns a migrated service on a fresh database.
func open(t testing.TB, b backend, opts ...database.Option) *database.Service {
	return openDialector(t, b.dial(t), slices.Concat(b.opts, opts)...)
}

func openDialector(t testing.TB, d gorm.Dialector, opts ...database.Option) *database.Service {
	t.Helper()
	svc, err := database.Open(d, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := svc.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := svc.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return svc
}

// checked is open, and at the end of the test every guarantee must hold.
func checked(t testing.TB, b backend, opts ...database.Option) *database.Service {
	svc := open(t, b, opts...)
	t.Cleanup(func() {
		for err := range svc.Check(context.WithoutCancel(t.Context())) {
			t.Errorf("check: %v", err)
		}
	})
	return svc
}

func TestConformance(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		sessiontest.Run(t, sessiontest.Config{
			New: func(t *testing.T) session.Service { return checked(t, b) },
			NewWith: func(t *testing.T, o sessiontest.Options) session.Service {
				return checked(t, b, optionsOf(o)...)
			},
		})
	})
}

func optionsOf(o sessiontest.Options) []database.Option {
	var opts []database.Option
	if o.Clock != nil {
		opts = append(opts, database.WithClock(o.Clock))
	}
	if o.IDs != nil {
		opts = append(opts, database.WithIDs(o.IDs))
	}
	if o.MaxPayload != 0 {
		opts = append(opts, database.WithMaxPayload(o.MaxPayload))
	}
	return opts
}
