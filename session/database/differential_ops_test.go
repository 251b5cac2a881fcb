package database_test

import (
	"context"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"time"

	"github.com/hansardlog/hansard/session"
)

// model is what the generator knows of the state that the calls have made.
type model struct {
	oracle *world
	keys   []session.Key // of every session that was created, the deleted ones too
	uids   []string      // by name
	lists  []session.ListRequest
	writes []int // of the calls that wrote events
	calls  int
}

// learn takes in the oracle's answer to a call.
func (m *model) learn(c *call, answer any) {
	defer func() { m.calls++ }()
	switch resp := answer.(type) {
	case *session.CreateResponse:
		if resp != nil {
			if !slices.Contains(m.keys, resp.Session.Key) {
				m.keys = append(m.keys, resp.Session.Key)
			}
			m.uids = append(m.uids, resp.Session.UID)
		}
	case *session.ListResponse:
		if resp != nil && resp.NextPageToken != "" {
			next := *c.req.(*session.ListRequest)
			next.PageToken = resp.NextPageToken
			m.lists = append(m.lists, next)
		}
	case *session.AppendEventResponse, *session.AppendEventsResponse, *session.JoinResponse, *session.LeaveResponse:
		if !reflect.ValueOf(resp).IsNil() {
			m.writes = append(m.writes, m.calls)
		}
	}
}

// look asks the oracle, which costs neither a clock reading nor an ID.
func (m *model) look(key session.Key) (s *session.Session, members []string) {
	ctx := context.Background()
	got, err := m.oracle.svc.Get(ctx, &session.GetRequest{Key: key, WithoutEvents: true})
	if err != nil {
		return &session.Session{}, nil
	}
	m.oracle.rename(got.Session)
	list, err := m.oracle.svc.ListMembers(ctx, &session.ListMembersRequest{Key: key})
	if err == nil {
		for _, p := range list.Periods {
			members = append(members, p.Member)
		}
	}
	return got.Session, members
}

// everything returns requests that read all there is.
func (m *model) everything() []any {
	var reqs []any
	for _, app := range apps {
		reqs = append(reqs, &allSessions{AppName: app, WithState: true})
		for _, user := range users {
			reqs = append(reqs, &session.GetStateRequest{AppName: app, UserID: user})
		}
		for _, member := range people {
			reqs = append(reqs, &allSessions{AppName: app, Member: member, Order: session.OrderUpdated, WithState: true})
		}
	}
	for _, key := range m.keys {
		reqs = append(reqs, &session.GetRequest{Key: key}, &session.ListMembersRequest{Key: key, History: true})
		for _, viewer := range people {
			reqs = append(reqs, &session.GetRequest{Key: key, Viewer: viewer})
		}
	}
	return reqs
}

// generator makes the calls: it gives equal calls for equal random numbers, and
// none that shares memory with another.
type generator struct {
	*rand.Rand
	m *model
}

// call returns the next call; past are those that may be made again.
func (g *generator) call(past []*call) *call {
	c := &call{cancelled: g.chance(2)}
	switch n := g.IntN(100); {
	case n < 8 || len(g.m.keys) == 0:
		c.req = g.create()
	case n < 17:
		c.req = g.get()
	case n < 23:
		c.req = g.list()
	case n < 25:
		key := g.key()
		c.req = &session.DeleteRequest{Key: key, UID: g.uid(key)}
	case n < 43:
		key := g.key()
		c.req = &session.AppendEventRequest{Key: key, UID: g.uid(key), Event: g.event(key), ExpectedSeq: g.expected(key)}
	case n < 50:
		c.req = g.batch()
	case n < 57:
		c.req = g.change()
	case n < 62:
		r := session.LeaveRequest(*g.change())
		c.req = &r
	case n < 66:
		key := g.key()
		r := &session.ListMembersRequest{Key: key, UID: g.uid(key), AtSeq: g.seq(key), History: g.chance(40)}
		if r.History && g.chance(90) {
			r.AtSeq = 0
		}
		c.req = r
	case n < 68:
		c.req = &session.GetStateRequest{AppName: g.name(apps), UserID: g.orEmpty(30, users)}
	case n < 73:
		set, del := g.delta(sharedKeys)
		c.req = &session.UpdateStateRequest{AppName: g.name(apps), UserID: g.orEmpty(20, users), Delta: set, Delete: del}
	case n < 80:
		c.req = g.listEvents()
	case n < 82:
		c.req = (*allEvents)(g.listEvents())
	case n < 83:
		r := g.list()
		r.PageToken = ""
		c.req = (*allSessions)(r)
	case n < 84:
		c.req = pick(g, nilRequests)
	default:
		i := g.recent(len(past))
		if len(g.m.writes) > 0 && g.chance(80) {
			i = g.m.writes[g.recent(len(g.m.writes))]
		}
		c.req = g.again(past[i].req)
	}
	return c
}

var nilRequests = []any{
	(*session.CreateRequest)(nil), (*session.GetRequest)(nil), (*session.ListRequest)(nil), (*session.DeleteRequest)(nil),
	(*session.AppendEventRequest)(nil), (*session.AppendEventsRequest)(nil), (*session.ListEventsRequest)(nil),
	(*session.JoinRequest)(nil), (*session.LeaveRequest)(nil), (*session.ListMembersRequest)(nil),
	(*session.GetStateRequest)(nil), (*session.UpdateStateRequest)(nil),
}

// again returns a request that was made before, or nearly that.
func (g *generator) again(req any) any {
	r, ok := req.(*session.AppendEventRequest)
	if !ok || r == nil || r.Event == nil || g.chance(60) {
		return req
	}
	changed, e := *r, *r.Event
	switch g.IntN(5) {
	case 0:
		e.Payload = []byte(`"another request"`)
	case 1:
		e.ID, e.Timestamp = "another id", time.Unix(1, 0) // no part of the request's fingerprint
	case 2:
		e.StateDelta = session.State{"k": "another"}
	case 3:
		changed.ExpectedSeq = new(int64) // asked for after the replay
	case 4:
		e.Author = g.name(people)
	}
	changed.Event = &e
	return &changed
}

func (g *generator) create() *session.CreateRequest {
	r := &session.CreateRequest{
		Key:   session.Key{AppName: g.name(apps), UserID: g.name(users), SessionID: g.orEmpty(15, sessionIDs)},
		Kind:  pick(g, []session.Kind{"", session.KindSession, session.KindDirect, session.KindGroup, session.KindGroup, session.KindGroup}),
		State: g.state(stateKeys),
	}
	if g.chance(2) {
		r.Kind = "room"
	}
	switch n := g.IntN(10); {
	case n == 0:
	case r.Kind == session.KindDirect:
		r.Members = g.some(people, 2)
	case r.Kind == session.KindGroup:
		r.Members = g.some(people, 1+g.IntN(4))
	case n == 1:
		r.Members = g.some(people, 1)
	}
	if len(r.Members) > 0 && g.chance(4) {
		r.Members = append(r.Members, g.name(people)) // perhaps one twice, or too many
	}
	if g.chance(20) {
		r.CreatedAt = g.time()
	}
	return r
}

func (g *generator) get() *session.GetRequest {
	key := g.key()
	r := &session.GetRequest{Key: key, UID: g.uid(key), Viewer: g.viewer(key), WithoutEvents: g.chance(10), AfterSeq: g.seq(key)}
	if g.chance(40) {
		r.NumRecentEvents = pick(g, []int{1, 1, 2, 2, 3, 3, 5, 10, math.MaxInt, -1})
	}
	if g.chance(30) {
		r.After = g.time()
	}
	return r
}

func (g *generator) list() *session.ListRequest {
	if len(g.m.lists) > 0 && g.chance(40) {
		r := pick(g, g.m.lists)
		switch g.IntN(12) {
		case 0: // the token belongs to another list now, unless the name is the same
			r.Member = g.orEmpty(50, people)
		case 1:
			r.UserID = g.orEmpty(50, users)
		case 2:
			r.Order = session.OrderUpdated
		case 3:
			r.PageToken = "AAAA"
		case 4:
			r.PageSize, r.WithState = 1000, true
		}
		return &r
	}
	r := &session.ListRequest{
		AppName:   g.name(apps),
		UserID:    g.orEmpty(60, users),
		Member:    g.orEmpty(60, people),
		Order:     pick(g, []session.Order{"", session.OrderCreated, session.OrderUpdated}),
		PageSize:  pick(g, []int{0, 1, 1, 2, 2, 3, 3, 1000}),
		WithState: g.chance(50),
	}
	switch g.IntN(40) {
	case 0:
		r.Order = "latest"
	case 1:
		r.PageSize = pick(g, []int{-1, 1001})
	}
	return r
}

func (g *generator) listEvents() *session.ListEventsRequest {
	key := g.key()
	r := &session.ListEventsRequest{
		Key: key, UID: g.uid(key), Viewer: g.viewer(key),
		AfterSeq: g.seq(key), BeforeSeq: g.seq(key), Descending: g.chance(40),
		Limit: pick(g, []int{0, 1, 1, 2, 3, 1000}),
		Epoch: pick(g, []int64{0, 0, 0, 0, 1, 1}),
	}
	switch g.IntN(30) {
	case 0:
		r.Limit = pick(g, []int{-1, 1001})
	case 1:
		r.Epoch = pick(g, []int64{-1, 2, 2, 2})
	}
	return r
}

func (g *generator) batch() *session.AppendEventsRequest {
	key := g.key()
	r := &session.AppendEventsRequest{Key: key, UID: g.uid(key), ExpectedSeq: g.expected(key)}
	if g.chance(4) {
		return r // without events
	}
	for range 1 + g.IntN(4) {
		r.Events = append(r.Events, g.event(key))
	}
	return r
}

func (g *generator) change() *session.JoinRequest {
	key := g.key()
	_, members := g.m.look(key)
	r := &session.JoinRequest{Key: key, UID: g.uid(key), Member: g.name(people), IdempotencyKey: g.orEmpty(50, requestKeys)}
	if len(members) > 0 && g.chance(40) {
		r.Member = pick(g, members)
	}
	if g.chance(50) {
		r.Actor = g.actor(key)
	}
	if g.chance(30) {
		r.Payload = g.payload()
	}
	return r
}

func (g *generator) event(key session.Key) *session.Event {
	e := &session.Event{
		Author:         g.actor(key),
		IdempotencyKey: g.orEmpty(50, requestKeys),
		Partial:        g.chance(8),
		Payload:        g.payload(),
		ID:             g.orEmpty(70, sessionIDs),
		InvocationID:   g.orEmpty(70, sessionIDs),
		Branch:         g.orEmpty(80, sessionIDs),
		Format:         g.orEmpty(80, sessionIDs),
	}
	if g.chance(60) {
		e.StateDelta, e.StateDelete = g.delta(stateKeys)
	}
	if g.chance(30) {
		e.Timestamp = g.time()
	}
	if g.chance(10) {
		e.Seq, e.RecordedAt = 99, time.Unix(0, 0) // ignored
	}
	switch g.IntN(60) {
	case 0:
		return nil
	case 1:
		e.Kind = pick(g, []session.EventKind{session.EventJoin, session.EventLeave, session.EventRecall, "note"})
	case 2:
		e.Subject = g.name(people)
	case 3, 4, 5:
		e.Kind = session.EventMessage
	}
	return e
}
