package model_test

import (
	"testing"

	"gorm.io/gorm"
)

var postgresCatalog = catalog{
	types: typesOf("uuid", "bigint", "text C", "bytea"),
	tables: func(t *testing.T, db *gorm.DB) []string {
		return query[string](t, db, `SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema() ORDER BY table_name COLLATE "C"`)
	},
	read: func(t *testing.T, db *gorm.DB, name string) (tab table) {
		for _, c := range query[describedColumn](t, db, `SELECT column_name AS name, is_nullable = 'NO' AS not_null,
				data_type || coalesce(' ' || collation_name, '') AS type
			FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = ?`, name) {
			tab.columns = append(tab.columns, c.column())
		}
		const columns = `(SELECT string_agg(a.attname, ',' ORDER BY k.place)
			FROM unnest(i.indkey) WITH ORDINALITY AS k(number, place)
			JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.number) AS columns`
		for _, i := range query[described](t, db, `SELECT `+columns+` FROM pg_index i WHERE i.indrelid = to_regclass(?) AND i.indisprimary`, name) {
			tab.key = i.index().columns
		}
		for _, i := range query[described](t, db, `SELECT c.relname AS name, i.indisunique AS "unique",
				coalesce(pg_get_expr(i.indpred, i.indrelid), '') AS predicate, `+columns+`
			FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
			WHERE i.indrelid = to_regclass(?) AND NOT i.indisprimary`, name) {
			tab.indexes = append(tab.indexes, i.index())
		}
		return tab.sorted()
	},
}

var sqliteCatalog = catalog{
	types: typesOf("BLOB", "INTEGER", "TEXT", "BLOB"),
	tables: func(t *testing.T, db *gorm.DB) []string {
		return query[string](t, db, `SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name`)
	},
	read: func(t *testing.T, db *gorm.DB, name string) (tab table) {
		for _, c := range query[describedColumn](t, db, `SELECT name, type, "notnull" AS not_null FROM pragma_table_info(?)`, name) {
			tab.columns = append(tab.columns, c.column())
		}
		tab.key = query[string](t, db, `SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk`, name)
		for _, i := range query[described](t, db, `SELECT l.name, l."unique",
				(SELECT group_concat(name, ',') FROM (SELECT name FROM pragma_index_info(l.name) ORDER BY seqno)) AS columns,
				CASE l.partial WHEN 1 THEN substr(m.sql, instr(m.sql, 'WHERE ') + 6) ELSE '' END AS predicate
			FROM pragma_index_list(?) l JOIN sqlite_master m ON m.name = l.name WHERE l.origin = 'c'`, name) {
			tab.indexes = append(tab.indexes, i.index())
		}
		return tab.sorted()
	},
}
