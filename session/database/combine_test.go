package database_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/hansardlog/hansard/session"
	"github.com/hansardlog/hansard/session/database"
)

// eachCombining runs a test on every backend with combining.
func eachCombining(t *testing.T, test func(t *testing.T, b backend)) {
	each(t, func(t *testing.T, b backend) {
		b.opts = append(slices.Clone(b.opts), database.WithCombining(database.DefaultCombining))
		test(t, b)
	})
}

// inOneBatch makes the calls while somebody is at work, so that they are one
// batch, and returns when all have returned.
func inOneBatch(t *testing.T, svc *database.Service, key session.Key, calls ...func()) {
	t.Helper()
	waiting, done := svc.Work(key)
	var wg sync.WaitGroup
	for i, call := range calls {
		wg.Go(call)
		await(t, "the append waits", func() bool { return waiting() == i+1 })
	}
	done()
	wg.Wait()
	await(t, "the work ends", func() bool { return svc.AtWork() == 0 })
}

func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatal("not within a minute: " + what)
		}
	}
}

// Every waiting append is stored by one transaction, in the order of arrival,
// with its state and its own answer.
func TestCombiningSharesTransactions(t *testing.T) {
	eachCombining(t, func(t *testing.T, b backend) {
		r := newRig(t, b)
		key := made(t, r.svc, "s1", nil)
		const n = 20
		answers := make([]*session.AppendEventResponse, n)
		var calls []func()
		for i := range n {
			calls = append(calls, func() {
				e := keyed([]string{"ana", "ben"}[i%2], fmt.Sprint(i), fmt.Sprint("words ", i))
				e.StateDelta = session.State{"last": i, fmt.Sprint("user:k", i): i, fmt.Sprint("app:k", i): i}
				answers[i] = got(r.svc.AppendEvent(t.Context(), &session.AppendEventRequest{Key: key, Event: e}))(t)
			})
		}
		inOneBatch(t, r.svc, key, calls...)
		s := got(r.svc.Get(t.Context(), &session.GetRequest{Key: key}))(t).Session
		if len(s.State) != 2*n+1 || fmt.Sprint(s.State["last"]) != fmt.Sprint(n-1) {
			t.Errorf("state is %v", s.State)
		}
		recorded := map[time.Time]bool{}
		for i, e := range s.Events {
			if !reflect.DeepEqual(e, answers[i].Event) {
				t.Errorf("event %d is %+v, the answer was %+v", i, e, answers[i].Event)
			}
			recorded[e.RecordedAt] = true
		}
		if len(s.Events) != n || len(recorded) != 1 {
			t.Errorf("%d events of %d transactions, want %d of one", len(s.Events), len(recorded), n)
		}
		r.healthy(t)
	})
}

// Each append of a batch has the answer that it would have got alone, and none
// fails for another.
func TestCombiningAnswersEach(t *testing.T) {
	eachCombining(t, func(t *testing.T, b backend) {
		r := newRig(t, b)
		key := made(t, r.svc, "s1", nil, "ana", "ben")
		said(t, r.svc, key, keyed("ana", "known", "words"))
		uid := got(r.svc.Get(t.Context(), &session.GetRequest{Key: key}))(t).Session.UID
		head := int64(3)
		tests := []struct {
			name     string
			req      session.AppendEventRequest
			err      error
			replayed bool
		}{
			{name: "first", req: session.AppendEventRequest{Event: words("ana", "first")}},
			{name: "known", req: session.AppendEventRequest{Event: keyed("ana", "known", "words")}, replayed: true},
			{name: "other request", req: session.AppendEventRequest{Event: keyed("ana", "known", "other")}, err: session.ErrIdempotencyMismatch},
			{name: "stranger", req: session.AppendEventRequest{Event: words("mallory", "hm")}, err: session.ErrNotMember},
			{name: "new key", req: session.AppendEventRequest{Event: keyed("ben", "new", "words")}},
			{name: "new key again", req: session.AppendEventRequest{Event: keyed("ben", "new", "words")}, replayed: true},
			{name: "stale", req: session.AppendEventRequest{Event: words("ana", "stale"), ExpectedSeq: &head}, err: session.ErrStale},
			{name: "other incarnation", req: session.AppendEventRequest{Event: words("ana", "late"), UID: "none"}, err: session.ErrNotMember},
			{name: "this incarnation", req: session.AppendEventRequest{Event: words("ana", "now"), UID: uid}},
			{name: "last", req: session.AppendEventRequest{Event: words("ben", "last")}},
		}
		var calls []func()
		for _, tt := range tests {
			tt.req.Key = key
			calls = append(calls, func() {
				resp, err := r.svc.AppendEvent(t.Context(), &tt.req)
				if !errors.Is(err, tt.err) || err == nil && resp.Replayed != tt.replayed {
					t.Errorf("%s: %+v, %v; want replayed %v, %v", tt.name, resp, err, tt.replayed, tt.err)
				}
			})
		}
		inOneBatch(t, r.svc, key, calls...)
		if n := got(r.svc.Get(t.Context(), &session.GetRequest{Key: key}))(t).Session.HeadSeq; n != 7 {
			t.Errorf("head %d, want 7: two joins, the known event and four new ones", n)
		}
		r.healthy(t)
	})
}

// An error of the database that one append causes is its own.
func TestCombiningIsolatesFailures(t *testing.T) {
	eachCombining(t, func(t *testing.T, b backend) {
		r := newRig(t, b)
		key := made(t, r.svc, "s1", nil)
		other := made(t, r.svc, "s2", nil)
		if b.postgres() {
			r.exec(t, "ALTER TABLE hansard_events ADD CONSTRAINT no_poison CHECK (branch <> 'poison')")
			other = key
		} else {
			r.exec(t, `CREATE TRIGGER no_poison BEFORE INSERT ON hansard_events WHEN new.branch = 'poison'
				BEGIN SELECT raise(ABORT, 'no_poison'); END`)
		}
		var calls []func()
		for i := range 17 {
			calls = append(calls, func() {
				e := words("ana", fmt.Sprint(i))
				if i == 5 {
					e.Branch = "poison"
				}
				_, err := r.svc.AppendEvent(t.Context(), &session.AppendEventRequest{Key: []session.Key{key, other}[i%2], Event: e})
				if i == 5 && (err == nil || !strings.Contains(err.Error(), "no_poison")) || i != 5 && err != nil {
					t.Errorf("append %d: %v", i, err)
				}
			})
		}
		inOneBatch(t, r.svc, key, calls...)
		if n := r.number(t, "SELECT count(*) FROM hansard_events"); n != 16 {
			t.Errorf("%d events, want all 16 without poison", n)
		}
		r.healthy(t)
	})
}

// A caller whose context ends before its batch begins is answered at once and
// nothing of it is stored.
func TestCombiningCancelled(t *testing.T) {
	eachCombining(t, func(t *testing.T, b backend) {
		r := newRig(t, b)
		key := made(t, r.svc, "s1", nil)
		waiting, done := r.svc.Work(key)
		ctx, cancel := context.WithCancel(t.Context())
		answered := make(chan error)
		for range 2 {
			go func() {
				_, err := r.svc.AppendEvent(ctx, &session.AppendEventRequest{Key: key, Event: words("ana", "never")})
				answered <- err
			}()
		}
		stays := make(chan error)
		go func() {
			_, err := r.svc.AppendEvent(t.Context(), &session.AppendEventRequest{Key: key, Event: words("ana", "stays")})
			stays <- err
		}()
		await(t, "three wait", func() bool { return waiting() == 3 })
		cancel()
		for range 2 {
			if err := <-answered; !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, want context.Canceled", err)
			}
		}
		done()
		must(t, <-stays)
		if n := r.number(t, "SELECT count(*) FROM hansard_events"); n != 1 {
			t.Errorf("%d events, want only the one that was not cancelled", n)
		}
		await(t, "the work ends", func() bool { return r.svc.AtWork() == 0 })
	})
}

// While a batch runs, the end of a caller's context neither fails the others nor
// leaves half an event: its key tells what became of it.
func TestCombiningCancelledInBatch(t *testing.T) {
	eachCombining(t, func(t *testing.T, b backend) {
		r := newRig(t, b)
		key := made(t, r.svc, "s1", nil)
		ctx, cancel := context.WithCancel(t.Context())
		r.before(cancel) // at the first statement of the batch
		var first, second error
		inOneBatch(t, r.svc, key,
			func() {
				_, first = r.svc.AppendEvent(ctx, &session.AppendEventRequest{Key: key, Event: keyed("ana", "1", "words")})
			},
			func() {
				_, second = r.svc.AppendEvent(t.Context(), &session.AppendEventRequest{Key: key, Event: keyed("ana", "2", "words")})
			})
		cancel()
		if first != nil && !errors.Is(first, context.Canceled) || second != nil {
			t.Errorf("got %v and %v, want the first cancelled at most", first, second)
		}
		again := got(r.svc.AppendEvent(t.Context(), &session.AppendEventRequest{Key: key, Event: keyed("ana", "1", "words")}))(t)
		if !again.Replayed || again.Event.Seq != 1 {
			t.Errorf("its batch had begun and it was not stored: %+v", again)
		}
		r.healthy(t)
	})
}

// A panic in the embedder's callback reaches all who wait as an error, and ends
// no more than the batch.
func TestCombiningPanic(t *testing.T) {
	eachCombining(t, func(t *testing.T, b backend) {
		if b.name == "postgres-direct" {
			t.Skip("callbacks see no statement of the direct path")
		}
		r := newRig(t, b)
		key := made(t, r.svc, "s1", nil)
		r.before(func() { panic("a callback panics") })
		call := func() {
			_, err := r.svc.AppendEvent(t.Context(), &session.AppendEventRequest{Key: key, Event: words("ana", "words")})
			if err == nil || !strings.Contains(err.Error(), "a callback panics") {
				t.Errorf("got %v, want the panic as an error", err)
			}
		}
		inOneBatch(t, r.svc, key, call, call)
		said(t, r.svc, key, words("ana", "words"))
		r.healthy(t)
	})
}

// A batch has at most as many appends as it was told, and at most 4 MiB.
func TestCombiningBounds(t *testing.T) {
	tests := []struct {
		name          string
		appends, size int
		most, want    int
	}{
		{"appends", 10, 10, 3, 4},
		{"bytes", 10, 1 << 20, database.DefaultCombining, 4}, // 3 and their quotes fit
		{"off", 5, 10, 1, 5},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			eachCombining(t, func(t *testing.T, b backend) {
				tick := make(chan time.Time, 1)
				tick <- time.UnixMicro(1)
				clock := func(context.Context) time.Time { now := <-tick; tick <- now.Add(time.Microsecond); return now }
				r := newRig(t, b, database.WithClock(clock), database.WithCombining(tt.most))
				key := made(t, r.svc, "s1", nil)
				var calls []func()
				for range tt.appends {
					calls = append(calls, func() { said(t, r.svc, key, words("ana", strings.Repeat("x", tt.size))) })
				}
				if tt.most == 1 {
					for _, call := range calls {
						call()
					}
				} else {
					inOneBatch(t, r.svc, key, calls...)
				}
				if n := r.number(t, "SELECT count(DISTINCT recorded_at) FROM hansard_events"); n != int64(tt.want) {
					t.Errorf("%d transactions, want %d", n, tt.want)
				}
			})
		})
	}
}

// In the caller's transaction nothing waits for anybody's batch.
func TestCombiningNotInTransactions(t *testing.T) {
	eachCombining(t, func(t *testing.T, b backend) {
		r := newRig(t, b)
		key := made(t, r.svc, "s1", nil)
		_, done := r.svc.Work(key)
		must(t, r.db.WithContext(t.Context()).Transaction(func(tx *gorm.DB) error {
			said(t, r.svc.WithTx(tx), key, words("ana", "words"))
			return nil
		}))
		done()
		r.healthy(t)
	})
}
