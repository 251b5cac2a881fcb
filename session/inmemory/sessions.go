package inmemory

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/hansardlog/hansard/internal/request"
	"github.com/hansardlog/hansard/internal/stateutil"
	"github.com/hansardlog/hansard/internal/view"
	"github.com/hansardlog/hansard/session"
)

// Create implements [session.Sessions].
func (s *Service) Create(ctx context.Context, req *session.CreateRequest) (*session.CreateResponse, error) {
	cr, err := s.cfg.Create(ctx, req)
	if err != nil {
		return nil, err
	}
	created, err := s.create(cr)
	if err != nil {
		return nil, request.Failed("create", cr.Key, "", err)
	}
	return &session.CreateResponse{Session: created}, nil
}

func (s *Service) create(cr *request.Create) (*session.Session, error) {
	c := &conversation{
		key:       cr.Key,
		uid:       uuid.NewString(),
		kind:      cr.Kind,
		createdAt: cr.CreatedAt,
		updatedAt: cr.Now,
		state:     cr.State.Session,
	}
	for _, join := range cr.Joins {
		c.periods = append(c.periods, session.Period{Member: join.Subject, FromSeq: join.Seq})
		c.add(join)
	}
	// Locked before it can be found: nobody sees it without its shared state.
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, exists := s.conversations.LoadOrStore(c.key, c); exists {
		return nil, session.ErrAlreadyExists
	}
	owner := c.key.UserID
	s.applyShared(c.key.AppName, cr.State.App, map[string]stateutil.Values{owner: cr.State.User})()
	created := c.session(view.Whole(c.head()))
	app, users := s.readShared(c.key.AppName, owner)
	var err error
	created.State, err = stateutil.Decode(stateutil.Scopes{App: app, User: users[0], Session: c.state})
	return created, err
}

// Get implements [session.Sessions].
func (s *Service) Get(ctx context.Context, req *session.GetRequest) (*session.GetResponse, error) {
	g, err := s.cfg.Get(ctx, req)
	if err != nil {
		return nil, err
	}
	var found *session.Session
	var scopes stateutil.Scopes
	var stored []*request.Event
	err = s.read(g.Key, g.UID, func(c *conversation) error {
		v, ok := c.view(g.Viewer)
		if !ok {
			return session.ErrNotMember
		}
		found = c.session(v)
		user := g.Viewer
		if user == "" {
			user = g.Key.UserID
		}
		app, users := s.readShared(g.Key.AppName, user)
		scopes = stateutil.Scopes{App: app, User: users[0]}
		if !v.Former {
			apply(&scopes.Session, c.state) // a copy: it is read after the lock
		}
		if !g.WithoutEvents {
			stored = c.recent(g, v.Between(g.AfterSeq, 0))
		}
		return nil
	})
	if err == nil {
		found, err = fill(found, scopes, stored)
	}
	if err != nil {
		return nil, request.Failed("get", g.Key, g.Viewer, err)
	}
	return &session.GetResponse{Session: found}, nil
}

// recent returns the events that a Get selects.
func (c *conversation) recent(g *request.Get, windows []view.Window) []*request.Event {
	var stored []*request.Event
	for _, w := range slices.Backward(windows) {
		for _, e := range slices.Backward(c.events[w.From-1 : w.To]) {
			if g.FilterTime && e.Timestamp < g.AfterMicros {
				continue
			}
			stored = append(stored, e)
			if len(stored) == g.NumRecentEvents {
				slices.Reverse(stored)
				return stored
			}
		}
	}
	slices.Reverse(stored)
	return stored
}

// fill decodes what was copied under the lock.
func fill(found *session.Session, scopes stateutil.Scopes, stored []*request.Event) (_ *session.Session, err error) {
	if found.State, err = stateutil.Decode(scopes); err != nil {
		return nil, err
	}
	found.Events, err = decode(stored...)
	return found, err
}

// Delete implements [session.Sessions].
func (s *Service) Delete(ctx context.Context, req *session.DeleteRequest) error {
	if _, err := s.cfg.Delete(ctx, req); err != nil {
		return err
	}
	_ = s.write(req.Key, req.UID, func(c *conversation) error { // its only error is that there is none
		c.deleted = true
		s.conversations.Delete(c.key)
		return nil
	})
	return nil
}
