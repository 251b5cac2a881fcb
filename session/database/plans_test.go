package database_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hansardlog/hansard/session"
	"github.com/hansardlog/hansard/session/database"
)

// planned is a call of which the plan of every statement is looked at.
type planned struct {
	name string
	call func(p planCall) error
	stop string // part of a statement that is looked at and not run
	want string // expression for the plans on PostgreSQL together
}

// planCall is what a call has to do with.
type planCall struct {
	context.Context
	svc  *database.Service
	key  session.Key
	head int64
}

func (p planCall) get(req session.GetRequest) error {
	req.Key = p.key
	_, err := p.svc.Get(p, &req)
	return err
}

func (p planCall) list(req session.ListEventsRequest) error {
	req.Key = p.key
	_, err := p.svc.ListEvents(p, &req)
	return err
}

func (p planCall) sessions(req session.ListRequest) error {
	req.AppName = p.key.AppName
	for range 2 { // the second page goes by a token
		resp, err := p.svc.List(p, &req)
		if err != nil || resp.NextPageToken == "" {
			return err
		}
		req.PageToken = resp.NextPageToken
	}
	return nil
}

func (p planCall) append(events ...*session.Event) error {
	if len(events) == 1 {
		_, err := p.svc.AppendEvent(p, &session.AppendEventRequest{Key: p.key, Event: events[0]})
		return err
	}
	_, err := p.svc.AppendEvents(p, &session.AppendEventsRequest{Key: p.key, Events: events})
	return err
}

// keyedBatch is a batch of 100 messages of three authors.
func keyedBatch() []*session.Event {
	var events []*session.Event
	for i := range 100 {
		e := keyed([]string{"ana", "ben", "cem"}[i%3], fmt.Sprintf("batch %d", i), "words")
		e.StateDelta = session.State{fmt.Sprintf("k%d", i): i, fmt.Sprintf("app:k%d", i): i, fmt.Sprintf("user:k%d", i): i}
		events = append(events, e)
	}
	return events
}

const (
	byPrimaryKey = `hansard_events_pkey`
	newestFirst  = `Index Scan Backward using hansard_events_pkey on hansard_events`
	byRequestKey = `using hansard_events_request on hansard_events`
)

// plannedCalls run in this order: some need what one before has stored.
var plannedCalls = []planned{
	{"get all", func(p planCall) error { return p.get(session.GetRequest{}) }, "ORDER BY e.seq", byPrimaryKey},
	{"get recent", func(p planCall) error { return p.get(session.GetRequest{NumRecentEvents: 50}) }, "", newestFirst},
	{"get after a time", func(p planCall) error { return p.get(session.GetRequest{After: time.UnixMicro(p.head - 10)}) }, "", byPrimaryKey},
	{"first page", func(p planCall) error { return p.list(session.ListEventsRequest{}) }, "", byPrimaryKey},
	{"page in the middle", func(p planCall) error { return p.list(session.ListEventsRequest{AfterSeq: p.head / 2}) }, "", byPrimaryKey},
	{"page descending", func(p planCall) error {
		return p.list(session.ListEventsRequest{BeforeSeq: p.head / 2, Descending: true})
	}, "", newestFirst},
	{"leave", func(p planCall) error {
		_, err := p.svc.Leave(p, &session.LeaveRequest{Key: p.key, Member: "ben", Actor: "ana", IdempotencyKey: "out"})
		return err
	}, "", byRequestKey},
	{"get as a former member", func(p planCall) error { return p.get(session.GetRequest{Viewer: "ben", NumRecentEvents: 5}) }, "", byPrimaryKey},
	{"join", func(p planCall) error {
		_, err := p.svc.Join(p, &session.JoinRequest{Key: p.key, Member: "ben", Actor: "ana", IdempotencyKey: "in"})
		return err
	}, "", byRequestKey},
	{"page of a viewer", func(p planCall) error {
		return p.list(session.ListEventsRequest{Viewer: "ben", AfterSeq: p.head - 20, Limit: 1000})
	}, "", byPrimaryKey},
	{"append", func(p planCall) error { return p.append(words("ana", "words")) }, "", ""},
	{"append with key", func(p planCall) error { return p.append(keyed("ana", "one", "words")) }, "", byRequestKey},
	{"replay", func(p planCall) error { return p.append(keyed("ana", "one", "words")) }, "", byRequestKey},
	{"batch with keys", func(p planCall) error { return p.append(keyedBatch()...) }, "", byRequestKey},
	{"replay of the batch", func(p planCall) error { return p.append(keyedBatch()...) }, "", byRequestKey},
	{"list members", func(p planCall) error {
		_, err := p.svc.ListMembers(p, &session.ListMembersRequest{Key: p.key})
		return err
	}, "", ""},
	{"list by owner", func(p planCall) error {
		return p.sessions(session.ListRequest{UserID: "olga", PageSize: 10, WithState: true})
	}, "", "hansard_conversations_owner"},
	{"list by app", func(p planCall) error { return p.sessions(session.ListRequest{PageSize: 10}) }, "", "hansard_conversations_owner"},
	{"list by owner, last change first", func(p planCall) error {
		return p.sessions(session.ListRequest{UserID: "olga", PageSize: 10, Order: session.OrderUpdated})
	}, "", "hansard_conversations_owner"},
	{"list by member", func(p planCall) error {
		return p.sessions(session.ListRequest{Member: "ana", PageSize: 10, WithState: true})
	}, "", "hansard_membership_periods_member"},
	{"list by member, last change first", func(p planCall) error {
		return p.sessions(session.ListRequest{Member: "ana", PageSize: 10, Order: session.OrderUpdated})
	}, "", "hansard_membership_periods_member"},
	{"shared state", func(p planCall) error {
		_, err := p.svc.GetState(p, &session.GetStateRequest{AppName: p.key.AppName, UserID: p.key.UserID})
		return err
	}, "", ""},
	{"create", func(p planCall) error {
		_, err := p.svc.Create(p, &session.CreateRequest{Key: sessionKey("new"), State: session.State{"a": 1}})
		return err
	}, "", ""},
	{"delete", func(p planCall) error {
		return p.svc.Delete(p, &session.DeleteRequest{Key: sessionKey("new")})
	}, "", ""},
	{"delete of a long log", func(p planCall) error {
		return p.svc.Delete(p, &session.DeleteRequest{Key: p.key})
	}, "DELETE FROM hansard_events", byPrimaryKey},
}

var errStopped = errors.New("looked at and not run")

// eachPlanned makes the calls and hands each to look with its statements.
func (r *rig) eachPlanned(t *testing.T, size planSizes, look func(t *testing.T, p planned, sent []statement)) {
	key := r.fillForPlans(t, size)
	if r.postgres() {
		r.exec(t, "ANALYZE")
	}
	for _, p := range plannedCalls {
		t.Run(p.name, func(t *testing.T) {
			r.stop = p.stop
			sent := r.statements(func() {
				err := p.call(planCall{t.Context(), r.svc, key, int64(size.big + 3)})
				if p.stop == "" {
					must(t, err)
				} else if !errors.Is(err, errStopped) {
					t.Fatalf("got error %v, want the one of the statement that is not run", err)
				}
			})
			r.stop = ""
			if len(sent) == 0 {
				t.Fatal("the call sends no statement")
			}
			look(t, p, sent)
		})
	}
}

// distinct returns the first statement of each text.
func distinct(sent []statement) []statement {
	var first []statement
	for _, s := range sent {
		if !slices.ContainsFunc(first, func(f statement) bool { return f.sql == s.sql }) {
			first = append(first, s)
		}
	}
	return first
}

// queryLines returns the last column of a query, a line for each row.
func queryLines(t testing.TB, conn *sql.Conn, query string, args ...any) string {
	t.Helper()
	rows, err := conn.QueryContext(t.Context(), query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	columns := got(rows.Columns())(t)
	into := make([]any, len(columns))
	var line string
	for i := range into {
		into[i] = new(any)
	}
	into[len(into)-1] = &line
	var b strings.Builder
	for rows.Next() {
		must(t, rows.Scan(into...))
		b.WriteString(line + "\n")
	}
	must(t, rows.Err())
	return b.String()
}
