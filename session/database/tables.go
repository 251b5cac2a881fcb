package database

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// defaultPrefix lets the tables of other libraries live in the same database.
const defaultPrefix = "hansard_"

// maxPrefixBytes keeps the longest index name within PostgreSQL's 63 bytes.
const maxPrefixBytes = 32

// identifier is what a prefix or schema may be: lower case only, since SQLite
// takes Events and events for one table, and needing no quotes.
var identifier = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)

// tableNames in the order in which the migration makes them.
var tableNames = []string{
	"conversations", "events", "membership_periods", "state_checkpoints",
	"session_states", "app_states", "user_states", "discarded_logs",
}

// tables computes names from the prefix, once. GORM's naming strategy plays no
// part: a copied gorm.Config shares its schema cache, and two prefixes in one
// process would then write to one table.
type tables struct {
	schema   string // PostgreSQL schema, empty for the connection's own
	prefix   string
	replacer *strings.Replacer
	cache    *sync.Map // constant statements with their names filled in
}

func newTables(prefix string) (tables, error) {
	t := tables{prefix: prefix, cache: &sync.Map{}}
	if schema, rest, ok := strings.Cut(prefix, "."); ok {
		t.schema, t.prefix = schema, rest
		if !identifier.MatchString(schema) || len(schema) > 63 {
			return tables{}, fmt.Errorf("database: table prefix %q: schema is not a lower-case identifier of at most 63 bytes", prefix)
		}
	}
	if t.prefix != "" && !identifier.MatchString(t.prefix) || len(t.prefix) > maxPrefixBytes {
		return tables{}, fmt.Errorf("database: table prefix %q: not lower-case letters, digits and _ of at most %d bytes", prefix, maxPrefixBytes)
	}
	pairs := []string{"{schema}", t.schemaDot(), "{prefix}", t.prefix, "{migrations}", t.name("migrations")}
	for _, name := range tableNames {
		pairs = append(pairs, "{"+name+"}", t.name(name))
	}
	t.replacer = strings.NewReplacer(pairs...)
	return t, nil
}

func (t tables) schemaDot() string {
	if t.schema == "" {
		return ""
	}
	return `"` + t.schema + `".`
}

// name returns a table's full name, ready for SQL.
func (t tables) name(table string) string { return t.schemaDot() + t.prefix + table }

// gormName returns a table's full name as GORM takes it: without quotes.
func (t tables) gormName(table string) string {
	if t.schema == "" {
		return t.prefix + table
	}
	return t.schema + "." + t.prefix + table
}

// sql fills the table names into a constant statement.
func (t tables) sql(statement string) string {
	return t.text(statement, func() string { return statement })
}

// text is sql for a statement that is known by a name and made when it is first
// needed.
func (t tables) text(name any, statement func() string) string {
	if s, ok := t.cache.Load(name); ok {
		return s.(string)
	}
	// Layout is for the reader of the source: GORM walks through it byte by byte.
	s := strings.Join(strings.Fields(t.replacer.Replace(statement())), " ")
	t.cache.Store(name, s)
	return s
}
