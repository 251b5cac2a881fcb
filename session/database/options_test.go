package database_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
	"gorm.io/gorm/utils/tests"

	"github.com/hansardlog/hansard/session"
	"github.com/hansardlog/hansard/session/database"
)

func TestOptionsRefused(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		d := b.dial(t)
		for name, tt := range map[string]struct {
			opt  database.Option
			want string // what the error speaks of
		}{
			"nil option":           {nil, "option"},
			"nil clock":            {database.WithClock(nil), "clock"},
			"nil IDs":              {database.WithIDs(nil), "IDs"},
			"no payload":           {database.WithMaxPayload(0), "payload"},
			"negative payload":     {database.WithMaxPayload(-1), "payload"},
			"no tries":             {database.WithRetry(0, time.Millisecond), "tries"},
			"negative backoff":     {database.WithRetry(1, -1), "backoff"},
			"backoff of an hour":   {database.WithRetry(1, time.Hour), "backoff"},
			"prefix in upper case": {database.WithTablePrefix("Hansard_"), "prefix"},
		} {
			svc, err := database.Open(sameDatabase(d), tt.opt)
			if err == nil || svc != nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: %v, error %v, want one about the %s", name, svc, err, tt.want)
			}
		}
		for name, opt := range map[string]database.Option{
			"longest backoff": database.WithRetry(1, database.MaxBackoff),
			"no backoff":      database.WithRetry(5, 0),
			"small payload":   database.WithMaxPayload(1),
		} {
			if svc, err := database.Open(sameDatabase(d), opt); err != nil {
				t.Errorf("%s: %v", name, err)
			} else {
				must(t, svc.Close())
			}
		}
	})
}

func TestHandlesRefused(t *testing.T) {
	if _, err := database.New(nil); err == nil {
		t.Error("New on nil: no error")
	}
	if _, err := database.Open(nil); err == nil {
		t.Error("Open of nil: no error")
	}
	// A dialect of GORM's own tests, which is none of ours.
	db, err := gorm.Open(tests.DummyDialector{}, &gorm.Config{DisableAutomaticPing: true})
	must(t, err)
	if _, err := database.New(db); err == nil || !strings.Contains(err.Error(), "dummy") {
		t.Errorf("New on another database: error %v, want one that names it", err)
	}
	each(t, func(t *testing.T, b backend) {
		broken := func(string) string { return "file:/no/such/directory/hansard.db" }
		if b.postgres() {
			broken = func(dsn string) string { return dbtestParam(dsn, "port", "1") }
		}
		svc, err := database.Open(withDSN(b.dial(t), broken))
		if err == nil || svc != nil {
			t.Errorf("Open of a database that cannot be reached: %v, %v", svc, err)
		}
	})
}

// TestClock: the clock is asked once for each request that stores something,
// with the request's context.
func TestClock(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		type name struct{}
		var asked, unnamed atomic.Int64
		now := time.Date(2031, 1, 2, 3, 4, 5, 678901999, time.FixedZone("", 3600))
		svc := checked(t, b, database.WithClock(func(ctx context.Context) time.Time {
			asked.Add(1)
			if ctx.Value(name{}) == nil {
				unnamed.Add(1)
			}
			return now
		}))
		w := newWorld(svc)
		ctx := context.WithValue(t.Context(), name{}, "request")
		for _, req := range fixture() {
			if _, err := w.do(ctx, &call{req: req}); err != nil {
				t.Fatal(err)
			}
		}
		for _, op := range operations() {
			for _, req := range op.prepare {
				if _, err := w.do(ctx, &call{req: req(1)}); err != nil {
					t.Fatal(err)
				}
			}
			before := asked.Load()
			if _, err := op.try(ctx, t, w, 1); err != nil {
				t.Fatal(err)
			}
			want := int64(1)
			if strings.HasPrefix(op.name, "Get") || strings.HasPrefix(op.name, "List") {
				want = 0
			}
			if n := asked.Load() - before; n != want {
				t.Errorf("%s asks the clock %d times, want %d", op.name, n, want)
			}
		}
		if n := unnamed.Load(); n != 0 {
			t.Errorf("the clock was asked %d times without the request's context", n)
		}
		s := got(svc.Get(ctx, &session.GetRequest{Key: faultGroup}))(t).Session
		for _, at := range []time.Time{s.CreatedAt, s.UpdatedAt, s.Events[0].Timestamp, s.Events[0].RecordedAt} {
			if want := now.UTC().Truncate(time.Microsecond); at != want {
				t.Errorf("time %v, want %v", at, want)
			}
		}
	})
}

// TestIDs: the source of IDs names sessions and events that have no name, never
// incarnations, and an ID that breaks the rules fails the request.
func TestIDs(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		id := ""
		svc := checked(t, b, database.WithIDs(func(context.Context) string { return id }))
		id = "made up"
		s := got(svc.Create(t.Context(), &session.CreateRequest{Key: session.Key{AppName: "app", UserID: "olga"}}))(t).Session
		if s.Key.SessionID != "made up" {
			t.Errorf("session ID %q, want the one made up", s.Key.SessionID)
		}
		if _, err := uuid.Parse(s.UID); err != nil {
			t.Errorf("UID %q: %v", s.UID, err)
		}
		if e := said(t, svc, s.Key, words("ana", "a")); e.ID != "made up" {
			t.Errorf("event ID %q, want the one made up", e.ID)
		}
		if e := said(t, svc, s.Key, &session.Event{Author: "ana", ID: "given"}); e.ID != "given" {
			t.Errorf("event ID %q, want the one given", e.ID)
		}
		for _, id = range []string{"", "a\nb", "\xff", strings.Repeat("x", 256)} {
			_, err := svc.AppendEvent(t.Context(), &session.AppendEventRequest{Key: s.Key, Event: words("ana", "a")})
			if !errors.Is(err, session.ErrInvalidArgument) {
				t.Errorf("event with ID %q: error %v, want ErrInvalidArgument", id, err)
			}
			_, err = svc.Create(t.Context(), &session.CreateRequest{Key: session.Key{AppName: "app", UserID: "olga"}})
			if !errors.Is(err, session.ErrInvalidArgument) {
				t.Errorf("session with ID %q: error %v, want ErrInvalidArgument", id, err)
			}
		}
		if head := got(svc.Get(t.Context(), &session.GetRequest{Key: s.Key}))(t).Session.HeadSeq; head != 2 {
			t.Errorf("head is %d, want 2", head)
		}
	})
}

func TestMaxPayload(t *testing.T) {
	each(t, func(t *testing.T, b backend) {
		svc := checked(t, b, database.WithMaxPayload(10))
		key := made(t, svc, "s1", nil)
		said(t, svc, key, words("ana", "12345678")) // with its quotes 10 bytes
		_, err := svc.AppendEvent(t.Context(), &session.AppendEventRequest{Key: key, Event: words("ana", "123456789")})
		if !errors.Is(err, session.ErrInvalidArgument) || !strings.Contains(fmt.Sprint(err), "Payload") || !strings.Contains(err.Error(), "10") {
			t.Errorf("payload of 11 bytes: error %v, want ErrInvalidArgument that names field and limit", err)
		}
	})
}

// recorder is a logger that keeps what it is told.
type recorder struct {
	logger.Interface
	told atomic.Int64
}

func (r *recorder) LogMode(logger.LogLevel) logger.Interface { return r }

func (r *recorder) Info(context.Context, string, ...any) { r.told.Add(1) }

func (r *recorder) Warn(context.Context, string, ...any) { r.told.Add(1) }

func (r *recorder) Error(context.Context, string, ...any) { r.told.Add(1) }

func (r *recorder) Trace(context.Context, time.Time, func() (string, int64), error) { r.told.Add(1) }

// TestOpenIsSilent: GORM's own logger prints slow and failed statements with
// their values, which are what people said.
func TestOpenIsSilent(t *testing.T) {
	theirs, r := logger.Default, &recorder{}
	logger.Default = r
	defer func() { logger.Default = theirs }()
	for _, b := range backends() {
		t.Run(b.name, func(t *testing.T) {
			d, f, _ := faulty(t, b)
			svc := openDialector(t, d)
			key := made(t, svc, "s1", nil)
			r.told.Store(0)
			f.set(func(int, string, bool) error { time.Sleep(250 * time.Millisecond); return errInjected })
			_, err := svc.Get(t.Context(), &session.GetRequest{Key: key})
			f.set(nil)
			if !errors.Is(err, errInjected) {
				t.Errorf("error %v, want the injected one", err)
			}
			if n := r.told.Load(); n != 0 {
				t.Errorf("the logger was told %d times", n)
			}
		})
	}
}
