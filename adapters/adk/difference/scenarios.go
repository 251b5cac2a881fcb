package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"google.golang.org/adk/v2/model"
	"google.golang.org/adk/v2/session"
	"google.golang.org/genai"
)

// A scenario does the same with either service and counts what comes of it.
type scenario struct {
	name    string
	counted string
	// right is what a service counts that keeps what it acknowledges and
	// refuses what it cannot keep.
	right []int
	run   func(*world) []int
}

const (
	writers = 20
	events  = 10
	reads   = 50
)

var scenarios = []scenario{
	{
		fmt.Sprintf("%d writers append to one session at a time, each its own state key", writers),
		"acknowledged / keys of these left", []int{writers, writers}, oneSession,
	},
	{
		fmt.Sprintf("%d sessions of one user append at a time, each its own `user:` key", writers),
		"acknowledged / keys of these left", []int{writers, writers}, oneUser,
	},
	{
		fmt.Sprintf("%d events with one timestamp", events),
		"in their place / newest two among \"recent 2\"", []int{events, 2},
		func(w *world) []int { return w.ordered(func(int) time.Duration { return 0 }) },
	},
	{
		fmt.Sprintf("%d events, each timestamp a second before the last", events),
		"in their place / newest two among \"recent 2\"", []int{events, 2},
		func(w *world) []int {
			return w.ordered(func(n int) time.Duration { return time.Duration(-n) * time.Second })
		},
	},
	{"an append fails (its context has ended)", "stored / shown by the caller's session", []int{0, 0}, failedAppend},
	{"one event is appended twice, as after a lost reply", "acknowledged / stored / shown by the caller's session", []int{2, 1, 1}, repeatedEvent},
	{"2^53+1 as state, in an event and at creation", "read back as written", []int{2}, bigIntegers},
	{"an event with a NUL in its text and its state", "acknowledged / stored", []int{1, 1}, nul},
	{"a session is created with a key and a NaN", "acknowledged / keys stored", []int{0, 0}, notANumber},
	{"delete, then create the same ID; 3 events before", "old events in the new session", []int{0}, recreated},
	{fmt.Sprintf("%d reads beside a writer", reads), "reads whose events and state do not fit together", []int{0}, tornReads},
}

// together lets n writers append at a time to the sessions they got before, and
// counts the acknowledged and those of their keys that are in the state at last.
func (w *world) together(sessionOf func(int) string, prefix string) []int {
	sessions := make([]session.Session, writers)
	for n := range sessions {
		sessions[n] = w.get(sessionOf(n), 0)
	}
	if w.err != nil {
		return nil
	}
	acknowledged := make([]bool, writers)
	var wg sync.WaitGroup
	begin := make(chan struct{})
	for n := range writers {
		event := w.event(fmt.Sprint(prefix, n), true)
		wg.Go(func() {
			<-begin
			acknowledged[n] = w.svc.AppendEvent(w.ctx, sessions[n], event) == nil
		})
	}
	close(begin)
	wg.Wait()
	last := w.get(sessionOf(0), 0)
	counts := []int{0, 0}
	for n, ok := range acknowledged {
		if !ok || last == nil {
			continue
		}
		counts[0]++
		if _, err := last.State().Get(fmt.Sprint(prefix, n)); err == nil {
			counts[1]++
		}
	}
	return counts
}

func oneSession(w *world) []int {
	w.create("s")
	return w.together(func(int) string { return "s" }, "key")
}

func oneUser(w *world) []int {
	of := func(n int) string { return fmt.Sprint("s", n) }
	for n := range writers {
		w.create(of(n))
	}
	return w.together(of, "user:key")
}

// ordered appends one event after the other and looks where they are.
func (w *world) ordered(offset func(n int) time.Duration) []int {
	s := w.create("s")
	if s == nil {
		return nil
	}
	base := s.LastUpdateTime().Add(time.Minute).Truncate(time.Microsecond)
	var appended []string
	for n := range events {
		event := w.event("n", n)
		event.Timestamp = base.Add(offset(n))
		if !w.must(w.svc.AppendEvent(w.ctx, s, event)) {
			return nil
		}
		appended = append(appended, event.ID)
	}
	all, recent := w.get("s", 0), w.get("s", 2)
	if w.err != nil {
		return nil
	}
	counts := []int{0, 0}
	for n, event := range slices.Collect(all.Events().All()) {
		if event.ID == appended[n] {
			counts[0]++
		}
	}
	for event := range recent.Events().All() {
		if slices.Contains(appended[events-2:], event.ID) {
			counts[1]++
		}
	}
	return counts
}

func failedAppend(w *world) []int {
	s := w.create("s")
	if s == nil {
		return nil
	}
	ended, cancel := context.WithCancel(w.ctx)
	cancel()
	if err := w.svc.AppendEvent(ended, s, w.event("key", true)); err == nil {
		w.must(fmt.Errorf("an append with an ended context succeeded"))
	}
	stored, shown := w.storedAndShown(s)
	return []int{stored, shown}
}

func repeatedEvent(w *world) []int {
	s := w.create("s")
	if s == nil {
		return nil
	}
	event, acknowledged := w.event("key", true), 0
	for range 2 {
		if w.svc.AppendEvent(w.ctx, s, event) == nil {
			acknowledged++
		}
	}
	stored, shown := w.storedAndShown(s)
	return []int{acknowledged, stored, shown}
}

func bigIntegers(w *world) []int {
	const big = int64(1<<53 + 1)
	_, err := w.svc.Create(w.ctx, &session.CreateRequest{AppName: w.app, UserID: "ana", SessionID: "s", State: map[string]any{"created": big}})
	if !w.must(err) {
		return nil
	}
	s := w.get("s", 0)
	if s == nil || !w.must(w.svc.AppendEvent(w.ctx, s, w.event("appended", big))) {
		return nil
	}
	exact := 0
	if s = w.get("s", 0); s == nil {
		return nil
	}
	for _, key := range []string{"created", "appended"} {
		value, err := s.State().Get(key)
		if f, ok := value.(float64); ok {
			value = fmt.Sprintf("%.0f", f)
		}
		if w.must(err) && fmt.Sprint(value) == fmt.Sprint(big) {
			exact++
		}
	}
	return []int{exact}
}

func nul(w *world) []int {
	s := w.create("s")
	if s == nil {
		return nil
	}
	const text = "before\x00after"
	event, acknowledged := w.event("key", text), 0
	event.LLMResponse = model.LLMResponse{Content: genai.NewContentFromText(text, genai.RoleModel)}
	if w.svc.AppendEvent(w.ctx, s, event) == nil {
		acknowledged++
	}
	stored := 0
	if got := w.get("s", 0); got != nil && got.Events().Len() == 1 {
		value, err := got.State().Get("key")
		if err == nil && value == text && got.Events().At(0).Content.Parts[0].Text == text {
			stored++
		}
	}
	return []int{acknowledged, stored}
}

func notANumber(w *world) []int {
	acknowledged, stored := 0, 0
	_, err := w.svc.Create(w.ctx, &session.CreateRequest{
		AppName: w.app, UserID: "ana", SessionID: "s", State: map[string]any{"key": "value", "ratio": math.NaN()},
	})
	if err == nil {
		acknowledged++
		if s := w.get("s", 0); s != nil {
			for range s.State().All() {
				stored++
			}
		}
	}
	return []int{acknowledged, stored}
}

func recreated(w *world) []int {
	s := w.create("s")
	for n := range 3 {
		if s == nil || !w.must(w.svc.AppendEvent(w.ctx, s, w.event("key", n))) {
			return nil
		}
	}
	if !w.must(w.svc.Delete(w.ctx, &session.DeleteRequest{AppName: w.app, UserID: "ana", SessionID: "s"})) {
		return nil
	}
	w.create("s")
	if s = w.get("s", 0); s == nil {
		return nil
	}
	return []int{s.Events().Len()}
}

// tornReads appends events that count themselves in the state, and compares the
// two in what a reader gets meanwhile.
func tornReads(w *world) []int {
	s := w.create("s")
	if s == nil {
		return nil
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for n := 1; ; n++ {
			select {
			case <-done:
				return
			default:
			}
			if !w.must(w.svc.AppendEvent(w.ctx, s, w.event("n", n))) {
				return
			}
		}
	})
	torn := 0
	for range reads {
		got := w.get("s", 0)
		if got == nil {
			break
		}
		n, err := got.State().Get("n")
		if err != nil {
			n = 0.0 // nothing was appended yet
		}
		if n != float64(got.Events().Len()) {
			torn++
		}
	}
	close(done)
	wg.Wait()
	return []int{torn}
}
