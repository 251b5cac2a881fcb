package main

import (
	"context"
	"strings"

	adksession "google.golang.org/adk/v2/session"
	"google.golang.org/genai"

	"github.com/hansardlog/hansard/session"
)

// adk is ADK-Go's own service, on a database or in memory.
type adk struct{ svc adksession.Service }

func (a adk) create(ctx context.Context, key session.Key, state map[string]any) error {
	_, err := a.svc.Create(ctx, &adksession.CreateRequest{AppName: key.AppName, UserID: key.UserID, SessionID: key.SessionID, State: state})
	return err
}

func (a adk) fill(ctx context.Context, key session.Key, n int) error {
	w, err := a.writer(ctx, key, false)
	if err != nil {
		return err
	}
	for i := range n {
		if _, err := w.append(ctx, said(0, i)); err != nil {
			return err
		}
	}
	return nil
}

// writer: an append takes the session object of the client and refuses one that
// is older than the session. A client alone keeps its object. One among others
// gets it anew before each append, with as few events as a request can ask for:
// an old one costs a refused transaction more.
func (a adk) writer(ctx context.Context, key session.Key, shared bool) (writer, error) {
	w := &adkWriter{adk: a, key: key, shared: shared}
	return w, w.refresh(ctx)
}

type adkWriter struct {
	adk
	key    session.Key
	shared bool
	live   adksession.Session
}

func (w *adkWriter) refresh(ctx context.Context) error {
	live, err := w.get(ctx, w.key, 1)
	w.live = live
	return err
}

// append tries until the session is not stale.
func (w *adkWriter) append(ctx context.Context, m message) (r receipt, err error) {
	for {
		if w.shared {
			if err := w.refresh(ctx); err != nil {
				return r, err
			}
		}
		r.attempts++
		err = w.svc.AppendEvent(ctx, w.live, w.event(ctx, m))
		if err == nil || !stale(err) || ctx.Err() != nil {
			return r, err
		}
	}
}

// stale: there is no error value to compare with.
func stale(err error) bool { return strings.Contains(err.Error(), "stale session") }

func (w *adkWriter) event(ctx context.Context, m message) *adksession.Event {
	e := adksession.NewEvent(ctx, invocation)
	e.ID, e.Author = m.id, author
	e.Content = &genai.Content{Role: genai.RoleUser, Parts: []*genai.Part{{Text: m.text}}}
	for name, value := range m.delta {
		e.Actions.StateDelta[name] = value
	}
	return e
}

func (a adk) get(ctx context.Context, key session.Key, recent int) (adksession.Session, error) {
	resp, err := a.svc.Get(ctx, &adksession.GetRequest{
		AppName: key.AppName, UserID: key.UserID, SessionID: key.SessionID, NumRecentEvents: recent,
	})
	if err != nil {
		return nil, err
	}
	return resp.Session, nil
}

func (a adk) read(ctx context.Context, key session.Key, recent int) (record, error) {
	s, err := a.get(ctx, key, recent)
	if err != nil {
		return record{}, err
	}
	r := record{state: map[string]any{}, ids: make([]string, 0, s.Events().Len())}
	for e := range s.Events().All() {
		r.ids = append(r.ids, e.ID)
	}
	for name, value := range s.State().All() {
		r.state[name] = value
	}
	return r, nil
}

func (a adk) list(ctx context.Context, app string, _ int, _, _ bool) (int, error) {
	resp, err := a.svc.List(ctx, &adksession.ListRequest{AppName: app})
	if err != nil {
		return 0, err
	}
	return len(resp.Sessions), nil
}
