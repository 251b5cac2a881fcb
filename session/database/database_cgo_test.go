//go:build cgo

package database_test

import (
	"testing"

	"gorm.io/driver/sqlite"
	"gorm.io/gorm"

	"github.com/hansardlog/hansard/internal/dbtest"
	"github.com/hansardlog/hansard/session/database"
)

// cgoBackends need a C compiler. The second one takes the write lock for every
// transaction of the driver, which reads must not.
func cgoBackends() []backend {
	return []backend{
		{"sqlite", func(t testing.TB) gorm.Dialector {
			return sqlite.Open(dbtest.SQLiteDSN(dbtest.SQLite(t)))
		}, nil},
		{"sqlite-immediate", func(t testing.TB) gorm.Dialector {
			return sqlite.Open(dbtest.SQLiteDSN(dbtest.SQLite(t), "_txlock=immediate"))
		}, []database.Option{database.WithCombining(1)}},
	}
}
