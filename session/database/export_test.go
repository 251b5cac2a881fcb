package database

import "github.com/hansardlog/hansard/session"

// Work pretends that somebody is at work on the lock that an append to key
// takes, until done. It returns how many appends wait.
func (s *Service) Work(key session.Key) (waiting func() int, done func()) {
	name, q := s.dialect.lockName(key), s.queues
	q.mu.Lock()
	defer q.mu.Unlock()
	q.busy[name] = nil
	waiting = func() int {
		q.mu.Lock()
		defer q.mu.Unlock()
		return len(q.busy[name])
	}
	return waiting, func() { s.next(name) }
}

// AtWork returns how many locks somebody is at work on.
func (s *Service) AtWork() int {
	s.queues.mu.Lock()
	defer s.queues.mu.Unlock()
	return len(s.queues.busy)
}
