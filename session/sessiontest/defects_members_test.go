package sessiontest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/hansardlog/hansard/session"
)

// memberDefects damage membership, visibility, errors and incarnations.
var memberDefects = []defect{
	{"ErrNotFound instead of ErrNotMember", "append", "ErrNotMember", func(svc session.Service) session.Service {
		return onAppend(svc, func(ctx context.Context, req *session.AppendEventRequest) (*session.AppendEventResponse, error) {
			resp, err := svc.AppendEvent(ctx, req)
			if errors.Is(err, session.ErrNotMember) {
				err = session.ErrNotFound
			}
			return resp, err
		})
	}},
	{"ErrNotMember tells what exists", "visibility", "rule 11: strangers", func(svc session.Service) session.Service {
		return &damaged{Service: svc, get: func(ctx context.Context, req *session.GetRequest) (*session.GetResponse, error) {
			resp, err := svc.Get(ctx, req)
			if errors.Is(err, session.ErrNotMember) {
				err = fmt.Errorf("get %v as %s: %w", req.Key, req.Viewer, err)
			}
			return resp, err
		}}
	}},
	{"ErrNotMember where nobody asked as a member", "membership", "ErrNotFound", func(svc session.Service) session.Service {
		return &damaged{Service: svc, listMembers: func(ctx context.Context, req *session.ListMembersRequest) (*session.ListMembersResponse, error) {
			resp, err := svc.ListMembers(ctx, req)
			if errors.Is(err, session.ErrNotFound) {
				err = session.ErrNotMember
			}
			return resp, err
		}}
	}},
	{"viewer sees everything", "visibility", "rule 11: a member reads", func(svc session.Service) session.Service {
		return onSession(svc, func(ctx context.Context, req *session.GetRequest, s *session.Session) {
			all := *req
			all.Viewer = ""
			if resp, err := svc.Get(ctx, &all); err == nil {
				s.Events = resp.Session.Events
			}
		})
	}},
	{"a viewer's HeadSeq is the session's", "visibility", "rule 11: HeadSeq", func(svc session.Service) session.Service {
		return onSession(svc, func(ctx context.Context, req *session.GetRequest, s *session.Session) {
			if resp, err := svc.Get(ctx, &session.GetRequest{Key: req.Key, WithoutEvents: true}); err == nil {
				s.HeadSeq = resp.Session.HeadSeq
			}
		})
	}},
	{"a former member's UpdatedAt is the session's", "visibility", "rule 11: HeadSeq", func(svc session.Service) session.Service {
		return onSession(svc, func(ctx context.Context, req *session.GetRequest, s *session.Session) {
			if resp, err := svc.Get(ctx, &session.GetRequest{Key: req.Key, WithoutEvents: true}); err == nil {
				s.UpdatedAt = resp.Session.UpdatedAt
			}
		})
	}},
	{"a former member sees session keys", "visibility", "rule 11: a former member sees", func(svc session.Service) session.Service {
		return onSession(svc, func(ctx context.Context, req *session.GetRequest, s *session.Session) {
			if resp, err := svc.Get(ctx, &session.GetRequest{Key: req.Key, WithoutEvents: true}); err == nil {
				for key, v := range resp.Session.State {
					if !strings.Contains(key, ":") {
						s.State[key] = v
					}
				}
			}
		})
	}},
	{"More counts hidden events", "visibility", "rule 11: pages", func(svc session.Service) session.Service {
		return &damaged{Service: svc, listEvents: func(ctx context.Context, req *session.ListEventsRequest) (*session.ListEventsResponse, error) {
			resp, err := svc.ListEvents(ctx, req)
			if err != nil || req.Viewer == "" || len(resp.Events) == 0 {
				return resp, err
			}
			rest := *req
			rest.Viewer, rest.Limit = "", 1
			if last := resp.Events[len(resp.Events)-1].Seq; req.Descending {
				rest.BeforeSeq = last
			} else {
				rest.AfterSeq = last
			}
			after, err := svc.ListEvents(ctx, &rest)
			if err != nil {
				return nil, err
			}
			resp.More = len(after.Events) > 0
			return resp, nil
		}}
	}},
	{"the owner views every group", "visibility", "rule 10", func(svc session.Service) session.Service {
		return &damaged{Service: svc, get: func(ctx context.Context, req *session.GetRequest) (*session.GetResponse, error) {
			changed := *req
			if req.Viewer == req.Key.UserID {
				changed.Viewer = ""
			}
			return svc.Get(ctx, &changed)
		}}
	}},
	{"the leaver is not listed at the own leave", "membership", "rule 10: AtSeq, now", func(svc session.Service) session.Service {
		return &damaged{Service: svc, listMembers: func(ctx context.Context, req *session.ListMembersRequest) (*session.ListMembersResponse, error) {
			resp, err := svc.ListMembers(ctx, req)
			if err == nil && req.AtSeq != 0 {
				resp.Periods = slices.DeleteFunc(resp.Periods, func(p session.Period) bool { return p.ToSeq == req.AtSeq })
			}
			return resp, err
		}}
	}},
	{"AtSeq above the head answered", "membership", "rule 10: AtSeq above", func(svc session.Service) session.Service {
		return &damaged{Service: svc, listMembers: func(ctx context.Context, req *session.ListMembersRequest) (*session.ListMembersResponse, error) {
			resp, err := svc.ListMembers(ctx, req)
			if errors.Is(err, session.ErrInvalidArgument) {
				return svc.ListMembers(ctx, &session.ListMembersRequest{Key: req.Key, UID: req.UID})
			}
			return resp, err
		}}
	}},
	{"kind asked before the actor", "membership", "rule 8", func(svc session.Service) session.Service {
		return &damaged{Service: svc, join: func(ctx context.Context, req *session.JoinRequest) (*session.JoinResponse, error) {
			resp, err := svc.Get(ctx, &session.GetRequest{Key: req.Key, UID: req.UID, WithoutEvents: true})
			if err == nil && resp.Session.Kind != session.KindGroup {
				return nil, &session.ArgumentError{Field: "Key", Reason: "no group"}
			}
			return svc.Join(ctx, req)
		}}
	}},
	{"a replayed join shows the period as it is now", "idempotency", "joins and leaves: the first answer", func(svc session.Service) session.Service {
		return &damaged{Service: svc, join: func(ctx context.Context, req *session.JoinRequest) (*session.JoinResponse, error) {
			resp, err := svc.Join(ctx, req)
			if err != nil || !resp.Replayed {
				return resp, err
			}
			all, err := svc.ListMembers(ctx, &session.ListMembersRequest{Key: req.Key, History: true})
			if err != nil {
				return nil, err
			}
			for _, p := range all.Periods {
				if p.FromSeq == resp.Period.FromSeq {
					resp.Period = p
				}
			}
			return resp, nil
		}}
	}},
	{"UID ignored", "incarnation", "rule 1", func(svc session.Service) session.Service {
		return &damaged{Service: svc, get: func(ctx context.Context, req *session.GetRequest) (*session.GetResponse, error) {
			changed := *req
			changed.UID = ""
			return svc.Get(ctx, &changed)
		}}
	}},
	{"a wrong UID is an invalid argument", "incarnation", "rule 1", func(svc session.Service) session.Service {
		return &damaged{Service: svc, get: func(ctx context.Context, req *session.GetRequest) (*session.GetResponse, error) {
			if req.UID != "" && len(req.UID) != 36 {
				return nil, &session.ArgumentError{Field: "UID", Reason: "no UUID"}
			}
			return svc.Get(ctx, req)
		}}
	}},
	{"delete ignores the UID", "incarnation", "deleting what is not there", func(svc session.Service) session.Service {
		return &damaged{Service: svc, remove: func(ctx context.Context, req *session.DeleteRequest) error {
			return svc.Delete(ctx, &session.DeleteRequest{Key: req.Key})
		}}
	}},
	{"delete leaves old events", "incarnation", "rule 12: a new session", deleteLeavesEvents},
	{"an append revives what is gone", "incarnation", "rule 12: appending", func(svc session.Service) session.Service {
		return onAppend(svc, func(ctx context.Context, req *session.AppendEventRequest) (*session.AppendEventResponse, error) {
			resp, err := svc.AppendEvent(ctx, req)
			if errors.Is(err, session.ErrNotMember) && req.UID == "" {
				if _, err := svc.Create(ctx, &session.CreateRequest{Key: req.Key}); err == nil {
					return svc.AppendEvent(ctx, req)
				}
			}
			return resp, err
		})
	}},
}

// deleteLeavesEvents shows the events of the last incarnation before those of
// the present one.
func deleteLeavesEvents(svc session.Service) session.Service {
	var old sync.Map // session.Key to []*session.Event
	d := onRead(svc, func(key session.Key, events []*session.Event) []*session.Event {
		if left, ok := old.Load(key); ok {
			return append(slices.Clone(left.([]*session.Event)), events...)
		}
		return events
	})
	d.remove = func(ctx context.Context, req *session.DeleteRequest) error {
		resp, err := svc.Get(ctx, &session.GetRequest{Key: req.Key})
		if err == nil {
			old.Store(req.Key, resp.Session.Events)
		}
		return svc.Delete(ctx, req)
	}
	return d
}
