package database

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hansardlog/hansard/internal/request"
)

// Option configures a [Service]; [New] and [Open] report an invalid value.
type Option interface{ apply(*config) error }

type optionFunc func(*config) error

func (f optionFunc) apply(c *config) error { return f(c) }

type config struct {
	request   request.Config
	retry     retryPolicy
	prefix    string
	combining int
	direct    Direct
}

func newConfig(opts []Option) (config, error) {
	c := config{
		request:   request.DefaultConfig(),
		retry:     retryPolicy{attempts: 10, backoff: 5 * time.Millisecond},
		prefix:    defaultPrefix,
		combining: DefaultCombining,
	}
	for _, opt := range opts {
		if opt == nil {
			return c, errors.New("database: nil option")
		}
		if err := opt.apply(&c); err != nil {
			return c, err
		}
	}
	return c, nil
}

// WithClock sets the source of the times that callers leave open and of
// RecordedAt. The default is [time.Now]. It is asked once for each request that
// stores something.
func WithClock(now func(context.Context) time.Time) Option {
	return optionFunc(func(c *config) error {
		if now == nil {
			return errors.New("database: nil clock")
		}
		c.request.Clock = now
		return nil
	})
}

// WithIDs sets the source of session and event IDs that callers leave open,
// never of UIDs. The default makes UUIDv7. An ID that breaks the rules of
// session.Key fails the request.
func WithIDs(next func(context.Context) string) Option {
	return optionFunc(func(c *config) error {
		if next == nil {
			return errors.New("database: nil source of IDs")
		}
		c.request.IDs = next
		return nil
	})
}

// WithMaxPayload bounds the payload of one event, in bytes. The default is
// session.DefaultMaxPayload, 16 MiB.
func WithMaxPayload(bytes int) Option {
	return optionFunc(func(c *config) error {
		if bytes < 1 {
			return fmt.Errorf("database: maximal payload of %d bytes, at least 1", bytes)
		}
		c.request.MaxPayload = bytes
		return nil
	})
}

// WithRetry bounds how often a transaction is tried when the database reports a
// serialization failure, a deadlock or a busy lock, and sets the pause after
// the first try, which doubles after each up to [MaxBackoff] and is shortened
// at random by up to a half. The default is 10 tries and 5 ms; 1 try turns
// retries off. The context ends a pause.
func WithRetry(attempts int, backoff time.Duration) Option {
	return optionFunc(func(c *config) error {
		if attempts < 1 {
			return fmt.Errorf("database: %d tries, at least 1", attempts)
		}
		if backoff < 0 || backoff > MaxBackoff {
			return fmt.Errorf("database: backoff %v, from 0 to %v", backoff, MaxBackoff)
		}
		c.retry = retryPolicy{attempts: attempts, backoff: backoff}
		return nil
	})
}

// WithTablePrefix sets what the names of all tables and indexes begin with. The
// default is hansard_. It is made of lower-case letters, digits and _, at most
// 32 bytes. On PostgreSQL it may name a schema, which Migrate makes if it is
// missing: agents.hansard_. Services with different prefixes share nothing.
func WithTablePrefix(prefix string) Option {
	return optionFunc(func(c *config) error {
		c.prefix = prefix
		return nil
	})
}

// WithCombining bounds how many appends share one transaction when they would
// wait for the same lock: those to one conversation, on SQLite those to the
// database. The default is [DefaultCombining]; 1 turns it off. An append for
// which nobody is at work never waits, and each gets the answer that it would
// have got alone. A batch runs on a context that has the values of its first
// caller's and ends after a minute. Nothing is combined in the caller's
// transaction.
func WithCombining(most int) Option {
	return optionFunc(func(c *config) error {
		if most < 1 {
			return fmt.Errorf("database: %d appends in a transaction, at least 1", most)
		}
		c.combining = most
		return nil
	})
}

// WithDirect sends appends past GORM in one round trip, where d serves the
// driver of the pool: see package pgdirect. Elsewhere, in the caller's
// transaction and for replays it plays no part. GORM's callbacks and plugins do
// not see the statements of such an append. One whose context ends while it runs
// may still be stored, whole, and repeating it with its idempotency key tells.
func WithDirect(d Direct) Option {
	return optionFunc(func(c *config) error {
		if d == nil {
			return errors.New("database: nil Direct")
		}
		c.direct = d
		return nil
	})
}
