package database

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"gorm.io/gorm"

	"github.com/hansardlog/hansard/internal/request"
	"github.com/hansardlog/hansard/session"
)

// Combining: appends that would wait for the same lock share one transaction.
//
// Who finds nobody at work appends at once, on its own goroutine and with its
// own context, as if there were no combining. Who finds somebody at work waits
// in a queue; there is one for each conversation, on SQLite one for the database,
// since that is what a transaction locks. When the work is done, all that wait
// become a batch: a goroutine that ends with it writes them in one transaction
// with one commit, and tells each what came of its append. Those who come
// meanwhile are the next batch. So nothing runs while nothing waits, a queue
// without waiters does not exist, and an append waits for one batch at most
// before its own begins, unless more wait than one batch takes.
//
// Within a batch, appends to one conversation that do not depend on each other
// are merged into one request for several events (see merge): all accepted, or
// all known already. If the database refuses that, nothing of it is stored, and
// its halves are tried, down to the one that is refused; so nobody fails for
// another.
//
// A batch has a context of its own, because it must not end with that of one of
// its callers. A caller whose context ends is answered at once; its append is
// taken out of the queue, or, if its batch has begun, is stored whole or not at
// all, and its idempotency key tells.

const (
	// DefaultCombining is how many appends share one transaction at most.
	DefaultCombining = 128
	// maxBatchBytes bounds payloads and deltas of a batch of several appends.
	maxBatchBytes = 4 << 20
	// batchTimeout ends a batch on a database that does not answer.
	batchTimeout = time.Minute
)

// queues are the conversations, or the one database, at work.
type queues struct {
	max int // appends in a batch; 1 turns combining off

	mu   sync.Mutex
	busy map[any][]*waiter // who waits; there is an entry while somebody is at work
}

func newQueues(limit int) *queues { return &queues{max: limit, busy: map[any][]*waiter{}} }

// waiter is an append that waits for its batch.
type waiter struct {
	ctx  context.Context
	a    *request.Append
	done chan struct{} // closed when outcome is set
	outcome
}

// combined appends alone or together with others.
func (s *Service) combined(ctx context.Context, a *request.Append) outcome {
	q := s.queues
	if s.joined || q.max <= 1 {
		return s.append(ctx, a)
	}
	name := s.dialect.lockName(a.Key)
	q.mu.Lock()
	waiting, busy := q.busy[name]
	if !busy {
		q.busy[name] = nil
		q.mu.Unlock()
		defer s.next(name)
		return s.append(ctx, a)
	}
	w := &waiter{ctx: ctx, a: a, done: make(chan struct{})}
	q.busy[name] = append(waiting, w)
	q.mu.Unlock()
	select {
	case <-w.done:
		return w.outcome
	case <-ctx.Done():
		q.leave(name, w)
		return outcome{err: ctx.Err()}
	}
}

// leave takes w out of the queue if its batch has not begun.
func (q *queues) leave(name any, w *waiter) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if waiting, ok := q.busy[name]; ok {
		q.busy[name] = slices.DeleteFunc(waiting, func(other *waiter) bool { return other == w })
	}
}

// next ends the work on a lock, or begins the next batch.
func (s *Service) next(name any) {
	q := s.queues
	q.mu.Lock()
	defer q.mu.Unlock()
	waiting := slices.DeleteFunc(q.busy[name], func(w *waiter) bool { return w.ctx.Err() != nil })
	if len(waiting) == 0 {
		delete(q.busy, name)
		return
	}
	groups, rest := s.take(waiting)
	q.busy[name] = rest
	go func() {
		defer s.next(name)
		s.lead(groups)
	}()
}

// take takes the next batch from the front of the queue. Where transactions
// exclude each other by conversation it is one group: a second one would lock
// app: and user: keys after those of the first, against the order of locks.
func (s *Service) take(waiting []*waiter) (groups []*group, rest []*waiter) {
	bytes, events := 0, 0
	open := map[session.Key]*group{}
	for i, w := range waiting {
		for _, e := range w.a.Events {
			bytes += len(e.Payload) + len(e.Delta)
		}
		events += len(w.a.Events)
		if i > 0 && (i == s.queues.max || bytes > maxBatchBytes || events > session.MaxBatchEvents) {
			return groups, slices.Clone(waiting[i:])
		}
		g := open[w.a.Key]
		if g == nil || !g.add(w) {
			if g != nil && !s.dialect.oneWriter() {
				return groups, slices.Clone(waiting[i:])
			}
			g = newGroup(w)
			open[w.a.Key] = g
			groups = append(groups, g)
		}
	}
	return groups, nil
}

// lead writes a batch and answers all who wait for it.
func (s *Service) lead(groups []*group) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(groups[0].waiters[0].ctx), batchTimeout)
	defer cancel()
	defer func() {
		// A callback of the embedder may have panicked, or ended the goroutine.
		err := errors.New("database: an append of the same batch did not end")
		if p := recover(); p != nil {
			err = fmt.Errorf("database: panic in an append of the same batch: %v\n%s", p, debug.Stack())
		}
		for _, g := range groups {
			g.answer(slices.Repeat([]outcome{{err: err}}, len(g.waiters)))
		}
	}()
	s.write(ctx, groups)
}

// write writes a batch. What is refused or fails is tried again without the
// rest.
func (s *Service) write(ctx context.Context, groups []*group) {
	if !s.dialect.oneWriter() {
		s.writeGroup(ctx, groups[0]) // there is no other, see take
		return
	}
	var outcomes []outcome
	err := s.inTx(ctx, func(tx *gorm.DB) error {
		outcomes = outcomes[:0]
		var left leftEvents
		for _, g := range groups {
			of, err := s.appendGroup(tx, g, &left)
			if err != nil {
				return err
			}
			outcomes = append(outcomes, of...)
		}
		return s.dialect.insertAll(tx, s.t, left.all)
	})
	for _, g := range groups {
		switch n := len(g.waiters); {
		case err == nil:
			g.answer(outcomes[:n])
			outcomes = outcomes[n:]
		case s.divisible(ctx, err):
			s.writeGroup(ctx, g)
		default:
			g.answer(slices.Repeat([]outcome{{err: given(ctx, err)}}, n))
		}
	}
}

// appendGroup runs inside tx and returns what came of each append. The events of
// different conversations are left to be inserted together; what is decided on
// one conversation must have been inserted.
func (s *Service) appendGroup(tx *gorm.DB, g *group, left *leftEvents) ([]outcome, error) {
	if left.convs[g.merged.Key] {
		if err := s.dialect.insertAll(tx, s.t, left.all); err != nil {
			return nil, err
		}
		*left = leftEvents{}
	}
	var o outcome
	o.stored, o.replayed, o.err = s.appendEvents(tx, g.merged, left)
	if o.err != nil && !refused(o.err) {
		return nil, o.err
	}
	a, b, ok := g.halves(o.err)
	if !ok {
		return g.each(o), nil
	}
	first, err := s.appendGroup(tx, a, left)
	if err != nil {
		return nil, err
	}
	second, err := s.appendGroup(tx, b, left)
	return append(first, second...), err
}

// writeGroup writes a group in a transaction of its own, or each half if it is
// refused or fails as a whole.
func (s *Service) writeGroup(ctx context.Context, g *group) {
	o := s.append(ctx, g.merged)
	if o.err == nil || refused(o.err) || s.divisible(ctx, o.err) {
		if a, b, ok := g.halves(o.err); ok {
			s.writeGroup(ctx, a)
			s.writeGroup(ctx, b)
			return
		}
	}
	o.err = given(ctx, o.err)
	g.answer(g.each(o))
}

// divisible reports whether an error of the database may be due to one of
// several appends, and says that none of them is stored.
func (s *Service) divisible(ctx context.Context, err error) bool {
	return err != nil && !refused(err) && s.dialect.undone(err) && !errors.Is(err, session.ErrBusy) && ctx.Err() == nil
}

// refused reports whether an append was refused: nothing of it was written, and
// the transaction can go on.
func refused(err error) bool {
	switch session.Code(err) {
	case "NOT_MEMBER", "STALE", "IDEMPOTENCY_MISMATCH":
		return true
	}
	return errors.Is(err, request.ErrNone)
}

// given is an error as a caller gets it: the end of the batch's context is not
// the end of the caller's.
func given(ctx context.Context, err error) error {
	if isContext(err) && ctx.Err() != nil {
		return fmt.Errorf("database: given up after %v, the append may have been stored: %v", batchTimeout, err)
	}
	return err
}

// group is appends to one conversation that are merged into one request.
type group struct {
	waiters []*waiter
	merged  *request.Append
	names   map[eventName]bool
}

// eventName is what a request is known by.
type eventName struct{ author, key string }

func newGroup(waiters ...*waiter) *group {
	g := &group{names: map[eventName]bool{}}
	for _, w := range waiters {
		g.add(w)
	}
	return g
}

// add merges w into g if what becomes of either does not depend on the other:
// not on the head, and not on whose request came first.
func (g *group) add(w *waiter) bool {
	if g.merged == nil {
		merged := *w.a
		merged.Events = slices.Clip(merged.Events)
		g.merged = &merged
	} else {
		if g.merged.ExpectedSeq != nil || w.a.ExpectedSeq != nil || g.merged.UID != w.a.UID ||
			slices.ContainsFunc(w.a.Events, func(e *request.Event) bool { return g.names[eventName{e.Author, e.IdempotencyKey}] }) {
			return false
		}
		g.merged.Events = append(g.merged.Events, w.a.Events...)
		g.merged.Now = max(g.merged.Now, w.a.Now)
	}
	for _, e := range w.a.Events {
		if e.IdempotencyKey != "" {
			g.names[eventName{e.Author, e.IdempotencyKey}] = true
		}
	}
	g.waiters = append(g.waiters, w)
	return true
}

// halves divides a group if its error may be that of a part of it. A session
// that is not there is there for nobody.
func (g *group) halves(err error) (a, b *group, ok bool) {
	n := len(g.waiters)
	if n == 1 || err == nil || errors.Is(err, request.ErrNone) {
		return nil, nil, false
	}
	return newGroup(g.waiters[:n/2]...), newGroup(g.waiters[n/2:]...), true
}

// each is what the outcome of a group is for each waiter.
func (g *group) each(o outcome) []outcome {
	outcomes := make([]outcome, len(g.waiters))
	for i, w := range g.waiters {
		outcomes[i] = outcome{replayed: o.replayed, err: o.err}
		if o.err == nil {
			n := len(w.a.Events)
			outcomes[i].stored, o.stored = o.stored[:n:n], o.stored[n:]
		}
	}
	return outcomes
}

// answer answers those who have no answer yet.
func (g *group) answer(outcomes []outcome) {
	for i, w := range g.waiters {
		select {
		case <-w.done:
		default:
			w.outcome = outcomes[i]
			close(w.done)
		}
	}
}
