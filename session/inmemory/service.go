// Package inmemory keeps sessions in the memory of the process, for tests and
// for programs that need no storage. It passes the same conformance suite as
// the databases and is the oracle of their differential test.
//
// It keeps encoded JSON and copies deeply in and out, so a value comes back in
// the same shape as from a database. Each conversation has its own lock:
// appends to different conversations never wait for each other, unless they
// write state of the same app or user. Nothing is ever evicted.
package inmemory

import (
	"context"
	"sync"
	"time"

	"github.com/hansardlog/hansard/internal/request"
	"github.com/hansardlog/hansard/session"
)

// Service is an in-memory [session.Service], safe for concurrent use. The zero
// value is not usable; [New] makes one.
//
// Lock order: conversations by key, the app's state, users' state by user.
type Service struct {
	cfg           request.Config
	conversations sync.Map // session.Key to *conversation
	apps          sync.Map // string to *shared
	users         sync.Map // userKey to *shared
}

var _ session.Service = (*Service)(nil)

// Option configures a [Service].
type Option func(*Service)

// WithClock sets the source of the times that callers leave open and of
// RecordedAt. The default is [time.Now]. It is asked once for each request that
// stores something; a nil clock is ignored.
func WithClock(now func(context.Context) time.Time) Option {
	return func(s *Service) {
		if now != nil {
			s.cfg.Clock = now
		}
	}
}

// WithIDs sets the source of session and event IDs that callers leave open,
// never of UIDs. The default makes UUIDv7. An ID that breaks the rules of
// [session.Key] fails the request; a nil source is ignored.
func WithIDs(next func(context.Context) string) Option {
	return func(s *Service) {
		if next != nil {
			s.cfg.IDs = next
		}
	}
}

// WithMaxPayload bounds the payload of one event, in bytes. The default is
// [session.DefaultMaxPayload]; a limit below 1 is ignored.
func WithMaxPayload(bytes int) Option {
	return func(s *Service) {
		if bytes > 0 {
			s.cfg.MaxPayload = bytes
		}
	}
}

// New returns an empty service.
func New(opts ...Option) *Service {
	s := &Service{cfg: request.DefaultConfig()}
	for _, opt := range opts {
		opt(s)
	}
	return s
}

// find returns the conversation of key, nil if there is none. Its lock is not
// held: the caller asks alive once it holds it.
func (s *Service) find(key session.Key) *conversation {
	if c, ok := s.conversations.Load(key); ok {
		return c.(*conversation)
	}
	return nil
}

// read runs f with the conversation's lock held for reading.
func (s *Service) read(key session.Key, uid string, f func(*conversation) error) error {
	c := s.find(key)
	if c == nil {
		return request.ErrNone
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	if !c.alive(uid) {
		return request.ErrNone
	}
	return f(c)
}

// write runs f with the conversation's lock held.
func (s *Service) write(key session.Key, uid string, f func(*conversation) error) error {
	c := s.find(key)
	if c == nil {
		return request.ErrNone
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.alive(uid) {
		return request.ErrNone
	}
	return f(c)
}
