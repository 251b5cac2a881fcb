package sessiontest_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hansardlog/hansard/session"
)

// logDefects damage events: their order, their fields, their storing.
var logDefects = []defect{
	{"a gap after a refusal", "order", "P1", gapAfterRefusal},
	{"order by timestamp", "order", "equal, backdated", func(svc session.Service) session.Service {
		return onRead(svc, func(_ session.Key, events []*session.Event) []*session.Event {
			slices.SortStableFunc(events, func(a, b *session.Event) int { return a.Timestamp.Compare(b.Timestamp) })
			return events
		})
	}},
	{"order by ID", "order", "IDs and authors", func(svc session.Service) session.Service {
		return onRead(svc, func(_ session.Key, events []*session.Event) []*session.Event {
			slices.SortStableFunc(events, func(a, b *session.Event) int { return cmp.Compare(a.ID, b.ID) })
			return events
		})
	}},
	{"RecordedAt follows the clock back", "order", "RecordedAt never", func(svc session.Service) session.Service {
		return onAppend(svc, func(ctx context.Context, req *session.AppendEventRequest) (*session.AppendEventResponse, error) {
			resp, err := svc.AppendEvent(ctx, req)
			if err == nil && resp.Event != nil {
				resp.Event.RecordedAt = resp.Event.Timestamp
			}
			return resp, err
		})
	}},
	{"timestamps cut to milliseconds", "append", "rule 13: Timestamp", func(svc session.Service) session.Service {
		return onEvent(svc, func(e *session.Event) { e.Timestamp = e.Timestamp.Truncate(time.Millisecond) })
	}},
	{"After rounded up", "events", "rule 13", func(svc session.Service) session.Service {
		return &damaged{Service: svc, get: func(ctx context.Context, req *session.GetRequest) (*session.GetResponse, error) {
			changed := *req
			if !changed.After.IsZero() {
				changed.After = changed.After.Add(999)
			}
			return svc.Get(ctx, &changed)
		}}
	}},
	{"payload compacted", "exact values", "rule 2: payload bytes", func(svc session.Service) session.Service {
		return onEvent(svc, func(e *session.Event) {
			var b bytes.Buffer
			if json.Compact(&b, e.Payload) == nil {
				e.Payload = b.Bytes()
			}
		})
	}},
	{"partial events stored", "append", "rule 7: a partial", func(svc session.Service) session.Service {
		return onEvent(svc, func(e *session.Event) { e.Partial = false })
	}},
	{"255 bytes refused", "bad input", "rule 1: text", func(svc session.Service) session.Service {
		return onAppend(svc, func(ctx context.Context, req *session.AppendEventRequest) (*session.AppendEventResponse, error) {
			if req != nil && req.Event != nil && len(req.Event.Author) == 255 {
				return nil, &session.ArgumentError{Field: "Event.Author", Reason: "too long"}
			}
			return svc.AppendEvent(ctx, req)
		})
	}},
	{"256 bytes cut", "bad input", "rule 1: text", func(svc session.Service) session.Service {
		return onEvent(svc, func(e *session.Event) { e.InvocationID = e.InvocationID[:min(len(e.InvocationID), 255)] })
	}},
	{"names trimmed", "tenants", "rule 1", func(svc session.Service) session.Service {
		return &damaged{Service: svc, create: func(ctx context.Context, req *session.CreateRequest) (*session.CreateResponse, error) {
			changed := *req
			changed.Key.UserID = strings.TrimSpace(changed.Key.UserID)
			return svc.Create(ctx, &changed)
		}}
	}},
	{"replay stored twice", "idempotency", "a repeated request", func(svc session.Service) session.Service {
		return onAppend(svc, func(ctx context.Context, req *session.AppendEventRequest) (*session.AppendEventResponse, error) {
			resp, err := svc.AppendEvent(ctx, req)
			if err != nil || !resp.Replayed {
				return resp, err
			}
			again := *req.Event
			again.IdempotencyKey = ""
			return svc.AppendEvent(ctx, &session.AppendEventRequest{Key: req.Key, UID: req.UID, Event: &again})
		})
	}},
	{"replay of another request accepted", "idempotency", "ErrIdempotencyMismatch: each part", func(svc session.Service) session.Service {
		return onEvent(svc, func(e *session.Event) { // as if the branch were no part of the request
			if e.IdempotencyKey != "" {
				e.Branch = "root"
			}
		})
	}},
	{"temp keys are part of the request", "idempotency", "ID, Timestamp, temp keys", func(svc session.Service) session.Service {
		return onEvent(svc, func(e *session.Event) {
			for key := range e.StateDelta {
				if strings.HasPrefix(key, session.TempPrefix) {
					e.InvocationID += key
				}
			}
		})
	}},
	{"membership asked before replay", "idempotency", "rule 8", func(svc session.Service) session.Service {
		return onAppend(svc, func(ctx context.Context, req *session.AppendEventRequest) (*session.AppendEventResponse, error) {
			if resp, err := svc.ListMembers(ctx, &session.ListMembersRequest{Key: req.Key, UID: req.UID}); err == nil &&
				!slices.ContainsFunc(resp.Periods, func(p session.Period) bool { return p.Member == req.Event.Author }) {
				return nil, session.ErrNotMember
			}
			return svc.AppendEvent(ctx, req)
		})
	}},
	{"ExpectedSeq ignored", "expected sequence", "StaleError", func(svc session.Service) session.Service {
		return onAppend(svc, func(ctx context.Context, req *session.AppendEventRequest) (*session.AppendEventResponse, error) {
			changed := *req
			changed.ExpectedSeq = nil
			return svc.AppendEvent(ctx, &changed)
		})
	}},
	{"ExpectedSeq asked before replay", "idempotency", "rule 8", func(svc session.Service) session.Service {
		return onAppend(svc, func(ctx context.Context, req *session.AppendEventRequest) (*session.AppendEventResponse, error) {
			resp, err := svc.AppendEvent(ctx, req)
			if err == nil && resp.Replayed && req.ExpectedSeq != nil {
				return nil, &session.StaleError{Key: req.Key, Expected: *req.ExpectedSeq, Head: resp.Event.Seq}
			}
			return resp, err
		})
	}},
	{"batch not atomic", "batch", "rule 9: all or none", func(svc session.Service) session.Service {
		return &damaged{Service: svc, appendEvents: func(ctx context.Context, req *session.AppendEventsRequest) (*session.AppendEventsResponse, error) {
			out := &session.AppendEventsResponse{}
			for _, e := range req.Events {
				resp, err := svc.AppendEvent(ctx, &session.AppendEventRequest{Key: req.Key, UID: req.UID, Event: e})
				if err != nil {
					return nil, err
				}
				out.Events, out.Replayed = append(out.Events, resp.Event), resp.Replayed
			}
			return out, nil
		}}
	}},
	{"a mixture stores what is new", "batch", "rule 9: a mixture", func(svc session.Service) session.Service {
		return &damaged{Service: svc, appendEvents: func(ctx context.Context, req *session.AppendEventsRequest) (*session.AppendEventsResponse, error) {
			resp, err := svc.AppendEvents(ctx, req)
			if errors.Is(err, session.ErrIdempotencyMismatch) && len(req.Events) > 1 {
				if _, err := svc.AppendEvents(ctx, &session.AppendEventsRequest{Key: req.Key, UID: req.UID, Events: req.Events[1:]}); err != nil {
					return nil, err
				}
			}
			return resp, err
		}}
	}},
	{"input modified", "memory", "P9: requests", func(svc session.Service) session.Service {
		return onAppend(svc, func(ctx context.Context, req *session.AppendEventRequest) (*session.AppendEventResponse, error) {
			resp, err := svc.AppendEvent(ctx, req)
			if err == nil && resp.Event != nil {
				req.Event.Seq = resp.Event.Seq
			}
			return resp, err
		})
	}},
	{"shared memory", "memory", "P9: changing what is returned", sharedMemory},
	{"cancellation ignored", "cancellation", "rule 12", func(svc session.Service) session.Service {
		return &damaged{Service: svc, get: func(ctx context.Context, req *session.GetRequest) (*session.GetResponse, error) {
			return svc.Get(context.WithoutCancel(ctx), req)
		}}
	}},
	{"context before arguments", "bad input", "negative numbers", func(svc session.Service) session.Service {
		return &damaged{Service: svc, list: func(ctx context.Context, req *session.ListRequest) (*session.ListResponse, error) {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			return svc.List(ctx, req)
		}}
	}},
}

// gapAfterRefusal uses up a sequence when an append is refused: it stores an
// event that no read shows.
func gapAfterRefusal(svc session.Service) session.Service {
	const hidden = "hidden"
	d := onRead(svc, func(_ session.Key, events []*session.Event) []*session.Event {
		return slices.DeleteFunc(events, func(e *session.Event) bool { return e.Format == hidden })
	})
	d.appendEvent = func(ctx context.Context, req *session.AppendEventRequest) (*session.AppendEventResponse, error) {
		resp, err := svc.AppendEvent(ctx, req)
		if errors.Is(err, session.ErrStale) {
			e := &session.Event{Author: req.Event.Author, Format: hidden}
			if _, err := svc.AppendEvent(ctx, &session.AppendEventRequest{Key: req.Key, Event: e}); err != nil {
				return nil, err
			}
		}
		return resp, err
	}
	return d
}

// sharedMemory returns from reads the very events that appends returned.
func sharedMemory(svc session.Service) session.Service {
	type place struct {
		key session.Key
		seq int64
	}
	var returned sync.Map
	d := onRead(svc, func(key session.Key, events []*session.Event) []*session.Event {
		for i, e := range events {
			if first, ok := returned.Load(place{key, e.Seq}); ok {
				events[i] = first.(*session.Event)
			}
		}
		return events
	})
	d.appendEvent = func(ctx context.Context, req *session.AppendEventRequest) (*session.AppendEventResponse, error) {
		resp, err := svc.AppendEvent(ctx, req)
		if err == nil && resp.Event != nil {
			returned.Store(place{req.Key, resp.Event.Seq}, resp.Event)
		}
		return resp, err
	}
	return d
}
