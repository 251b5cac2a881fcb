package adk

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/adk/v2/platform"
	adksession "google.golang.org/adk/v2/session"

	"github.com/hansardlog/hansard/session"
)

// Option configures the service that [New] returns.
type Option func(*service)

// WithExclusiveRuns makes an append fail with an error matching
// session.ErrStale if the log has an event that the live session does not know:
// of two runs of one session one goes on. Nothing of the failed append is
// stored, its earlier events stay. Which of the runs fails is not promised.
//
// A run is what is appended through one live session, as Create and Get return
// it and ADK's runner asks for it at the start of a run. Parallel agents of a
// run share it and do not disturb each other; nor does an event of the run whose
// answer was lost.
func WithExclusiveRuns() Option { return func(s *service) { s.exclusive = true } }

// WithNumbers makes every number of the state that is read back a json.Number.
// By default it is a float64, as programs written for ADK expect, where that
// has the same decimal value, and a json.Number only where it has not.
func WithNumbers() Option { return func(s *service) { s.numbers = true } }

// service is ADK's session.Service over Hansard's.
type service struct {
	svc       session.Service
	exclusive bool
	numbers   bool
}

var _ adksession.Service = (*service)(nil)

// New returns ADK's session service over svc, which stays the caller's.
//
// Errors wrap those of package session: match them with errors.Is. A live
// session is safe for concurrent use, is changed only after a commit and names
// its incarnation, so an append to a session that was deleted and made again
// fails as session.ErrNotFound. Repeating the append of one event, by its ID,
// stores it once.
func New(svc session.Service, opts ...Option) adksession.Service {
	s := &service{svc: svc}
	for _, opt := range opts {
		opt(s)
	}
	return s
}

// Create implements session.Service of ADK.
func (s *service) Create(ctx context.Context, req *adksession.CreateRequest) (*adksession.CreateResponse, error) {
	if req == nil {
		return nil, invalid("request", "nil")
	}
	key := session.Key{AppName: req.AppName, UserID: req.UserID, SessionID: req.SessionID}
	if key.SessionID == "" {
		key.SessionID = platform.NewUUID(ctx)
	}
	resp, err := s.svc.Create(ctx, &session.CreateRequest{Key: key, State: req.State, CreatedAt: platform.Now(ctx)})
	if err != nil {
		return nil, failed("create session", err)
	}
	live, err := s.live(resp.Session)
	if err != nil {
		return nil, failed("create session", err)
	}
	return &adksession.CreateResponse{Session: live}, nil
}

// Get implements session.Service of ADK. The session and its events are one
// snapshot, in the order of their sequence whatever their timestamps.
func (s *service) Get(ctx context.Context, req *adksession.GetRequest) (*adksession.GetResponse, error) {
	if req == nil {
		return nil, invalid("request", "nil")
	}
	resp, err := s.svc.Get(ctx, &session.GetRequest{
		Key:             session.Key{AppName: req.AppName, UserID: req.UserID, SessionID: req.SessionID},
		NumRecentEvents: max(req.NumRecentEvents, 0), // ADK takes a negative number for no limit
		After:           req.After,
	})
	if err != nil {
		return nil, failed("get session", err)
	}
	live, err := s.live(resp.Session)
	if err != nil {
		return nil, failed("get session", err)
	}
	return &adksession.GetResponse{Session: live}, nil
}

// List implements session.Service of ADK: all sessions with their state, without
// events, read in pages.
func (s *service) List(ctx context.Context, req *adksession.ListRequest) (*adksession.ListResponse, error) {
	if req == nil {
		return nil, invalid("request", "nil")
	}
	resp := &adksession.ListResponse{Sessions: []adksession.Session{}}
	list := session.ListRequest{AppName: req.AppName, UserID: req.UserID, PageSize: session.MaxPageSize, WithState: true}
	for found, err := range session.AllSessions(ctx, s.svc, list) {
		if err != nil {
			return nil, failed("list sessions", err)
		}
		live, err := s.live(found)
		if err != nil {
			return nil, failed("list sessions", err)
		}
		resp.Sessions = append(resp.Sessions, live)
	}
	return resp, nil
}

// Delete implements session.Service of ADK. Deleting what is not there is no
// error.
func (s *service) Delete(ctx context.Context, req *adksession.DeleteRequest) error {
	if req == nil {
		return invalid("request", "nil")
	}
	return failed("delete session", s.svc.Delete(ctx, &session.DeleteRequest{
		Key: session.Key{AppName: req.AppName, UserID: req.UserID, SessionID: req.SessionID},
	}))
}

func keyOf(s adksession.Session) session.Key {
	return session.Key{AppName: s.AppName(), UserID: s.UserID(), SessionID: s.ID()}
}

func invalid(field, reason string) error {
	return &session.ArgumentError{Field: field, Reason: reason}
}

// failed says during what an error arose; its sentinel stays.
func failed(op string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	return fmt.Errorf("adk: %s: %w", op, err)
}
