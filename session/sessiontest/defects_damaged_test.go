package sessiontest_test

import (
	"context"

	"github.com/hansardlog/hansard/session"
)

// damaged passes every call on to a service, but for those that have a
// replacement.
type damaged struct {
	session.Service
	create       func(context.Context, *session.CreateRequest) (*session.CreateResponse, error)
	get          func(context.Context, *session.GetRequest) (*session.GetResponse, error)
	list         func(context.Context, *session.ListRequest) (*session.ListResponse, error)
	remove       func(context.Context, *session.DeleteRequest) error
	appendEvent  func(context.Context, *session.AppendEventRequest) (*session.AppendEventResponse, error)
	appendEvents func(context.Context, *session.AppendEventsRequest) (*session.AppendEventsResponse, error)
	listEvents   func(context.Context, *session.ListEventsRequest) (*session.ListEventsResponse, error)
	join         func(context.Context, *session.JoinRequest) (*session.JoinResponse, error)
	listMembers  func(context.Context, *session.ListMembersRequest) (*session.ListMembersResponse, error)
	getState     func(context.Context, *session.GetStateRequest) (*session.GetStateResponse, error)
	updateState  func(context.Context, *session.UpdateStateRequest) (*session.UpdateStateResponse, error)
}

func (d *damaged) Create(ctx context.Context, req *session.CreateRequest) (*session.CreateResponse, error) {
	if d.create != nil {
		return d.create(ctx, req)
	}
	return d.Service.Create(ctx, req)
}

func (d *damaged) Get(ctx context.Context, req *session.GetRequest) (*session.GetResponse, error) {
	if d.get != nil {
		return d.get(ctx, req)
	}
	return d.Service.Get(ctx, req)
}

func (d *damaged) List(ctx context.Context, req *session.ListRequest) (*session.ListResponse, error) {
	if d.list != nil {
		return d.list(ctx, req)
	}
	return d.Service.List(ctx, req)
}

func (d *damaged) Delete(ctx context.Context, req *session.DeleteRequest) error {
	if d.remove != nil {
		return d.remove(ctx, req)
	}
	return d.Service.Delete(ctx, req)
}

func (d *damaged) AppendEvent(ctx context.Context, req *session.AppendEventRequest) (*session.AppendEventResponse, error) {
	if d.appendEvent != nil {
		return d.appendEvent(ctx, req)
	}
	return d.Service.AppendEvent(ctx, req)
}

func (d *damaged) AppendEvents(ctx context.Context, req *session.AppendEventsRequest) (*session.AppendEventsResponse, error) {
	if d.appendEvents != nil {
		return d.appendEvents(ctx, req)
	}
	return d.Service.AppendEvents(ctx, req)
}

func (d *damaged) ListEvents(ctx context.Context, req *session.ListEventsRequest) (*session.ListEventsResponse, error) {
	if d.listEvents != nil {
		return d.listEvents(ctx, req)
	}
	return d.Service.ListEvents(ctx, req)
}

func (d *damaged) Join(ctx context.Context, req *session.JoinRequest) (*session.JoinResponse, error) {
	if d.join != nil {
		return d.join(ctx, req)
	}
	return d.Service.Join(ctx, req)
}

func (d *damaged) ListMembers(ctx context.Context, req *session.ListMembersRequest) (*session.ListMembersResponse, error) {
	if d.listMembers != nil {
		return d.listMembers(ctx, req)
	}
	return d.Service.ListMembers(ctx, req)
}

func (d *damaged) GetState(ctx context.Context, req *session.GetStateRequest) (*session.GetStateResponse, error) {
	if d.getState != nil {
		return d.getState(ctx, req)
	}
	return d.Service.GetState(ctx, req)
}

func (d *damaged) UpdateState(ctx context.Context, req *session.UpdateStateRequest) (*session.UpdateStateResponse, error) {
	if d.updateState != nil {
		return d.updateState(ctx, req)
	}
	return d.Service.UpdateState(ctx, req)
}

// onAppend replaces AppendEvent by f, which may call the real one.
func onAppend(svc session.Service, f func(context.Context, *session.AppendEventRequest) (*session.AppendEventResponse, error)) *damaged {
	return &damaged{Service: svc, appendEvent: f}
}

// onEvent changes the event before it is appended; f gets a copy.
func onEvent(svc session.Service, f func(e *session.Event)) *damaged {
	return onAppend(svc, func(ctx context.Context, req *session.AppendEventRequest) (*session.AppendEventResponse, error) {
		changed := *req
		if req.Event != nil {
			e := *req.Event
			f(&e)
			changed.Event = &e
		}
		return svc.AppendEvent(ctx, &changed)
	})
}

// onRead changes the events that Get and ListEvents return.
func onRead(svc session.Service, f func(key session.Key, events []*session.Event) []*session.Event) *damaged {
	return &damaged{
		Service: svc,
		get: func(ctx context.Context, req *session.GetRequest) (*session.GetResponse, error) {
			resp, err := svc.Get(ctx, req)
			if err == nil {
				resp.Session.Events = f(req.Key, resp.Session.Events)
			}
			return resp, err
		},
		listEvents: func(ctx context.Context, req *session.ListEventsRequest) (*session.ListEventsResponse, error) {
			resp, err := svc.ListEvents(ctx, req)
			if err == nil {
				resp.Events = f(req.Key, resp.Events)
			}
			return resp, err
		},
	}
}

// onSession changes the session that Get returns.
func onSession(svc session.Service, f func(ctx context.Context, req *session.GetRequest, s *session.Session)) *damaged {
	return &damaged{Service: svc, get: func(ctx context.Context, req *session.GetRequest) (*session.GetResponse, error) {
		resp, err := svc.Get(ctx, req)
		if err == nil {
			f(ctx, req, resp.Session)
		}
		return resp, err
	}}
}
