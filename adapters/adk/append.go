package adk

import (
	"context"
	"errors"
	"maps"
	"strings"
	"time"

	"google.golang.org/adk/v2/platform"
	adksession "google.golang.org/adk/v2/session"

	"github.com/hansardlog/hansard/session"
)

// AppendEvent implements session.Service of ADK. Of the event an empty ID and
// Timestamp are filled in, nothing else is changed. A partial event is not
// stored.
//
// After an error of the database the event may have been stored, also if the
// live session could not be brought up to date: appending the same event again
// stores it once in any case. An event that ADK's JSON cannot decode again is
// refused as session.ErrInvalidArgument.
func (s *service) AppendEvent(ctx context.Context, cur adksession.Session, event *adksession.Event) error {
	if cur == nil {
		return invalid("session", "nil")
	}
	if event == nil {
		return invalid("event", "nil")
	}
	if event.Partial {
		return ctx.Err()
	}
	if event.ID == "" {
		event.ID = platform.NewUUID(ctx)
	}
	untimed := event.Timestamp.IsZero()
	if untimed {
		event.Timestamp = platform.Now(ctx)
	}
	err := s.append(ctx, cur, event)
	if untimed && errors.Is(err, session.ErrIdempotencyMismatch) {
		// It may be the same event but for the time given to it just now.
		var lookup error
		if event.Timestamp, lookup = s.timestamp(ctx, keyOf(cur), nameOfADK(event)); lookup != nil {
			return failed("append event", lookup)
		}
		err = s.append(ctx, cur, event)
	}
	return failed("append event", err)
}

// append appends an event that has an ID and a timestamp.
func (s *service) append(ctx context.Context, cur adksession.Session, event *adksession.Event) error {
	stripped := withoutTemp(event)
	encoded, err := encode(stripped)
	if err != nil {
		return err
	}
	req := &session.AppendEventRequest{Key: keyOf(cur), Event: encoded}
	live, ok := cur.(*liveSession)
	if !ok { // somebody's own: stored, but it cannot be kept up to date
		_, err := s.svc.AppendEvent(ctx, req)
		return err
	}
	req.UID = live.uid
	return live.append(ctx, s, req, own{encoded.Payload, stripped, maps.Clone(event.Actions.StateDelta)})
}

// timestamp returns that of the stored event of a name, and zero with an error.
func (s *service) timestamp(ctx context.Context, key session.Key, name eventName) (time.Time, error) {
	for e, err := range session.AllEvents(ctx, s.svc, session.ListEventsRequest{Key: key, Descending: true}) {
		if err != nil {
			return time.Time{}, err
		}
		if nameOf(e) != name {
			continue
		}
		event, err := s.decode(e)
		if err != nil {
			return time.Time{}, err
		}
		return event.Timestamp, nil
	}
	return time.Time{}, session.ErrNotFound // deleted meanwhile
}

// withoutTemp returns a copy of event without its temp: keys. Its actions have
// maps of their own: the live session shows it while the caller may go on to
// write into its event's.
func withoutTemp(event *adksession.Event) *adksession.Event {
	stripped := *event
	actions := &stripped.Actions
	actions.StateDelta = maps.Clone(actions.StateDelta)
	actions.ArtifactDelta = maps.Clone(actions.ArtifactDelta)
	actions.RequestedToolConfirmations = maps.Clone(actions.RequestedToolConfirmations)
	maps.DeleteFunc(actions.StateDelta, func(key string, _ any) bool { return isTemp(key) })
	return &stripped
}

func isTemp(key string) bool { return strings.HasPrefix(key, session.TempPrefix) }
