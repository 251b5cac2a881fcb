package adk_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	adksession "google.golang.org/adk/v2/session"

	"github.com/hansardlog/hansard/adapters/adk"
	"github.com/hansardlog/hansard/session"
)

// eventIDs returns the IDs of a session's events by their sequence, and asks
// that the sequence has no gap.
func eventIDs(t *testing.T, dst session.Service, k session.Key) []string {
	t.Helper()
	resp, err := dst.Get(t.Context(), &session.GetRequest{Key: k})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for i, e := range resp.Session.Events {
		if e.Seq != int64(i+1) {
			t.Errorf("event %s has sequence %d, want %d", e.ID, e.Seq, i+1)
		}
		ids = append(ids, e.ID)
	}
	return ids
}

// Events are numbered by the instant, in whatever zone and with however many
// digits it was written. On SQLite it is text.
func TestImportOrder(t *testing.T) {
	t.Parallel()
	east, west := time.FixedZone("", 14*3600), time.FixedZone("", -9*3600-30*60)
	base := time.Date(2024, 10, 27, 0, 0, 0, 0, time.UTC)
	instants := []struct {
		id string
		at time.Time
	}{
		{"01 zero", time.Time{}},
		{"02 old", time.Date(1901, 2, 3, 4, 5, 6, 789000, time.UTC)},
		{"03 before 1970", time.Date(1969, 12, 31, 23, 59, 59, 999999000, west)},
		{"04", base.Add(-time.Microsecond)},
		{"05", base.In(west)},
		{"06", base.Add(time.Microsecond).In(east)},
		{"07", base.Add(10 * time.Microsecond)},
		{"08", base.Add(500 * time.Millisecond).In(west)},
		{"09", base.Add(520 * time.Millisecond).In(east)},
		{"10 rounds up", base.Add(999600 * time.Microsecond)},
		{"11", base.Add(time.Second)},
		{"12", base.Add(time.Second + 999999*time.Microsecond).In(east)},
		{"13", base.Add(30 * time.Minute).In(west)},
		{"14", base.Add(time.Hour)},
		{"15 far", time.Date(2500, 1, 1, 0, 0, 0, 0, time.UTC)},
		{"16 last", time.Date(9999, 12, 31, 9, 59, 59, 999999000, time.UTC)},
	}
	var events []*adksession.Event
	var want []string
	for i, instant := range instants {
		events = append(events, timed(instant.id, instant.at, nil))
		want = append(want, instant.id)
		if i%5 == 0 { // the same instant in another zone, and a smaller ID
			events = append(events, timed("0"+instant.id, instant.at.In(east), nil))
			want = slices.Insert(want, len(want)-1, "0"+instant.id)
		}
	}
	slices.Reverse(events)
	onSources(t, func(t *testing.T, src *sourceDB) {
		src.write(t, keyOf("s"), nil, events...)
		dst := memory()
		rep := mustImport(t, src, dst, adk.WithPageSize(1, 3))
		if got := eventIDs(t, dst, keyOf("s")); !slices.Equal(got, want) {
			t.Errorf("order = %q\nwant    %q", got, want)
		}
		if rep.Ties != 4 || len(rep.TieExamples) != 1 || rep.TieExamples[0].Events != 4 {
			t.Errorf("ties = %d, %v, want 4", rep.Ties, rep.TieExamples)
		}
		sameEvents(t, src, dst, keyOf("s"))
	})
}

// What a driver of SQLite cannot parse as a time is either read or refused.
func TestImportReadsTimesOfSQLite(t *testing.T) {
	t.Parallel()
	src := newSource(t, "sqlite")
	want := time.Date(2025, 3, 4, 5, 6, 7, 0, time.UTC)
	read := map[string]time.Time{
		"2025-03-04 05:06:07":                  want,
		"2025-03-04T05:06:07z":                 want,
		"2025-03-04T05:06:07.5Z":               want.Add(500 * time.Millisecond),
		"2025-03-04 06:06:07.000001 +01:00":    want.Add(time.Microsecond),
		"2025-03-04 04:36:07.123456789-00:30":  want.Add(123456 * time.Microsecond),
		"1969-12-31 23:59:59.999999+00:00":     time.UnixMicro(-1),
		"9999-12-31 23:59:59.9999999999+00:00": time.Date(9999, 12, 31, 23, 59, 59, 999999000, time.UTC),
	}
	refused := []string{"now", "05:06:07", "2460738.7", "2025-03-04 05:06:07 +0000 UTC", "2025-13-04 05:06:07", "2025-03-04", ""}
	conflicts := map[string]conflict{}
	for _, text := range slices.Concat(slices.Collect(maps.Keys(read)), refused) {
		id := fmt.Sprintf("%q", text)
		src.write(t, keyOf(id), nil, timed(id, at(1), nil))
		src.exec(t, `UPDATE events SET timestamp = ? WHERE id = ?`, text, id)
		if _, ok := read[text]; !ok {
			conflicts[id] = conflict{adk.ErrUnreadable, "timestamp and id of 1 events: not a time", 0}
			continue
		}
		src.exec(t, `UPDATE sessions SET create_time = ? WHERE id = ?`, text, id)
	}
	dst := memory()
	wantConflicts(t, src, dst, conflicts)
	for text, at := range read {
		resp, err := dst.Get(t.Context(), &session.GetRequest{Key: keyOf(fmt.Sprintf("%q", text))})
		if err != nil {
			t.Fatal(err)
		}
		if s := resp.Session; !s.CreatedAt.Equal(at) || !s.Events[0].Timestamp.Equal(at) {
			t.Errorf("%q: created %v, event %v, want %v", text, s.CreatedAt, s.Events[0].Timestamp, at)
		}
	}
}

// IDs of equal timestamps are compared by their bytes, whatever language the
// database sorts by.
func TestImportBreaksTiesByBytes(t *testing.T) {
	t.Parallel()
	onSources(t, func(t *testing.T, src *sourceDB) {
		src.write(t, keyOf("s"), nil, timed("é", at(0), nil), timed("b", at(0), nil), timed("Z", at(0), nil), timed("a", at(0), nil), timed("_", at(0), nil))
		dst := memory()
		mustImport(t, src, dst, adk.WithPageSize(1, 2))
		if got, want := eventIDs(t, dst, keyOf("s")), []string{"Z", "_", "a", "b", "é"}; !slices.Equal(got, want) {
			t.Errorf("order = %q, want %q", got, want)
		}
	})
}

// Small pages give what large ones give: nothing is lost or doubled where one
// page ends and the next begins.
func TestImportPages(t *testing.T) {
	t.Parallel()
	onSources(t, func(t *testing.T, src *sourceDB) {
		for n := range 13 {
			var events []*adksession.Event
			for i := range n % 6 {
				events = append(events, timed(fmt.Sprintf("e%d", i), at(i/2), map[string]any{"n": i, fmt.Sprintf("user:u%d", n): i}))
			}
			k := session.Key{AppName: fmt.Sprintf("app%d", n%2), UserID: fmt.Sprintf("user %d", n%3), SessionID: fmt.Sprintf("s%d", n)}
			src.write(t, k, nil, events...)
		}
		whole := memory()
		want := mustImport(t, src, whole)
		if want.Sessions != 13 || want.Events != 30 {
			t.Fatalf("report = %+v", want)
		}
		for _, size := range [][2]int{{1, 1}, {2, 2}, {3, 5}, {13, 4}, {14, 1000}} {
			dst := memory()
			rep := mustImport(t, src, dst, adk.WithPageSize(size[0], size[1]))
			if d := difference(want, rep); d != "" {
				t.Errorf("report with pages of %v:\n%s", size, d)
			}
			for _, app := range []string{"app0", "app1"} {
				if d := difference(records(t, whole, app), records(t, dst, app)); d != "" {
					t.Errorf("pages of %v:\n%s", size, d)
				}
			}
		}
	})
}

func TestImportOneApp(t *testing.T) {
	t.Parallel()
	onSources(t, func(t *testing.T, src *sourceDB) {
		writeWorld(t, src)
		dst := memory()
		var last adk.Progress
		rep := mustImport(t, src, dst, adk.WithAppName("other"), adk.WithProgress(func(p adk.Progress) { last = p }))
		if rep.Sessions != 1 || rep.Events != 3 || rep.AppKeys != 2 || rep.UserKeys != 5 {
			t.Errorf("report = %+v", rep)
		}
		if want := (adk.Progress{Sessions: 1, TotalSessions: 1, Events: 3, TotalEvents: 3}); last != want {
			t.Errorf("progress ended with %+v, want %+v", last, want)
		}
		if got := records(t, dst, "app"); len(got) != 0 {
			t.Errorf("the other app has %d sessions", len(got))
		}
	})
}
