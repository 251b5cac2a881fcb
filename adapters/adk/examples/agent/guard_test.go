package main

import (
	"context"
	"sync"

	adksession "google.golang.org/adk/v2/session"
)

// guarded makes ADK's own service bear parallel agents under the race detector:
// its session gives its list of events away without the lock under which an
// append replaces it (v2.2.0). Hansard's needs no guard.
type guarded struct{ adksession.Service }

func (g guarded) Create(ctx context.Context, req *adksession.CreateRequest) (*adksession.CreateResponse, error) {
	resp, err := g.Service.Create(ctx, req)
	if err != nil {
		return nil, err
	}
	return &adksession.CreateResponse{Session: &guardedSession{Session: resp.Session}}, nil
}

func (g guarded) Get(ctx context.Context, req *adksession.GetRequest) (*adksession.GetResponse, error) {
	resp, err := g.Service.Get(ctx, req)
	if err != nil {
		return nil, err
	}
	return &adksession.GetResponse{Session: &guardedSession{Session: resp.Session}}, nil
}

func (g guarded) AppendEvent(ctx context.Context, cur adksession.Session, event *adksession.Event) error {
	s := cur.(*guardedSession)
	s.mu.Lock()
	defer s.mu.Unlock()
	return g.Service.AppendEvent(ctx, s.Session, event)
}

type guardedSession struct {
	mu sync.Mutex
	adksession.Session
}

func (s *guardedSession) Events() adksession.Events {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Session.Events() // a slice, which a later append leaves as it is
}
