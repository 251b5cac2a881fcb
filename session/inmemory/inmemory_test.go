package inmemory_test

import (
	"testing"

	"github.com/hansardlog/hansard/session"
	"github.com/hansardlog/hansard/session/inmemory"
	"github.com/hansardlog/hansard/session/sessiontest"
)

func TestConformance(t *testing.T) {
	sessiontest.Run(t, sessiontest.Config{
		New: func(*testing.T) session.Service { return inmemory.New() },
		NewWith: func(_ *testing.T, o sessiontest.Options) session.Service {
			return inmemory.New(inmemory.WithClock(o.Clock), inmemory.WithIDs(o.IDs), inmemory.WithMaxPayload(o.MaxPayload))
		},
	})
}
