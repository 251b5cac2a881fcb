package database_test

import (
	"fmt"
	"testing"

	"github.com/hansardlog/hansard/session"
)

// payload is 1 KB, as a short message of an agent is.
var payload = fmt.Appendf(nil, `{"text":%q}`, fmt.Sprintf("%01000d", 7))

// BenchmarkAppend appends one event by one client: without state, and with one
// key in each scope.
func BenchmarkAppend(b *testing.B) {
	deltas := []struct {
		name  string
		delta session.State
	}{
		{"plain", nil},
		{"scopes", session.State{"app:k": 1, "user:k": 2, "k": 3}},
	}
	for _, on := range backends() {
		for _, d := range deltas {
			b.Run(on.name+"/"+d.name, func(b *testing.B) {
				svc := open(b, on)
				key := session.Key{AppName: "bench", UserID: "ana", SessionID: "1"}
				if _, err := svc.Create(b.Context(), &session.CreateRequest{Key: key}); err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				for b.Loop() {
					_, err := svc.AppendEvent(b.Context(), &session.AppendEventRequest{
						Key: key, Event: &session.Event{Author: "ana", Payload: payload, StateDelta: d.delta},
					})
					if err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkGetRecent reads the last 50 of 2,000 events.
func BenchmarkGetRecent(b *testing.B) {
	for _, on := range backends() {
		b.Run(on.name, func(b *testing.B) {
			svc := open(b, on)
			key := session.Key{AppName: "bench", UserID: "ana", SessionID: "1"}
			if _, err := svc.Create(b.Context(), &session.CreateRequest{Key: key}); err != nil {
				b.Fatal(err)
			}
			events := make([]*session.Event, 2000)
			for i := range events {
				events[i] = &session.Event{Author: "ana", Payload: payload}
			}
			if _, err := svc.AppendEvents(b.Context(), &session.AppendEventsRequest{Key: key, Events: events}); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				resp, err := svc.Get(b.Context(), &session.GetRequest{Key: key, NumRecentEvents: 50})
				if err != nil {
					b.Fatal(err)
				}
				if n := len(resp.Session.Events); n != 50 {
					b.Fatalf("%d events, want 50", n)
				}
			}
		})
	}
}

// BenchmarkList reads all of 2,000 sessions with their state, in pages of 1,000.
func BenchmarkList(b *testing.B) {
	for _, on := range backends() {
		b.Run(on.name, func(b *testing.B) {
			svc := open(b, on)
			for i := range 2000 {
				key := session.Key{AppName: "bench", UserID: fmt.Sprint(i % 20), SessionID: fmt.Sprint(i)}
				state := session.State{"mood": "good", "turn": i, "user:plan": "free", "app:version": 3}
				if _, err := svc.Create(b.Context(), &session.CreateRequest{Key: key, State: state}); err != nil {
					b.Fatal(err)
				}
			}
			req := session.ListRequest{AppName: "bench", PageSize: session.MaxPageSize, WithState: true}
			b.ReportAllocs()
			for b.Loop() {
				n := 0
				for _, err := range session.AllSessions(b.Context(), svc, req) {
					if err != nil {
						b.Fatal(err)
					}
					n++
				}
				if n != 2000 {
					b.Fatalf("%d sessions", n)
				}
			}
		})
	}
}
