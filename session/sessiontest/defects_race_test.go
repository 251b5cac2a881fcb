package sessiontest_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/hansardlog/hansard/session"
)

// raceDefects behave well as long as one caller comes at a time: they look
// first and act later, without a lock between the two.
var raceDefects = []defect{
	{"a lost state key among writers", "concurrency", "P7: 24 writers", wholeStateWritten},
	{"replays looked for without a lock", "concurrency", "P2: 32 replays", replayUnlocked},
	{"the head looked at without a lock", "concurrency", "ErrStale", func(svc session.Service) session.Service {
		return onAppend(svc, func(ctx context.Context, req *session.AppendEventRequest) (*session.AppendEventResponse, error) {
			changed := *req
			if req.ExpectedSeq != nil {
				resp, err := svc.Get(ctx, &session.GetRequest{Key: req.Key, UID: req.UID, WithoutEvents: true})
				if err == nil && resp.Session.HeadSeq == *req.ExpectedSeq {
					changed.ExpectedSeq = nil
				}
				pause()
			}
			return svc.AppendEvent(ctx, &changed)
		})
	}},
	{"creation looks first and overwrites", "concurrency", "ErrAlreadyExists", func(svc session.Service) session.Service {
		return &damaged{Service: svc, create: func(ctx context.Context, req *session.CreateRequest) (*session.CreateResponse, error) {
			if _, err := svc.Get(ctx, &session.GetRequest{Key: req.Key, WithoutEvents: true}); err == nil {
				return nil, session.ErrAlreadyExists
			}
			pause()
			for {
				resp, err := svc.Create(ctx, req)
				if !errors.Is(err, session.ErrAlreadyExists) {
					return resp, err
				}
				if err := svc.Delete(ctx, &session.DeleteRequest{Key: req.Key}); err != nil {
					return nil, err
				}
			}
		}}
	}},
	{"a second join answered as the first", "concurrency", "P3", func(svc session.Service) session.Service {
		return &damaged{Service: svc, join: func(ctx context.Context, req *session.JoinRequest) (*session.JoinResponse, error) {
			before, err := svc.ListMembers(ctx, &session.ListMembersRequest{Key: req.Key, UID: req.UID})
			if err != nil {
				return svc.Join(ctx, req)
			}
			pause()
			resp, err := svc.Join(ctx, req)
			for _, p := range before.Periods {
				if p.Member == req.Member {
					return resp, err
				}
			}
			if errors.Is(err, session.ErrAlreadyMember) { // it was none when we looked
				return &session.JoinResponse{}, nil
			}
			return resp, err
		}}
	}},
	{"Get reads at two instants", "concurrency", "a read is one snapshot", func(svc session.Service) session.Service {
		return onSession(svc, func(ctx context.Context, req *session.GetRequest, s *session.Session) {
			pause()
			if later, err := svc.Get(ctx, req); err == nil {
				s.State = later.Session.State
			}
		})
	}},
	{"a batch written one by one", "concurrency", "P1: batches", func(svc session.Service) session.Service {
		return &damaged{Service: svc, appendEvents: func(ctx context.Context, req *session.AppendEventsRequest) (*session.AppendEventsResponse, error) {
			out := &session.AppendEventsResponse{}
			for _, e := range req.Events {
				resp, err := svc.AppendEvent(ctx, &session.AppendEventRequest{Key: req.Key, UID: req.UID, Event: e})
				if err != nil {
					return nil, err
				}
				out.Events = append(out.Events, resp.Event)
				pause()
			}
			return out, nil
		}}
	}},
}

// pause gives others the time to come in between.
func pause() { time.Sleep(time.Millisecond) }

// wholeStateWritten reads the state of a user, appends, and writes the whole
// back with its own keys: keys that others wrote in the meantime are set back
// or removed.
func wholeStateWritten(svc session.Service) session.Service {
	return &damaged{Service: svc, appendEvents: func(ctx context.Context, req *session.AppendEventsRequest) (*session.AppendEventsResponse, error) {
		scope := session.GetStateRequest{AppName: req.Key.AppName, UserID: req.Key.UserID}
		before, err := svc.GetState(ctx, &scope)
		if err != nil {
			return svc.AppendEvents(ctx, req)
		}
		whole := maps.Clone(before.State)
		for _, e := range req.Events {
			for key, v := range e.StateDelta {
				if strings.Contains(key, ":") {
					whole[key] = v
				}
			}
		}
		pause()
		resp, err := svc.AppendEvents(ctx, req)
		if err != nil {
			return nil, err
		}
		now, err := svc.GetState(ctx, &scope)
		if err != nil {
			return nil, err
		}
		change := &session.UpdateStateRequest{AppName: scope.AppName, UserID: scope.UserID, Delta: whole}
		for key := range now.State {
			if _, kept := whole[key]; !kept {
				change.Delete = append(change.Delete, key)
			}
		}
		if _, err := svc.UpdateState(ctx, change); err != nil {
			return nil, err
		}
		return resp, nil
	}}
}

// replayUnlocked remembers answers by author and key, and looks before it
// appends, but not under the lock of the append.
func replayUnlocked(svc session.Service) session.Service {
	type name struct {
		key            session.Key
		author, repeat string
	}
	var answers sync.Map
	return onAppend(svc, func(ctx context.Context, req *session.AppendEventRequest) (*session.AppendEventResponse, error) {
		if req.Event.IdempotencyKey == "" {
			return svc.AppendEvent(ctx, req)
		}
		id := name{req.Key, req.Event.Author, req.Event.IdempotencyKey}
		if first, ok := answers.Load(id); ok {
			return &session.AppendEventResponse{Event: first.(*session.Event), Replayed: true}, nil
		}
		pause()
		e := *req.Event
		e.IdempotencyKey = ""
		resp, err := svc.AppendEvent(ctx, &session.AppendEventRequest{Key: req.Key, UID: req.UID, Event: &e, ExpectedSeq: req.ExpectedSeq})
		if err == nil {
			resp.Event.IdempotencyKey = req.Event.IdempotencyKey
			answers.Store(id, resp.Event)
		}
		return resp, err
	})
}
