package database

import "strings"

// maxParameters bounds the parameters of one statement, far below SQLite's own
// 32,766: a statement costs no round trip here, while preparing and binding a
// long one costs more by the row (a pure-Go driver binds in quadratic time).
const maxParameters = 1000

// row returns a parenthesized list of n parameters.
func row(n int) string { return "(" + placeholders(n, "?") + ")" }

// placeholders repeats one placeholder n times, comma separated.
func placeholders(n int, one string) string {
	return strings.TrimSuffix(strings.Repeat(one+", ", n), ", ")
}
