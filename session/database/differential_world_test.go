package database_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/hansardlog/hansard/session"
)

// world is one side of the comparison. UIDs and page tokens differ between
// services, so calls and answers use names for them that do not.
type world struct {
	svc    session.Service
	past   []*call           // every call made here
	uids   map[string]string // by name
	names  map[string]string // of UIDs
	tokens map[string]string // by name
}

func newWorld(svc session.Service) *world {
	return &world{svc: svc, uids: map[string]string{}, names: map[string]string{}, tokens: map[string]string{}}
}

// call is one call of a Service; req is a pointer to its request.
type call struct {
	req       any
	cancelled bool
}

func (c *call) String() string {
	text := fmt.Sprintf("%T %s", c.req, dumpValue(c.req))
	if c.cancelled {
		text += " cancelled"
	}
	return strings.TrimPrefix(text, "*session.")
}

// allEvents and allSessions are ranges over the iterators of package session.
type (
	allEvents   session.ListEventsRequest
	allSessions session.ListRequest
)

// unnamed returns a copy of a request that the service understands, nil for nil.
func unnamed[R any](req *R, change func(*R)) *R {
	if req == nil {
		return nil
	}
	c := *req
	change(&c)
	return &c
}

// do makes a call and returns the answer with names.
func (w *world) do(ctx context.Context, c *call) (any, error) {
	w.past = append(w.past, c)
	if c.cancelled {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		cancel()
	}
	switch req := c.req.(type) {
	case *session.CreateRequest:
		resp, err := w.svc.Create(ctx, req)
		if resp != nil {
			w.rename(resp.Session)
		}
		return resp, err
	case *session.GetRequest:
		resp, err := w.svc.Get(ctx, unnamed(req, func(r *session.GetRequest) { r.UID = w.uid(r.UID) }))
		if resp != nil {
			w.rename(resp.Session)
		}
		return resp, err
	case *session.ListRequest:
		resp, err := w.svc.List(ctx, unnamed(req, func(r *session.ListRequest) { r.PageToken = w.token(r.PageToken) }))
		if resp != nil {
			w.rename(resp.Sessions...)
			resp.NextPageToken = w.nameToken(resp.NextPageToken)
		}
		return resp, err
	case *session.DeleteRequest:
		return nil, w.svc.Delete(ctx, unnamed(req, func(r *session.DeleteRequest) { r.UID = w.uid(r.UID) }))
	case *session.AppendEventRequest:
		return w.svc.AppendEvent(ctx, unnamed(req, func(r *session.AppendEventRequest) { r.UID = w.uid(r.UID) }))
	case *session.AppendEventsRequest:
		return w.svc.AppendEvents(ctx, unnamed(req, func(r *session.AppendEventsRequest) { r.UID = w.uid(r.UID) }))
	case *session.ListEventsRequest:
		resp, err := w.svc.ListEvents(ctx, unnamed(req, func(r *session.ListEventsRequest) { r.UID = w.uid(r.UID) }))
		if resp != nil {
			resp.UID = w.name(resp.UID)
		}
		return resp, err
	case *session.JoinRequest:
		return w.svc.Join(ctx, unnamed(req, func(r *session.JoinRequest) { r.UID = w.uid(r.UID) }))
	case *session.LeaveRequest:
		return w.svc.Leave(ctx, unnamed(req, func(r *session.LeaveRequest) { r.UID = w.uid(r.UID) }))
	case *session.ListMembersRequest:
		return w.svc.ListMembers(ctx, unnamed(req, func(r *session.ListMembersRequest) { r.UID = w.uid(r.UID) }))
	case *session.GetStateRequest:
		return w.svc.GetState(ctx, req)
	case *session.UpdateStateRequest:
		return w.svc.UpdateState(ctx, req)
	case *allEvents:
		r := session.ListEventsRequest(*req)
		r.UID = w.uid(r.UID)
		var events []*session.Event
		for e, err := range session.AllEvents(ctx, w.svc, r) {
			if err != nil {
				return events, err
			}
			events = append(events, e)
		}
		return events, nil
	case *allSessions:
		var sessions []*session.Session
		for s, err := range session.AllSessions(ctx, w.svc, session.ListRequest(*req)) {
			if err != nil {
				return sessions, err
			}
			w.rename(s)
			sessions = append(sessions, s)
		}
		return sessions, nil
	}
	panic(fmt.Sprintf("no call for %T", c.req))
}

func (w *world) rename(sessions ...*session.Session) {
	for _, s := range sessions {
		s.UID = w.name(s.UID)
	}
}

// name names a UID, in order of appearance.
func (w *world) name(uid string) string {
	name, ok := w.names[uid]
	if !ok {
		name = fmt.Sprintf("uid%d", len(w.names))
		w.names[uid], w.uids[name] = name, uid
	}
	return name
}

// shouted marks the name of a UID to be given in upper case.
const shouted = "upper case of "

// uid returns the UID of a name; what is no name stays itself.
func (w *world) uid(name string) string {
	if rest, ok := strings.CutPrefix(name, shouted); ok {
		return strings.ToUpper(w.uid(rest))
	}
	if uid, ok := w.uids[name]; ok {
		return uid
	}
	return name
}

// nameToken names a token by the call that returned it.
func (w *world) nameToken(token string) string {
	if token == "" {
		return ""
	}
	name := fmt.Sprintf("token%d", len(w.past))
	w.tokens[name] = token
	return name
}

func (w *world) token(name string) string {
	if token, ok := w.tokens[name]; ok {
		return token
	}
	return name
}
