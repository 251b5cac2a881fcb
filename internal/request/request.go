// Package request turns the requests of the contract into validated, encoded
// values that a backend can decide on and store: everything that happens before
// a lock is taken, written once for all backends.
//
// Every method refuses in the order of the contract: arguments first, then the
// context. Nothing of a request is modified, and nothing that a prepared value
// holds is shared with it.
package request

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/hansardlog/hansard/internal/check"
	"github.com/hansardlog/hansard/session"
)

// Config is what all backends can be configured with.
type Config struct {
	Clock      func(context.Context) time.Time
	IDs        func(context.Context) string
	MaxPayload int // bytes
}

// DefaultConfig returns the configuration of a backend without options.
func DefaultConfig() Config {
	return Config{
		Clock:      func(context.Context) time.Time { return time.Now() },
		IDs:        func(context.Context) string { return uuid.Must(uuid.NewV7()).String() },
		MaxPayload: session.DefaultMaxPayload,
	}
}

// now reads the clock, once for each request.
func (c Config) now(ctx context.Context) int64 { return c.Clock(ctx).UnixMicro() }

// newID returns the next ID, which follows the rules of a caller's. Its errors
// name the field by where the ID is from.
func (c Config) newID(ctx context.Context) (string, error) {
	id := c.IDs(ctx)
	return id, check.Name(" from the ID provider", id)
}

// required is the error for a nil request.
func required() error { return check.Invalid("request", "nil") }
