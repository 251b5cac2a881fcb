package sessiontest

import (
	"context"
	"fmt"

	"github.com/hansardlog/hansard/session"
)

// textFields lists every text field of every request. The requests are valid
// but for that field; of those that would write, none does as long as the field
// is bad.
func textFields() []field {
	var fields []field
	add := func(call, name string, maxBytes int, required bool, do func(context.Context, session.Service, string) error) {
		fields = append(fields, field{call, name, maxBytes, required, do})
	}
	const text, branch = session.MaxTextBytes, session.MaxBranchBytes

	// The key is part of nine requests.
	for call, do := range map[string]func(context.Context, session.Service, session.Key) error{
		"Create": func(ctx context.Context, svc session.Service, k session.Key) error {
			return errOf(svc.Create(ctx, &session.CreateRequest{Key: k}))
		},
		"Get": func(ctx context.Context, svc session.Service, k session.Key) error {
			return errOf(svc.Get(ctx, &session.GetRequest{Key: k}))
		},
		"Delete": func(ctx context.Context, svc session.Service, k session.Key) error {
			return svc.Delete(ctx, &session.DeleteRequest{Key: k})
		},
		"AppendEvent": func(ctx context.Context, svc session.Service, k session.Key) error {
			return errOf(svc.AppendEvent(ctx, &session.AppendEventRequest{Key: k, Event: say("ana", "a")}))
		},
		"AppendEvents": func(ctx context.Context, svc session.Service, k session.Key) error {
			return errOf(svc.AppendEvents(ctx, &session.AppendEventsRequest{Key: k, Events: []*session.Event{say("ana", "a")}}))
		},
		"ListEvents": func(ctx context.Context, svc session.Service, k session.Key) error {
			return errOf(svc.ListEvents(ctx, &session.ListEventsRequest{Key: k}))
		},
		"Join": func(ctx context.Context, svc session.Service, k session.Key) error {
			return errOf(svc.Join(ctx, &session.JoinRequest{Key: k, Member: "ben"}))
		},
		"Leave": func(ctx context.Context, svc session.Service, k session.Key) error {
			return errOf(svc.Leave(ctx, &session.LeaveRequest{Key: k, Member: "ben"}))
		},
		"ListMembers": func(ctx context.Context, svc session.Service, k session.Key) error {
			return errOf(svc.ListMembers(ctx, &session.ListMembersRequest{Key: k}))
		},
	} {
		add(call, "Key.AppName", text, true, func(ctx context.Context, svc session.Service, v string) error {
			return do(ctx, svc, session.Key{AppName: v, UserID: "pia", SessionID: "s"})
		})
		add(call, "Key.UserID", text, true, func(ctx context.Context, svc session.Service, v string) error {
			return do(ctx, svc, session.Key{AppName: "app", UserID: v, SessionID: "s"})
		})
		// Create makes an ID for an empty one.
		add(call, "Key.SessionID", text, call != "Create", func(ctx context.Context, svc session.Service, v string) error {
			return do(ctx, svc, session.Key{AppName: "app", UserID: "pia", SessionID: v})
		})
	}

	for _, f := range []struct {
		name     string
		maxBytes int
		required bool
		set      func(e *session.Event, v string)
	}{
		{"Author", text, true, func(e *session.Event, v string) { e.Author = v }},
		{"ID", text, false, func(e *session.Event, v string) { e.ID = v }},
		{"InvocationID", text, false, func(e *session.Event, v string) { e.InvocationID = v }},
		{"Branch", branch, false, func(e *session.Event, v string) { e.Branch = v }},
		{"IdempotencyKey", text, false, func(e *session.Event, v string) { e.IdempotencyKey = v }},
		{"Format", text, false, func(e *session.Event, v string) { e.Format = v }},
	} {
		event := func(v string) *session.Event {
			e := say("ana", "a")
			f.set(e, v)
			return e
		}
		add("AppendEvent", "Event."+f.name, f.maxBytes, f.required, func(ctx context.Context, svc session.Service, v string) error {
			return errOf(svc.AppendEvent(ctx, &session.AppendEventRequest{Key: testKey, Event: event(v)}))
		})
		add("AppendEvents", "Events[1]."+f.name, f.maxBytes, f.required, func(ctx context.Context, svc session.Service, v string) error {
			return errOf(svc.AppendEvents(ctx, &session.AppendEventsRequest{
				Key: testKey, Events: []*session.Event{say("ana", "a"), event(v)},
			}))
		})
	}

	for _, f := range []struct {
		name     string
		required bool
		set      func(r *session.JoinRequest, v string)
	}{
		{"Member", true, func(r *session.JoinRequest, v string) { r.Member = v }},
		{"Actor", false, func(r *session.JoinRequest, v string) { r.Actor = v }},
		{"IdempotencyKey", false, func(r *session.JoinRequest, v string) { r.IdempotencyKey = v }},
	} {
		request := func(v string) *session.JoinRequest {
			r := &session.JoinRequest{Key: testKey, Member: "ben"}
			f.set(r, v)
			return r
		}
		add("Join", f.name, text, f.required, func(ctx context.Context, svc session.Service, v string) error {
			return errOf(svc.Join(ctx, request(v)))
		})
		add("Leave", f.name, text, f.required, func(ctx context.Context, svc session.Service, v string) error {
			leave := session.LeaveRequest(*request(v))
			return errOf(svc.Leave(ctx, &leave))
		})
	}

	add("Create", "Members[1]", text, true, func(ctx context.Context, svc session.Service, v string) error {
		key := session.Key{AppName: "app", UserID: "pia", SessionID: fmt.Sprintf("members %.20x", v)}
		return errOf(svc.Create(ctx, &session.CreateRequest{Key: key, Kind: session.KindGroup, Members: []string{"ana", v}}))
	})
	add("Get", "Viewer", text, false, func(ctx context.Context, svc session.Service, v string) error {
		return errOf(svc.Get(ctx, &session.GetRequest{Key: testKey, Viewer: v}))
	})
	add("ListEvents", "Viewer", text, false, func(ctx context.Context, svc session.Service, v string) error {
		return errOf(svc.ListEvents(ctx, &session.ListEventsRequest{Key: testKey, Viewer: v}))
	})
	add("List", "AppName", text, true, func(ctx context.Context, svc session.Service, v string) error {
		return errOf(svc.List(ctx, &session.ListRequest{AppName: v}))
	})
	add("List", "UserID", text, false, func(ctx context.Context, svc session.Service, v string) error {
		return errOf(svc.List(ctx, &session.ListRequest{AppName: "app", UserID: v}))
	})
	add("List", "Member", text, false, func(ctx context.Context, svc session.Service, v string) error {
		return errOf(svc.List(ctx, &session.ListRequest{AppName: "app", Member: v}))
	})
	add("GetState", "AppName", text, true, func(ctx context.Context, svc session.Service, v string) error {
		return errOf(svc.GetState(ctx, &session.GetStateRequest{AppName: v}))
	})
	add("GetState", "UserID", text, false, func(ctx context.Context, svc session.Service, v string) error {
		return errOf(svc.GetState(ctx, &session.GetStateRequest{AppName: "app", UserID: v}))
	})
	add("UpdateState", "AppName", text, true, func(ctx context.Context, svc session.Service, v string) error {
		return errOf(svc.UpdateState(ctx, &session.UpdateStateRequest{AppName: v}))
	})
	add("UpdateState", "UserID", text, false, func(ctx context.Context, svc session.Service, v string) error {
		return errOf(svc.UpdateState(ctx, &session.UpdateStateRequest{AppName: "app", UserID: v}))
	})
	return fields
}
