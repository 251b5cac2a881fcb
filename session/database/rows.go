package database

import "strings"

// row returns a parenthesized list of n parameters.
func row(n int) string { return "(" + placeholders(n, "?") + ")" }

// placeholders repeats one placeholder n times, comma separated.
func placeholders(n int, one string) string {
	return strings.TrimSuffix(strings.Repeat(one+", ", n), ", ")
}
