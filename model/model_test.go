package model_test

import (
	"cmp"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	puresqlite "github.com/glebarez/sqlite"
	"github.com/google/uuid"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
	"gorm.io/gorm/schema"

	"github.com/hansardlog/hansard/internal/dbtest"
	"github.com/hansardlog/hansard/model"
	"github.com/hansardlog/hansard/session/database"
)

func TestMain(m *testing.M) { os.Exit(dbtest.Main(m)) }

// rows are the structs by the table that each stands for.
var rows = map[string]any{
	"conversations":      model.Conversation{},
	"events":             model.Event{},
	"membership_periods": model.MembershipPeriod{},
	"state_checkpoints":  model.StateCheckpoint{},
	"session_states":     model.SessionState{},
	"app_states":         model.AppState{},
	"user_states":        model.UserState{},
	"discarded_logs":     model.DiscardedLog{},
}

// table is what tags and migrations must agree on, without the prefix.
type table struct {
	columns []column // by name
	key     []string // primary key, in order
	indexes []index  // by name
}

type column struct {
	name, sqlType string
	notNull       bool
}

type index struct {
	name    string
	unique  bool
	columns []string
	where   string
}

// catalog reads tables from a database's own description of them.
type catalog struct {
	types  map[reflect.Type]string // by Go type of the field
	tables func(t *testing.T, db *gorm.DB) []string
	read   func(t *testing.T, db *gorm.DB, name string) table
}

// eachDialect runs a test on a migrated database of each dialect.
func eachDialect(t *testing.T, test func(t *testing.T, db *gorm.DB, svc *database.Service, c catalog)) {
	for name, d := range map[string]struct {
		dial func(t *testing.T) gorm.Dialector
		catalog
	}{
		"postgres": {func(t *testing.T) gorm.Dialector { return postgres.Open(dbtest.Postgres(t)) }, postgresCatalog},
		"sqlite":   {func(t *testing.T) gorm.Dialector { return puresqlite.Open(dbtest.PureSQLiteDSN(dbtest.SQLite(t))) }, sqliteCatalog},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, err := gorm.Open(d.dial(t), &gorm.Config{Logger: logger.Discard})
			if err != nil {
				t.Fatal(err)
			}
			pool, err := db.DB()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := pool.Close(); err != nil {
					t.Error(err)
				}
			})
			svc, err := database.New(db)
			if err == nil {
				err = svc.Migrate(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
			test(t, db.WithContext(t.Context()), svc, d.catalog)
		})
	}
}

// The migrations are written by hand for each dialect, the tags once: this is
// what keeps the two the same.
func TestTagsMatchMigrations(t *testing.T) {
	eachDialect(t, func(t *testing.T, db *gorm.DB, _ *database.Service, c catalog) {
		want := []string{"hansard_migrations"}
		for name, row := range rows {
			want = append(want, "hansard_"+name)
			tagged, stored := fromTags(t, row, c.types), c.read(t, db, "hansard_"+name)
			if !slices.Equal(tagged.columns, stored.columns) {
				t.Errorf("columns of %s are by the tags\n%+v\nand in the database\n%+v", name, tagged.columns, stored.columns)
			}
			if !slices.Equal(tagged.key, stored.key) {
				t.Errorf("the primary key of %s is by the tags %v and in the database %v", name, tagged.key, stored.key)
			}
			if !reflect.DeepEqual(tagged.indexes, stored.indexes) {
				t.Errorf("indexes of %s are by the tags\n%+v\nand in the database\n%+v", name, tagged.indexes, stored.indexes)
			}
		}
		slices.Sort(want)
		if names := c.tables(t, db); !slices.Equal(names, want) {
			t.Errorf("the migrations make %v, the model has %v", names, want)
		}
	})
}

// fromTags reads a struct as GORM does.
func fromTags(t *testing.T, row any, types map[reflect.Type]string) table {
	t.Helper()
	s, err := schema.Parse(row, &sync.Map{}, schema.NamingStrategy{})
	if err != nil {
		t.Fatal(err)
	}
	var tab table
	for _, f := range s.Fields {
		tab.columns = append(tab.columns, column{f.DBName, types[f.FieldType], f.NotNull || f.PrimaryKey})
	}
	for _, f := range s.PrimaryFields {
		tab.key = append(tab.key, f.DBName)
	}
	for _, idx := range s.ParseIndexes() {
		i := index{name: "hansard_" + idx.Name, unique: idx.Class == "UNIQUE", where: idx.Where}
		for _, f := range idx.Fields {
			i.columns = append(i.columns, f.DBName)
		}
		tab.indexes = append(tab.indexes, i)
	}
	return tab.sorted()
}

func (tab table) sorted() table {
	slices.SortFunc(tab.columns, func(a, b column) int { return cmp.Compare(a.name, b.name) })
	slices.SortFunc(tab.indexes, func(a, b index) int { return cmp.Compare(a.name, b.name) })
	return tab
}

// typesOf maps the Go types of the model to those of a dialect.
func typesOf(id, integer, text, bytes string) map[reflect.Type]string {
	return map[reflect.Type]string{
		reflect.TypeFor[uuid.UUID]():  id,
		reflect.TypeFor[int64]():      integer,
		reflect.TypeFor[*int64]():     integer,
		reflect.TypeFor[string]():     text,
		reflect.TypeFor[*string]():    text,
		reflect.TypeFor[model.JSON](): text,
		reflect.TypeFor[[]byte]():     bytes,
	}
}

// query reads rows of a known shape.
func query[T any](t *testing.T, db *gorm.DB, sql string, args ...any) []T {
	t.Helper()
	var found []T
	if err := db.Raw(sql, args...).Scan(&found).Error; err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return found
}

// described is an index as the catalogs describe it; Columns are joined.
type described struct {
	Name, Columns, Predicate string
	Unique                   bool
}

func (d described) index() index {
	return index{name: d.Name, unique: d.Unique, columns: strings.Split(d.Columns, ","), where: strings.Trim(d.Predicate, "() \n\t")}
}

type describedColumn struct {
	Name, Type string
	NotNull    bool
}

func (d describedColumn) column() column { return column{d.Name, d.Type, d.NotNull} }

func (c column) String() string {
	return fmt.Sprintf("%s %s (not null: %v)", c.name, c.sqlType, c.notNull)
}
