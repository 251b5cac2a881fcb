package sessiontest_test

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/hansardlog/hansard/session"
)

// stateDefects damage state and its values.
var stateDefects = []defect{
	{"temp keys kept", "state", "rule 5", func(svc session.Service) session.Service {
		d := onSession(svc, func(_ context.Context, _ *session.GetRequest, s *session.Session) {
			s.State = renamed(s.State, "kept:", session.TempPrefix)
		})
		d.appendEvent = onEvent(svc, func(e *session.Event) {
			e.StateDelta = renamed(e.StateDelta, session.TempPrefix, "kept:")
			maps.DeleteFunc(e.StateDelta, func(key string, v any) bool {
				_, err := json.Marshal(v)
				return strings.HasPrefix(key, "kept:") && (err != nil || v == "\xff") // not storable
			})
		}).appendEvent
		return d
	}},
	{"temp keys taken from the caller's event", "state", "rule 5", func(svc session.Service) session.Service {
		return onAppend(svc, func(ctx context.Context, req *session.AppendEventRequest) (*session.AppendEventResponse, error) {
			maps.DeleteFunc(req.Event.StateDelta, func(key string, _ any) bool { return strings.HasPrefix(key, session.TempPrefix) })
			return svc.AppendEvent(ctx, req)
		})
	}},
	{"a lost state key of a wide delta", "state", "P6", func(svc session.Service) session.Service {
		return onSession(svc, func(_ context.Context, _ *session.GetRequest, s *session.Session) {
			if len(s.State) > 1000 {
				delete(s.State, "k999")
			}
		})
	}},
	{"null deletes", "state", "rule 4: nil", func(svc session.Service) session.Service {
		return onEvent(svc, func(e *session.Event) {
			e.StateDelta = maps.Clone(e.StateDelta)
			for key, v := range e.StateDelta {
				if v == nil {
					delete(e.StateDelta, key)
					e.StateDelete = append(slices.Clone(e.StateDelete), key)
				}
			}
		})
	}},
	{"set and removed accepted", "state", "rule 4: the same key", func(svc session.Service) session.Service {
		return onEvent(svc, func(e *session.Event) {
			e.StateDelete = slices.DeleteFunc(slices.Clone(e.StateDelete), func(key string) bool {
				_, both := e.StateDelta[key]
				return both
			})
		})
	}},
	{"deletions sorted", "state", "rule 4: StateDelete", func(svc session.Service) session.Service {
		return onEvent(svc, func(e *session.Event) { e.StateDelete = slices.Sorted(slices.Values(e.StateDelete)) })
	}},
	{"user state is the owner's in a group", "state", "rule 6: user state is the author's", func(svc session.Service) session.Service {
		return onAppend(svc, func(ctx context.Context, req *session.AppendEventRequest) (*session.AppendEventResponse, error) {
			e := *req.Event
			e.StateDelta = maps.Clone(e.StateDelta)
			user := session.State{}
			for key, v := range e.StateDelta {
				if strings.HasPrefix(key, session.UserPrefix) {
					user[key] = v
					delete(e.StateDelta, key)
				}
			}
			resp, err := svc.AppendEvent(ctx, &session.AppendEventRequest{Key: req.Key, UID: req.UID, Event: &e, ExpectedSeq: req.ExpectedSeq})
			if err == nil {
				_, err = svc.UpdateState(ctx, &session.UpdateStateRequest{AppName: req.Key.AppName, UserID: req.Key.UserID, Delta: user})
			}
			return resp, err
		})
	}},
	{"a replay writes its state again", "idempotency", "a replay has no effects", func(svc session.Service) session.Service {
		return onAppend(svc, func(ctx context.Context, req *session.AppendEventRequest) (*session.AppendEventResponse, error) {
			resp, err := svc.AppendEvent(ctx, req)
			if err == nil && resp.Replayed {
				app := session.State{}
				for key, v := range req.Event.StateDelta {
					if strings.HasPrefix(key, session.AppPrefix) {
						app[key] = v
					}
				}
				_, err = svc.UpdateState(ctx, &session.UpdateStateRequest{AppName: req.Key.AppName, Delta: app})
			}
			return resp, err
		})
	}},
	{"numbers as float64", "exact values", "rule 3", func(svc session.Service) session.Service {
		return onSession(svc, func(_ context.Context, _ *session.GetRequest, s *session.Session) {
			for key, v := range s.State {
				if n, ok := v.(json.Number); ok {
					s.State[key], _ = n.Float64()
				}
			}
		})
	}},
	{"NUL lost from strings", "exact values", "rule 2: strings", func(svc session.Service) session.Service {
		return onSession(svc, func(_ context.Context, _ *session.GetRequest, s *session.Session) {
			for key, v := range s.State {
				if text, ok := v.(string); ok {
					s.State[key] = strings.ReplaceAll(text, "\x00", "")
				}
			}
		})
	}},
	{"invalid UTF-8 replaced", "bad input", "rule 2: state values", func(svc session.Service) session.Service {
		return onEvent(svc, func(e *session.Event) {
			e.StateDelta = maps.Clone(e.StateDelta)
			for key, v := range e.StateDelta {
				if data, err := json.Marshal(v); err == nil { // which replaces silently
					e.StateDelta[key] = json.RawMessage(strings.ToValidUTF8(string(data), "\ufffd"))
				}
			}
		})
	}},
	{"what cannot be encoded is dropped", "bad input", "rule 2: state values", func(svc session.Service) session.Service {
		return onEvent(svc, func(e *session.Event) {
			e.StateDelta = maps.Clone(e.StateDelta)
			maps.DeleteFunc(e.StateDelta, func(_ string, v any) bool {
				_, err := json.Marshal(v)
				return err != nil
			})
		})
	}},
	{"user keys without a user accepted", "shared state", "rule 15: app and user keys only", func(svc session.Service) session.Service {
		return &damaged{Service: svc, updateState: func(ctx context.Context, req *session.UpdateStateRequest) (*session.UpdateStateResponse, error) {
			changed := *req
			if changed.UserID == "" {
				changed.UserID = "anybody"
			}
			return svc.UpdateState(ctx, &changed)
		}}
	}},
	{"only the changed keys answered", "shared state", "rule 15: the answer", func(svc session.Service) session.Service {
		return &damaged{Service: svc, updateState: func(ctx context.Context, req *session.UpdateStateRequest) (*session.UpdateStateResponse, error) {
			resp, err := svc.UpdateState(ctx, req)
			if err == nil {
				maps.DeleteFunc(resp.State, func(key string, _ any) bool { _, changed := req.Delta[key]; return !changed })
			}
			return resp, err
		}}
	}},
	{"absent state is nil", "shared state", "state that nobody wrote", func(svc session.Service) session.Service {
		return &damaged{Service: svc, getState: func(ctx context.Context, req *session.GetStateRequest) (*session.GetStateResponse, error) {
			resp, err := svc.GetState(ctx, req)
			if err == nil && len(resp.State) == 0 {
				resp.State = nil
			}
			return resp, err
		}}
	}},
}

// renamed returns a copy of s with another prefix for the keys that have one.
func renamed(s session.State, from, to string) session.State {
	out := make(session.State, len(s))
	for key, v := range s {
		if name, ok := strings.CutPrefix(key, from); ok {
			key = to + name
		}
		out[key] = v
	}
	return out
}
