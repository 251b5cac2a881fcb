package request

import (
	"context"
	"errors"
	"fmt"

	"github.com/hansardlog/hansard/session"
)

// Failed says of which session and during what an error arose, the same on all
// backends. Errors that are complete already stay themselves: those of the
// context, those that hold the key, and [session.ErrNotMember], which must not
// tell whether the session exists.
func Failed(op string, key session.Key, err error) error {
	var stale *session.StaleError
	var epoch *session.EpochError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, session.ErrNotMember):
		return session.ErrNotMember
	case errors.As(err, &stale):
		return stale
	case errors.As(err, &epoch):
		return epoch
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	return fmt.Errorf("%s %s: %w", op, key, err)
}

// Unknown is the error for a session that does not exist or has another UID:
// whoever acts in somebody's name learns only that the name is no member.
func Unknown(name string) error {
	if name != "" {
		return session.ErrNotMember
	}
	return session.ErrNotFound
}
