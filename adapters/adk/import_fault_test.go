package adk_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	adksession "google.golang.org/adk/v2/session"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/hansardlog/hansard/adapters/adk"
	"github.com/hansardlog/hansard/internal/dbtest"
	"github.com/hansardlog/hansard/session"
)

// watched is a destination that a test looks over the shoulder of.
type watched struct {
	session.Service
	before func(*session.AppendEventsRequest) error // called before an append
}

func (w watched) AppendEvents(ctx context.Context, req *session.AppendEventsRequest) (*session.AppendEventsResponse, error) {
	if err := w.before(req); err != nil {
		return nil, err
	}
	return w.Service.AppendEvents(ctx, req)
}

// mysql is SQLite under another name.
type mysql struct{ gorm.Dialector }

func (mysql) Name() string { return "mysql" }

func TestImportRefusesArguments(t *testing.T) {
	t.Parallel()
	src := newSource(t, "sqlite")
	other, err := gorm.Open(mysql{sqlite.Open(dbtest.SQLiteDSN(dbtest.SQLite(t)))}, &gorm.Config{Logger: logger.Discard})
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		src  *gorm.DB
		dst  session.Service
		opt  adk.ImportOption
		text string
	}{
		"source":        {nil, memory(), adk.WithAppName(""), "src: nil"},
		"destination":   {src.db, nil, adk.WithAppName(""), "dst: nil"},
		"dialect":       {other, memory(), adk.WithAppName(""), "a mysql database; postgres and sqlite"},
		"progress":      {src.db, memory(), adk.WithProgress(nil), "WithProgress: nil"},
		"session page":  {src.db, memory(), adk.WithPageSize(0, 1), "0 sessions, from 1 to 10000"},
		"session page+": {src.db, memory(), adk.WithPageSize(10001, 1), "10001 sessions, from 1 to 10000"},
		"event page":    {src.db, memory(), adk.WithPageSize(1, 0), "0 events, from 1 to 10000"},
		"event page+":   {src.db, memory(), adk.WithPageSize(1, 10001), "10001 events, from 1 to 10000"},
	} {
		rep, err := adk.Import(t.Context(), tt.src, tt.dst, tt.opt)
		if !errors.Is(err, session.ErrInvalidArgument) || !strings.Contains(err.Error(), tt.text) || difference(adk.Report{}, rep) != "" {
			t.Errorf("%s: %v, %+v, want an invalid argument with %q", name, err, rep, tt.text)
		}
	}
}

// An error that is not of one session alone ends the import and says where.
func TestImportFaults(t *testing.T) {
	t.Parallel()
	onSources(t, func(t *testing.T, src *sourceDB) {
		for _, id := range []string{"a", "b", "c"} {
			src.write(t, keyOf(id), nil, timed(id+"1", at(1), nil))
		}
		dst := memory()
		broken := errors.New("connection lost")
		rep, err := adk.Import(t.Context(), src.db, watched{dst, func(req *session.AppendEventsRequest) error {
			if req.Key == keyOf("b") {
				return broken
			}
			return nil
		}})
		if !errors.Is(err, broken) || !strings.Contains(err.Error(), `session "app"/"ana"/"b"`) || rep.Sessions != 2 || rep.Created != 1 || rep.Conflicts != nil {
			t.Errorf("broken destination: %v, %+v", err, rep)
		}
		if rep := mustImport(t, src, dst); rep.Skipped != 1 || rep.Completed != 1 || rep.Created != 1 || rep.Events != 2 {
			t.Errorf("after it: %+v", rep)
		}

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := adk.Import(ctx, src.db, memory()); !errors.Is(err, context.Canceled) {
			t.Errorf("ended context: %v", err)
		}

		src.db.Exec(`DROP TABLE user_states`)
		if _, err := adk.Import(t.Context(), src.db, memory()); err == nil || !strings.Contains(err.Error(), "read user_states: ") {
			t.Errorf("no table user_states: %v", err)
		}
		src.db.Exec(`DROP TABLE events`)
		if _, err := adk.Import(t.Context(), src.db, memory()); err == nil || !strings.Contains(err.Error(), "read events: ") {
			t.Errorf("no table events: %v", err)
		}
	})
}

// A session that is deleted in the destination while it is imported is not
// brought back.
func TestImportOfADeletedSession(t *testing.T) {
	t.Parallel()
	src := newSource(t, "sqlite")
	src.write(t, keyOf("s"), nil, timed("e1", at(1), nil), timed("e2", at(2), nil))
	for _, again := range []bool{false, true} {
		dst := memory()
		watching := watched{dst, func(req *session.AppendEventsRequest) error {
			if *req.ExpectedSeq == 0 {
				return nil
			}
			if err := dst.Delete(t.Context(), &session.DeleteRequest{Key: req.Key}); err != nil || !again {
				return err
			}
			if _, err := dst.Create(t.Context(), &session.CreateRequest{Key: req.Key}); err != nil {
				return err
			}
			_, err := dst.AppendEvent(t.Context(), &session.AppendEventRequest{Key: req.Key, Event: &session.Event{Author: "ana"}})
			return err
		}}
		wantConflicts(t, src, watching, map[string]conflict{"s": {adk.ErrConflict, "deleted there meanwhile", 1}}, adk.WithPageSize(1, 1))
	}
}

// What an append carries is bounded in bytes, too: large events go one by one.
func TestImportBoundsBatches(t *testing.T) {
	t.Parallel()
	src := newSource(t, "sqlite")
	const mebi, limit = 1 << 20, 8 << 20
	var events []*adksession.Event
	for i, size := range []int{9 * mebi, 1, 3 * mebi, 3 * mebi, 3 * mebi} {
		event := timed(fmt.Sprintf("e%d", i), at(i), nil)
		event.ErrorMessage = strings.Repeat("x", size)
		events = append(events, event)
	}
	src.write(t, keyOf("s"), nil, events...)
	var batches []int
	dst := memory()
	mustImport(t, src, watched{dst, func(req *session.AppendEventsRequest) error {
		size := 0
		for _, e := range req.Events {
			size += len(e.Payload)
		}
		if size > limit && len(req.Events) > 1 {
			t.Errorf("%d events with %d bytes in one append", len(req.Events), size)
		}
		batches = append(batches, len(req.Events))
		return nil
	}})
	if got := fmt.Sprint(batches); got != "[1 3 1]" {
		t.Errorf("batches of %s events", got)
	}
	if got := fmt.Sprint(eventIDs(t, dst, keyOf("s"))); got != "[e0 e1 e2 e3 e4]" {
		t.Errorf("events = %s", got)
	}
}

// Columns that an older ADK-Go did not make yet are taken as empty, and events
// whose session is gone are counted and left.
func TestImportOfAnOlderSource(t *testing.T) {
	t.Parallel()
	onSources(t, func(t *testing.T, src *sourceDB) {
		event := src.fullEvent(t)
		src.write(t, keyOf("s"), nil, event)
		src.write(t, keyOf("gone"), nil, timed("e1", at(1), nil), timed("e2", at(2), nil))
		if src.kind == "postgres" {
			src.db.Exec(`ALTER TABLE events DROP CONSTRAINT fk_sessions_events`)
		}
		src.exec(t, `DELETE FROM sessions WHERE id = 'gone'`)
		for _, column := range []string{"routes_json", "output_json", "node_info_json", "requested_input_json", "isolation_scope"} {
			if err := src.db.Exec(`ALTER TABLE events DROP COLUMN ` + column).Error; err != nil {
				t.Fatal(err)
			}
		}
		dst := memory()
		var last adk.Progress
		rep := mustImport(t, src, dst, adk.WithProgress(func(p adk.Progress) { last = p }))
		if rep.Sessions != 1 || rep.Events != 1 || rep.Orphans != 2 || last.TotalEvents != 1 {
			t.Errorf("report = %+v, progress = %+v", rep, last)
		}
		got := adkSession(t, adk.New(dst), keyOf("s")).Events().At(0)
		if got.ErrorMessage != event.ErrorMessage || got.Routes != nil || got.Output != nil || got.NodeInfo != nil || got.RequestedInput != nil {
			t.Errorf("event = %+v", got)
		}
	})
}
