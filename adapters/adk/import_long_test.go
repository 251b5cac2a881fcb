package adk_test

import (
	"fmt"
	"testing"

	"github.com/hansardlog/hansard/session"
)

// A log longer than what is listed at a time, and after it as many events of a
// session that does not exist.
func TestImportLongLogs(t *testing.T) {
	t.Parallel()
	onSources(t, func(t *testing.T, src *sourceDB) {
		const long, orphans, some = 20_100, 20_200, 300
		for _, id := range []string{"a long", "b gone", "c short", "d some", "e short"} {
			src.write(t, keyOf(id), nil, timed(" first", at(-1), nil))
		}
		if src.kind == "postgres" {
			if err := src.db.Exec(`ALTER TABLE events DROP CONSTRAINT fk_sessions_events`).Error; err != nil {
				t.Fatal(err)
			}
		}
		src.exec(t, `DELETE FROM sessions WHERE id = 'b gone'`)
		for id, n := range map[string]int{"a long": long, "b gone": orphans, "d some": some} {
			src.exec(t, `INSERT INTO events (id, app_name, user_id, session_id, author, timestamp, actions)
				WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?)
				SELECT CAST(n + 100000 AS text), 'app', 'ana', ?, 'ben', ?, ? FROM numbers`, n-1, id, at(0), []byte(`{}`))
		}
		dst := memory()
		rep := mustImport(t, src, dst)
		if rep.Created != 4 || rep.Events != long+some+2 || rep.Orphans != orphans || rep.Ties != long+some-4 {
			t.Errorf("report = %+v", rep)
		}
		check := func(id string) {
			t.Helper()
			for i, got := range eventIDs(t, dst, keyOf(id)) {
				want := " first"
				if i > 0 {
					want = fmt.Sprint(i + 100_000)
				}
				if got != want {
					t.Fatalf("event %d of %q is %q, want %q", i+1, id, got, want)
				}
			}
		}
		check("a long")
		check("d some")

		// What is there already is left out, however long it is.
		for _, id := range []string{"c short", "d some"} {
			if err := dst.Delete(t.Context(), &session.DeleteRequest{Key: keyOf(id)}); err != nil {
				t.Fatal(err)
			}
		}
		if rep := mustImport(t, src, dst); rep.Skipped != 2 || rep.Created != 2 || rep.Events != some+1 {
			t.Errorf("report of the second import = %+v", rep)
		}
		check("d some")
	})
}
