package database_test

import (
	"regexp"
	"strings"
	"testing"
)

// On SQLite every table is searched by a key, without statistics, as databases
// are where nobody runs ANALYZE, and with them.
func TestPlansOnSQLite(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		if b.postgres() {
			return // TestPlansOnPostgres
		}
		r := newRig(t, b)
		conn := r.conn(t)
		look := func(t *testing.T, sent []statement) {
			for _, s := range distinct(sent) {
				plan := queryLines(t, conn, "EXPLAIN QUERY PLAN "+s.sql, s.args...)
				for _, fault := range sqliteFaults(s.sql, plan) {
					t.Errorf("%s in\n%s\n%s", fault, s.sql, plan)
				}
			}
		}
		var all []statement
		size := planSizes{big: 500, others: 500, each: 2, users: 50, guests: 50}
		r.eachPlanned(t, size, func(t *testing.T, _ planned, sent []statement) {
			look(t, sent)
			all = append(all, sent...)
		})
		t.Run("analyzed", func(t *testing.T) {
			do(t, conn, "ANALYZE")
			look(t, all)
		})
	})
}

var (
	scan = regexp.MustCompile(`SCAN (\S+)`)
	// What may be scanned are the rows that a statement brings along.
	broughtAlong = regexp.MustCompile(`SCAN (k|CONSTANT ROW|\d+ CONSTANT ROWS|\d+-ROW VALUES CLAUSE)$`)
	byID         = regexp.MustCompile(`\b(c\.)?id (=|IN)`)
)

// sqliteFaults returns what is wrong with a plan.
func sqliteFaults(statement, plan string) (faults []string) {
	for line := range strings.Lines(plan) {
		if line = strings.TrimSpace(line); scan.MatchString(line) && !broughtAlong.MatchString(line) {
			faults = append(faults, "a table is read from end to end: "+line)
		}
	}
	if byID.MatchString(statement) && strings.Contains(plan, "hansard_conversations_owner") {
		faults = append(faults, "conversations of known IDs are looked for among all of the owner or app")
	}
	if strings.Contains(statement, " m.member = ?") && !strings.HasPrefix(plan, "SEARCH m USING INDEX hansard_membership_periods_member") {
		faults = append(faults, "the sessions of a member are looked for among all of the app")
	}
	return faults
}
