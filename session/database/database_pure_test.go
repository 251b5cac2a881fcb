//go:build !race

package database_test

import (
	"testing"

	puresqlite "github.com/glebarez/sqlite"
	"gorm.io/gorm"

	"github.com/hansardlog/hansard/internal/dbtest"
)

// pureBackends need no C compiler.
func pureBackends() []backend {
	return []backend{{"sqlite-pure", func(t testing.TB) gorm.Dialector {
		return puresqlite.Open(dbtest.PureSQLiteDSN(dbtest.SQLite(t)))
	}, nil}}
}
