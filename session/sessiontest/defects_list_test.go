package sessiontest_test

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/hansardlog/hansard/session"
)

// listDefects damage List and its pages.
var listDefects = []defect{
	{"token not bound", "list", "rule 14: a token", func(svc session.Service) session.Service {
		return &damaged{Service: svc, list: func(ctx context.Context, req *session.ListRequest) (*session.ListResponse, error) {
			resp, err := svc.List(ctx, req)
			if errors.Is(err, session.ErrInvalidArgument) && req.PageToken != "" {
				first := *req
				first.PageToken = ""
				return svc.List(ctx, &first)
			}
			return resp, err
		}}
	}},
	{"a token after the last full page", "list", "rule 14: pages cover", func(svc session.Service) session.Service {
		return &damaged{Service: svc, list: func(ctx context.Context, req *session.ListRequest) (*session.ListResponse, error) {
			if req.PageToken == "end" {
				return &session.ListResponse{}, nil
			}
			resp, err := svc.List(ctx, req)
			if err == nil && resp.NextPageToken == "" && len(resp.Sessions) == req.PageSize {
				resp.NextPageToken = "end"
			}
			return resp, err
		}}
	}},
	{"owners ordered without regard to case", "list", "OrderCreated", func(svc session.Service) session.Service {
		return &damaged{Service: svc, list: func(ctx context.Context, req *session.ListRequest) (*session.ListResponse, error) {
			resp, err := svc.List(ctx, req)
			if err == nil {
				slices.SortStableFunc(resp.Sessions, func(a, b *session.Session) int {
					return strings.Compare(strings.ToLower(a.Key.UserID), strings.ToLower(b.Key.UserID))
				})
			}
			return resp, err
		}}
	}},
	{"ties by SessionID, ascending", "list", "OrderUpdated: ties", func(svc session.Service) session.Service {
		return &damaged{Service: svc, list: func(ctx context.Context, req *session.ListRequest) (*session.ListResponse, error) {
			resp, err := svc.List(ctx, req)
			if err == nil && req.Order == session.OrderUpdated {
				slices.Reverse(resp.Sessions)
				slices.SortStableFunc(resp.Sessions, func(a, b *session.Session) int { return b.UpdatedAt.Compare(a.UpdatedAt) })
			}
			return resp, err
		}}
	}},
	{"former members listed", "list", "filters", func(svc session.Service) session.Service {
		return &damaged{Service: svc, list: func(ctx context.Context, req *session.ListRequest) (*session.ListResponse, error) {
			if req.Member == "" {
				return svc.List(ctx, req)
			}
			all := *req
			all.Member = ""
			resp, err := svc.List(ctx, &all)
			if err == nil {
				resp.Sessions = slices.DeleteFunc(resp.Sessions, func(s *session.Session) bool {
					_, err := svc.Get(ctx, &session.GetRequest{Key: s.Key, Viewer: req.Member})
					return err != nil
				})
			}
			return resp, err
		}}
	}},
	{"state of the owner for a member", "visibility", "rule 6", func(svc session.Service) session.Service {
		return &damaged{Service: svc, list: func(ctx context.Context, req *session.ListRequest) (*session.ListResponse, error) {
			resp, err := svc.List(ctx, req)
			if err == nil && req.WithState {
				for _, s := range resp.Sessions {
					whole, err := svc.Get(ctx, &session.GetRequest{Key: s.Key, WithoutEvents: true})
					if err != nil {
						return nil, err
					}
					s.State = whole.Session.State
				}
			}
			return resp, err
		}}
	}},
	{"a page of 1001", "bad input", "negative numbers", func(svc session.Service) session.Service {
		return &damaged{Service: svc, list: func(ctx context.Context, req *session.ListRequest) (*session.ListResponse, error) {
			changed := *req
			changed.PageSize = min(changed.PageSize, session.MaxPageSize)
			return svc.List(ctx, &changed)
		}}
	}},
	{"empty instead of nil", "events", "ListEvents: bounds", func(svc session.Service) session.Service {
		return onRead(svc, func(_ session.Key, events []*session.Event) []*session.Event {
			if events == nil {
				events = []*session.Event{}
			}
			return events
		})
	}},
}
