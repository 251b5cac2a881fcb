package adk_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"google.golang.org/adk/v2/platform"
	adksession "google.golang.org/adk/v2/session"

	"github.com/hansardlog/hansard/adapters/adk"
	"github.com/hansardlog/hansard/session"
	"github.com/hansardlog/hansard/session/inmemory"
)

// provided returns a context whose clock stands still and whose IDs count up.
func provided(ctx context.Context, now time.Time) context.Context {
	n := 0
	ctx = platform.WithUUIDProvider(ctx, func() string {
		n++
		return fmt.Sprintf("id-%d", n)
	})
	return platform.WithTimeProvider(ctx, func() time.Time { return now })
}

func TestProvidersOfPlatform(t *testing.T) {
	t.Parallel()
	now := time.Date(2024, 1, 2, 3, 4, 5, 6000, time.UTC)
	onBackends(t, func(t *testing.T, open opener) {
		core := open(t)
		svc := adk.New(core)
		ctx := provided(t.Context(), now)
		resp, err := svc.Create(ctx, &adksession.CreateRequest{AppName: "app", UserID: "ana"})
		if err != nil {
			t.Fatal(err)
		}
		live := resp.Session
		if live.ID() != "id-1" || !live.LastUpdateTime().Equal(now) {
			t.Errorf("session %s of %s, want id-1 of %s", live.ID(), live.LastUpdateTime(), now)
		}
		filled, event := new(adksession.Event), adksession.NewEvent(ctx, "run")
		later := now.Add(time.Hour)
		if err := svc.AppendEvent(ctx, live, event); err != nil {
			t.Fatal(err)
		}
		if err := svc.AppendEvent(platform.WithTimeProvider(ctx, func() time.Time { return later }), live, filled); err != nil {
			t.Fatal(err)
		}
		if event.ID != "id-2" || !event.Timestamp.Equal(now) || filled.ID != "id-3" || !filled.Timestamp.Equal(later) {
			t.Errorf("events %s of %s and %s of %s", event.ID, event.Timestamp, filled.ID, filled.Timestamp)
		}
		if !live.LastUpdateTime().Equal(later) {
			t.Errorf("last update %s, want %s", live.LastUpdateTime(), later)
		}
		got, err := core.Get(t.Context(), &session.GetRequest{Key: session.Key{AppName: "app", UserID: "ana", SessionID: "id-1"}})
		if err != nil {
			t.Fatal(err)
		}
		s := got.Session
		if !s.CreatedAt.Equal(now) || !s.UpdatedAt.Equal(later) || len(s.Events) != 2 {
			t.Fatalf("created %s, updated %s, %d events", s.CreatedAt, s.UpdatedAt, len(s.Events))
		}
		if e := s.Events[1]; e.ID != "id-3" || !e.Timestamp.Equal(later) || !e.RecordedAt.Equal(later) {
			t.Errorf("stored event %s of %s, recorded %s", e.ID, e.Timestamp, e.RecordedAt)
		}
	})
}

// A backend has its own clock. Without events the last update is the creation.
func TestLastUpdateTimeOfANewSession(t *testing.T) {
	svc := adk.New(inmemory.New())
	now := time.Date(2024, 1, 2, 3, 4, 5, 0, time.UTC)
	created, err := svc.Create(provided(t.Context(), now), &adksession.CreateRequest{AppName: key.AppName, UserID: key.UserID, SessionID: key.SessionID})
	if err != nil {
		t.Fatal(err)
	}
	list, err := svc.List(t.Context(), &adksession.ListRequest{AppName: key.AppName})
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]adksession.Session{"created": created.Session, "read": get(t, svc), "listed": list.Sessions[0]} {
		if !s.LastUpdateTime().Equal(now) {
			t.Errorf("%s: last update %s, want %s", name, s.LastUpdateTime(), now)
		}
	}
	mustAppend(t, svc, created.Session, said("1", nil))
	if got, want := created.Session.LastUpdateTime(), get(t, svc).LastUpdateTime(); !got.After(now) || !got.Equal(want) {
		t.Errorf("after an event %s, read %s", got, want)
	}
}
