package sessiontest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hansardlog/hansard/session"
)

var concurrencyTests = []test{
	{name: "P1: 64 writers of one session get contiguous sequences", run: writersGapless},
	{name: "P1: batches of many writers do not interleave", run: writersBatches},
	{name: "P2: 32 replays of one request store one event", run: writersReplay},
	{name: "P2: replays of a batch and of a join", run: writersReplayOthers},
	{name: "P7: 24 writers of one user's sessions, opposite key orders, lose no key", run: writersShared},
	{name: "P7: UpdateState beside appends loses no key", run: writersUpdate},
	{name: "P7: writers of one key leave the last one's value", run: writersOneKey},
	{name: "ErrAlreadyExists: of concurrent creates exactly one wins", run: creators},
	{name: "ErrStale: of appends to one head exactly one wins", run: expecters},
	{name: "P3: of concurrent joins of one member exactly one wins", run: joiners},
	{name: "P4: who wrote at a sequence was a member at it", run: joinersAndWriters},
	{name: "rule 12: a delete beside appenders revives nothing", run: deleterBesideWriters},
	{name: "rule 12: delete and create beside appenders mix no incarnations", run: recreatorBesideWriters},
	{name: "a read is one snapshot: state, head and events agree", run: readersBesideWriter},
	{name: "sessions of one app do not disturb each other", run: writersApart},
}

// writers is the number of concurrent writers of the larger subtests.
func writers() int { return full(64, 24) }

func writersGapless(t *testing.T, svc session.Service) {
	create(t, svc, session.KindSession)
	const each = 3
	got := make([]int64, writers()*each)
	together(writers(), func(i int) {
		for j := range each {
			e := sets(fmt.Sprint("writer ", i), session.State{fmt.Sprint("k", i): j})
			resp, err := svc.AppendEvent(t.Context(), &session.AppendEventRequest{Key: testKey, Event: e})
			if err != nil {
				t.Errorf("writer %d: got error %v", i, err)
				return
			}
			got[i*each+j] = resp.Event.Seq
		}
	})
	n := int64(len(got))
	s := get(t, svc)
	same(t, "sequences read", seqs(s.Events), upTo(1, n))
	for i := range writers() { // each writer's own order
		if !slices.IsSorted(got[i*each : (i+1)*each]) {
			t.Errorf("writer %d got sequences %v", i, got[i*each:(i+1)*each])
		}
		if k := fmt.Sprint("k", i); s.State[k] != num(each-1) {
			t.Errorf("state %s is %v, want %d", k, s.State[k], each-1)
		}
	}
	slices.Sort(got)
	same(t, "sequences answered", got, upTo(1, n))
	if s.HeadSeq != n {
		t.Errorf("HeadSeq is %d, want %d", s.HeadSeq, n)
	}
}

func writersBatches(t *testing.T, svc session.Service) {
	create(t, svc, session.KindSession)
	const size = 5
	together(writers()/2, func(i int) {
		batch := make([]*session.Event, size)
		for j := range batch {
			batch[j] = sets(fmt.Sprint(i), session.State{"last": fmt.Sprint(i, " ", j)})
		}
		resp, err := svc.AppendEvents(t.Context(), &session.AppendEventsRequest{Key: testKey, Events: batch})
		if err != nil {
			t.Errorf("writer %d: got error %v", i, err)
			return
		}
		if first := resp.Events[0].Seq; !slices.Equal(seqs(resp.Events), upTo(first, first+size-1)) {
			t.Errorf("writer %d got sequences %v", i, seqs(resp.Events))
		}
	})
	s := get(t, svc)
	same(t, "sequences", seqs(s.Events), upTo(1, int64(writers()/2*size)))
	for batch := range slices.Chunk(s.Events, size) {
		for _, e := range batch {
			if e.Author != batch[0].Author {
				t.Errorf("sequence %d of %s lies inside the batch of %s", e.Seq, e.Author, batch[0].Author)
			}
		}
	}
	same(t, "the last write", s.State, s.Events[len(s.Events)-1].StateDelta)
}

func writersReplay(t *testing.T, svc session.Service) {
	create(t, svc, session.KindGroup, "ana")
	const n = 32
	answers := make([]*session.AppendEventResponse, n)
	together(n, func(i int) {
		var err error
		answers[i], err = svc.AppendEvent(t.Context(), &session.AppendEventRequest{Key: testKey, Event: keyed("ana")})
		if err != nil {
			t.Errorf("request %d: got error %v", i, err)
		}
	})
	if t.Failed() {
		return
	}
	first := 0
	for _, a := range answers {
		if !a.Replayed {
			first++
		}
		same(t, "the first answer", a.Event, answers[0].Event)
	}
	if first != 1 {
		t.Errorf("%d of %d answers are not Replayed, want 1", first, n)
	}
	same(t, "sequences", seqs(get(t, svc).Events), upTo(1, 2))
}

func writersReplayOthers(t *testing.T, svc session.Service) {
	create(t, svc, session.KindGroup, "ana")
	const n = 16
	var batches, joins atomic.Int32
	together(2*n, func(i int) {
		if i%2 == 0 {
			resp, err := svc.AppendEvents(t.Context(), &session.AppendEventsRequest{
				Key: testKey, Events: []*session.Event{withKey("ana", "1"), withKey("ana", "2")},
			})
			if err != nil {
				t.Errorf("batch: got error %v", err)
			} else if !resp.Replayed {
				batches.Add(1)
			}
			return
		}
		resp, err := svc.Join(t.Context(), &session.JoinRequest{Key: testKey, Member: "ben", Actor: "ana", IdempotencyKey: "join"})
		if err != nil {
			t.Errorf("join: got error %v", err)
		} else if !resp.Replayed {
			joins.Add(1)
		}
	})
	if batches.Load() != 1 || joins.Load() != 1 {
		t.Errorf("%d batches and %d joins are not Replayed, want 1 and 1", batches.Load(), joins.Load())
	}
	same(t, "sequences", seqs(get(t, svc).Events), upTo(1, 4))
}

// Every writer sets keys of its own and touches common ones, half of them in
// the opposite order: locks taken in the order of the request would deadlock.
func writersShared(t *testing.T, svc session.Service) {
	const n = 24
	rounds := full(6, 3)
	keys := make([]session.Key, n)
	for i := range keys {
		keys[i] = session.Key{AppName: "app", UserID: "olga", SessionID: fmt.Sprint(i)}
		ok(svc.Create(t.Context(), &session.CreateRequest{Key: keys[i]}))(t)
	}
	common := []string{"user:z", "app:z", "user:a", "app:a", "app:m", "user:m"}
	together(n, func(i int) {
		order := slices.Clone(common)
		if i%2 == 1 {
			slices.Reverse(order)
		}
		for round := range rounds {
			var batch []*session.Event
			for _, name := range order {
				batch = append(batch, sets("x", session.State{name: i}, order[len(order)-1]+" old"))
			}
			batch = append(batch, sets("x", session.State{
				fmt.Sprint("user:own ", i, " ", round): i, fmt.Sprint("app:own ", i, " ", round): i,
			}))
			if _, err := svc.AppendEvents(t.Context(), &session.AppendEventsRequest{Key: keys[i], Events: batch}); err != nil {
				t.Errorf("writer %d: got error %v", i, err)
			}
		}
	})
	state := shared(t, svc, "app", "olga")
	for i := range n {
		for round := range rounds {
			for _, prefix := range []string{"user:own ", "app:own "} {
				if key := fmt.Sprint(prefix, i, " ", round); state[key] != num(i) {
					t.Errorf("acknowledged key %q is %v, want %d", key, state[key], i)
				}
			}
		}
	}
	if want := 2*n*rounds + len(common); len(state) != want {
		t.Errorf("%d keys, want %d", len(state), want)
	}
}

func writersUpdate(t *testing.T, svc session.Service) {
	create(t, svc, session.KindSession)
	const n, rounds = 12, 4
	together(2*n, func(i int) {
		for round := range rounds {
			delta := session.State{fmt.Sprint("app:", i, " ", round): i, fmt.Sprint("user:", i, " ", round): i, "app:common": i, "user:common": i}
			var err error
			if i%2 == 0 {
				_, err = svc.UpdateState(t.Context(), &session.UpdateStateRequest{AppName: "app", UserID: "olga", Delta: delta})
			} else {
				_, err = svc.AppendEvent(t.Context(), &session.AppendEventRequest{Key: testKey, Event: sets("x", delta)})
			}
			if err != nil {
				t.Errorf("writer %d: got error %v", i, err)
			}
		}
	})
	state := shared(t, svc, "app", "olga")
	if want := 2*2*n*rounds + 2; len(state) != want {
		t.Errorf("%d keys, want %d: %v", len(state), want, slices.Sorted(maps.Keys(state)))
	}
	if state["app:common"] == nil || state["user:common"] == nil {
		t.Error("a key that everybody wrote is lost")
	}
}

// P8 under concurrency: the value is that of the highest sequence.
func writersOneKey(t *testing.T, svc session.Service) {
	create(t, svc, session.KindSession)
	together(writers(), func(i int) {
		e := sets("x", session.State{"k": i, fmt.Sprint("gone ", i): i})
		if i%3 == 0 {
			e = sets("x", nil, "k")
		}
		if _, err := svc.AppendEvent(t.Context(), &session.AppendEventRequest{Key: testKey, Event: e}); err != nil {
			t.Errorf("writer %d: got error %v", i, err)
		}
	})
	s := get(t, svc)
	want := session.State{}
	for _, e := range s.Events {
		maps.Copy(want, e.StateDelta)
		for _, key := range e.StateDelete {
			delete(want, key)
		}
	}
	same(t, "state", s.State, want)
}

func creators(t *testing.T, svc session.Service) {
	for round := range full(6, 3) {
		key := session.Key{AppName: "app", UserID: "olga", SessionID: fmt.Sprint(round)}
		var mu sync.Mutex
		var won []*session.Session
		together(16, func(i int) {
			resp, err := svc.Create(t.Context(), &session.CreateRequest{
				Key: key, Kind: session.KindGroup, Members: []string{fmt.Sprint("member ", i)}, State: session.State{"winner": i, fmt.Sprint("k", i): i},
			})
			if err == nil {
				mu.Lock()
				won = append(won, resp.Session)
				mu.Unlock()
			} else if !errors.Is(err, session.ErrAlreadyExists) {
				t.Errorf("creator %d: got error %v, want ErrAlreadyExists", i, err)
			}
		})
		if len(won) != 1 {
			t.Fatalf("%d creators won, want 1", len(won))
		}
		s := ok(svc.Get(t.Context(), &session.GetRequest{Key: key, WithoutEvents: true}))(t).Session
		same(t, "the winner's session", s, won[0])
	}
}

func expecters(t *testing.T, svc session.Service) {
	create(t, svc, session.KindSession)
	for head := range int64(full(8, 4)) {
		var won atomic.Int32
		together(12, func(i int) {
			e := sets("x", session.State{"k": i})
			_, err := svc.AppendEvent(t.Context(), &session.AppendEventRequest{Key: testKey, Event: e, ExpectedSeq: &head})
			if err == nil {
				won.Add(1)
				return
			}
			var stale *session.StaleError
			if !errors.As(err, &stale) || *stale != (session.StaleError{Key: testKey, Expected: head, Head: head + 1}) {
				t.Errorf("got error %v, want a *StaleError from %d to %d", err, head, head+1)
			}
		})
		if won.Load() != 1 {
			t.Errorf("head %d: %d appends won, want 1", head, won.Load())
		}
	}
}
