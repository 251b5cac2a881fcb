package main

import (
	"context"
	"sync"

	"google.golang.org/adk/v2/session"
)

// world is what a scenario runs in: a service and an app that nobody else uses.
// The first error that a scenario did not ask for is kept.
type world struct {
	ctx context.Context
	svc session.Service
	app string

	mu  sync.Mutex
	err error
}

func (w *world) must(err error) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
	}
	return err == nil
}

func (w *world) create(id string) session.Session {
	created, err := w.svc.Create(w.ctx, &session.CreateRequest{AppName: w.app, UserID: "ana", SessionID: id})
	if !w.must(err) {
		return nil
	}
	return created.Session
}

func (w *world) get(id string, recent int) session.Session {
	got, err := w.svc.Get(w.ctx, &session.GetRequest{AppName: w.app, UserID: "ana", SessionID: id, NumRecentEvents: recent})
	if !w.must(err) {
		return nil
	}
	return got.Session
}

func (w *world) event(key string, value any) *session.Event {
	event := session.NewEvent(w.ctx, "run")
	event.Author = "agent"
	event.Actions.StateDelta[key] = value
	return event
}

// storedAndShown counts the events of a session in the store and in the hands
// of a caller.
func (w *world) storedAndShown(s session.Session) (stored, shown int) {
	if got := w.get("s", 0); got != nil {
		stored = got.Events().Len()
	}
	return stored, s.Events().Len()
}
