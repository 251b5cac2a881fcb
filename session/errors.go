package session

import (
	"context"
	"errors"
	"fmt"
)

// Sentinel errors of the contract, matched with [errors.Is].
var (
	// ErrInvalidArgument: a field of the request breaks a rule. The error is an
	// [*ArgumentError], which names the field and the limit. Nothing was stored
	// and, unless the rule needs the stored session to decide, no transaction
	// was opened.
	ErrInvalidArgument = errors.New("session: invalid argument")
	// ErrNotFound: there is no such session, or its UID is another.
	ErrNotFound = errors.New("session: not found")
	// ErrAlreadyExists: Create of a key that exists.
	ErrAlreadyExists = errors.New("session: already exists")
	// ErrNotMember: the author, actor or viewer is no member, or there is no
	// such session or UID. It is returned as this very value for both, so that
	// a stranger cannot tell whether a session exists; it also matches
	// ErrNotFound.
	ErrNotMember error = notMember{}
	// ErrAlreadyMember: Join of a current member.
	ErrAlreadyMember = errors.New("session: already a member")
	// ErrIdempotencyMismatch: the idempotency key is known for another request.
	ErrIdempotencyMismatch = errors.New("session: idempotency key was used for another request")
	// ErrStale: ExpectedSeq is not the head. The error is a [*StaleError].
	ErrStale = errors.New("session: stale")
	// ErrEpochChanged: the log was replaced since the cursor was made. The
	// error is an [*EpochError].
	ErrEpochChanged = errors.New("session: epoch changed")
	// ErrBusy: locks or serialization conflicts outlasted the retries. Nothing
	// was stored; the same call may succeed later.
	ErrBusy = errors.New("session: busy")
)

type notMember struct{}

func (notMember) Error() string { return "session: not a member, or no such session" }

func (notMember) Is(target error) bool { return target == ErrNotFound }

// ArgumentError reports the field of a request that breaks a rule.
type ArgumentError struct {
	Field  string // such as Key.AppName or Events[3].Author
	Reason string // what the limit is and what was given
}

func (e *ArgumentError) Error() string {
	return "session: invalid argument: " + e.Field + ": " + e.Reason
}

// Is makes errors.Is(err, ErrInvalidArgument) true.
func (e *ArgumentError) Is(target error) bool { return target == ErrInvalidArgument }

// StaleError reports an append based on an outdated head.
type StaleError struct {
	Key            Key
	Expected, Head int64
}

func (e *StaleError) Error() string {
	return fmt.Sprintf("session: stale append to %s: expected head %d, have %d", e.Key, e.Expected, e.Head)
}

// Is makes errors.Is(err, ErrStale) true.
func (e *StaleError) Is(target error) bool { return target == ErrStale }

// EpochError reports a cursor into a log that has been replaced.
type EpochError struct {
	Key             Key
	Expected, Epoch int64
}

func (e *EpochError) Error() string {
	return fmt.Sprintf("session: log of %s was replaced: expected epoch %d, have %d", e.Key, e.Expected, e.Epoch)
}

// Is makes errors.Is(err, ErrEpochChanged) true.
func (e *EpochError) Is(target error) bool { return target == ErrEpochChanged }

// codes lists the stable codes. ErrNotMember stands before ErrNotFound, which
// it matches too.
var codes = []struct {
	err  error
	code string
}{
	{ErrInvalidArgument, "INVALID_ARGUMENT"},
	{ErrNotMember, "NOT_MEMBER"},
	{ErrNotFound, "NOT_FOUND"},
	{ErrAlreadyExists, "ALREADY_EXISTS"},
	{ErrAlreadyMember, "ALREADY_MEMBER"},
	{ErrIdempotencyMismatch, "IDEMPOTENCY_MISMATCH"},
	{ErrStale, "STALE"},
	{ErrEpochChanged, "EPOCH_CHANGED"},
	{ErrBusy, "BUSY"},
	{context.Canceled, "CANCELED"},
	{context.DeadlineExceeded, "DEADLINE_EXCEEDED"},
}

// Code returns a stable code for gateways: the sentinel's name, such as
// NOT_MEMBER or INVALID_ARGUMENT; CANCELED or DEADLINE_EXCEEDED for the errors
// of package context; the empty string for nil, and INTERNAL for the rest.
func Code(err error) string {
	if err == nil {
		return ""
	}
	for _, c := range codes {
		if errors.Is(err, c.err) {
			return c.code
		}
	}
	return "INTERNAL"
}
