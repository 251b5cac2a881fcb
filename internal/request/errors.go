package request

import (
	"context"
	"errors"
	"fmt"

	"github.com/hansardlog/hansard/session"
)

// ErrNone is what a backend's store says when a conversation does not exist or
// is another incarnation. [Failed] translates it for who asked; it never leaves
// a backend.
var ErrNone = errors.New("no such conversation")

// Failed completes an error of a call on the session of key: during what and of
// which session it arose, the same on all backends. name is in whose name the
// call was made, empty for the embedding program's own.
//
// Errors that are complete already stay themselves: those of the context, those
// that hold the key, and [session.ErrNotMember], which must not tell whether the
// session exists. Whoever acts in somebody's name learns of an unknown session
// only that the name is no member.
func Failed(op string, key session.Key, name string, err error) error {
	if errors.Is(err, ErrNone) {
		err = session.ErrNotFound
		if name != "" {
			err = session.ErrNotMember
		}
	}
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
