package database_test

import (
	"database/sql"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// refusedPlans are what no plan on PostgreSQL may have in it.
var refusedPlans = []struct {
	what string
	plan *regexp.Regexp
}{
	{"a table is read from end to end", regexp.MustCompile(`Seq Scan on hansard_`)},
	{"a conversation is looked for among all of its owner", regexp.MustCompile(`hansard_conversations_owner on .*\n.*Index Cond.*\n\s*Filter: \(id = `)},
	{"conversations of known IDs are looked for among all of the app", regexp.MustCompile(`BitmapAnd`)},
	{"all members are looked at for the author", regexp.MustCompile(`Filter: \(member = ANY`)},
	{"every row of a log is compared with every row of a batch", regexp.MustCompile(`Join Filter: .*(author|idempotency_key|conversation_id)`)},
}

// Neither the plan for the values at hand nor the one that a prepared statement
// settles on may be bad: after some executions the server chooses between them.
func TestPlansOnPostgres(t *testing.T) {
	t.Parallel()
	r := newRig(t, backends()[0])
	size := planSizes{big: fewer(200_000, 20_000), others: fewer(20_000, 4_000), each: 5, users: 2_000, guests: 1_000}
	conn := r.conn(t)
	r.eachPlanned(t, size, func(t *testing.T, p planned, sent []statement) {
		for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
			do(t, conn, "SET plan_cache_mode = "+mode)
			var all strings.Builder
			for _, s := range distinct(sent) {
				plan := explain(t, conn, s)
				all.WriteString(plan)
				for _, refused := range refusedPlans {
					if refused.plan.MatchString(plan) {
						t.Errorf("%s: %s in\n%s\n%s", mode, refused.what, s.sql, plan)
					}
				}
			}
			if !regexp.MustCompile(p.want).MatchString(all.String()) {
				t.Errorf("%s: no %q in the plans\n%s", mode, p.want, all.String())
			}
		}
	})
}

// explain returns the plan of a statement as the server makes it under the
// current plan_cache_mode.
func explain(t *testing.T, conn *sql.Conn, s statement) string {
	t.Helper()
	do(t, conn, "PREPARE planned AS "+s.sql)
	defer do(t, conn, "DEALLOCATE planned")
	var values []string
	for _, arg := range s.args {
		values = append(values, sqlLiteral(arg))
	}
	execute := "EXECUTE planned"
	if len(values) > 0 {
		execute += " (" + strings.Join(values, ", ") + ")"
	}
	return queryLines(t, conn, "EXPLAIN (COSTS OFF) "+execute)
}

// sqlLiteral writes a bound value, of which the server infers the type.
func sqlLiteral(v any) string {
	if v == nil {
		return "NULL"
	}
	return "'" + strings.ReplaceAll(fmt.Sprint(v), "'", "''") + "'"
}
