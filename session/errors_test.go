package session_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/hansardlog/hansard/session"
)

var sentinels = map[string]error{
	"INVALID_ARGUMENT":     session.ErrInvalidArgument,
	"NOT_FOUND":            session.ErrNotFound,
	"ALREADY_EXISTS":       session.ErrAlreadyExists,
	"NOT_MEMBER":           session.ErrNotMember,
	"ALREADY_MEMBER":       session.ErrAlreadyMember,
	"IDEMPOTENCY_MISMATCH": session.ErrIdempotencyMismatch,
	"STALE":                session.ErrStale,
	"EPOCH_CHANGED":        session.ErrEpochChanged,
	"BUSY":                 session.ErrBusy,
	"CANCELED":             context.Canceled,
	"DEADLINE_EXCEEDED":    context.DeadlineExceeded,
}

func TestCode(t *testing.T) {
	for code, err := range sentinels {
		for _, e := range []error{err, fmt.Errorf("append event: %w", err), errors.Join(io.EOF, err)} {
			if got := session.Code(e); got != code {
				t.Errorf("Code(%v) = %q, want %q", e, got, code)
			}
		}
	}
	for _, tt := range []struct {
		err  error
		want string
	}{
		{nil, ""},
		{io.EOF, "INTERNAL"},
		{errors.New("session: not found"), "INTERNAL"}, // the text does not count
		{&session.ArgumentError{Field: "Author", Reason: "empty"}, "INVALID_ARGUMENT"},
		{&session.StaleError{}, "STALE"},
		{fmt.Errorf("append: %w", &session.EpochError{}), "EPOCH_CHANGED"},
	} {
		if got := session.Code(tt.err); got != tt.want {
			t.Errorf("Code(%v) = %q, want %q", tt.err, got, tt.want)
		}
	}
}

// Each sentinel is itself and no other, but for ErrNotMember, which is
// ErrNotFound too: who asks for "not found" need not know about members.
func TestSentinels(t *testing.T) {
	for code, err := range sentinels {
		for otherCode, other := range sentinels {
			want := code == otherCode || (code == "NOT_MEMBER" && otherCode == "NOT_FOUND")
			if got := errors.Is(err, other); got != want {
				t.Errorf("errors.Is(%s, %s) = %t, want %t", code, otherCode, got, want)
			}
		}
		if err != context.Canceled && err != context.DeadlineExceeded && !strings.HasPrefix(err.Error(), "session: ") { //nolint:errorlint // comparing the sentinels themselves
			t.Errorf("text of %s is %q, want the package's name first", code, err)
		}
	}
}

func TestTypedErrors(t *testing.T) {
	key := session.Key{AppName: "app", UserID: "olga", SessionID: "s 1"}
	for _, tt := range []struct {
		err, sentinel error
		words         []string // of the text
	}{
		{
			&session.ArgumentError{Field: "Events[3].Author", Reason: "300 bytes, at most 255"}, session.ErrInvalidArgument,
			[]string{"Events[3].Author", "300 bytes, at most 255"},
		},
		{&session.StaleError{Key: key, Expected: 41, Head: 57}, session.ErrStale, []string{"app", "olga", "s 1", "41", "57"}},
		{&session.EpochError{Key: key, Expected: 41, Epoch: 57}, session.ErrEpochChanged, []string{"app", "olga", "s 1", "41", "57"}},
	} {
		wrapped := fmt.Errorf("append event: %w", tt.err)
		for code, sentinel := range sentinels {
			if got, want := errors.Is(wrapped, sentinel), sentinel == tt.sentinel; got != want { //nolint:errorlint // comparing the sentinels themselves
				t.Errorf("errors.Is(%T, %s) = %t, want %t", tt.err, code, got, want)
			}
		}
		for _, word := range tt.words {
			if !strings.Contains(tt.err.Error(), word) {
				t.Errorf("text of %T lacks %q: %s", tt.err, word, tt.err)
			}
		}
	}
	var stale *session.StaleError
	if err := fmt.Errorf("append: %w", &session.StaleError{Key: key, Expected: 1, Head: 2}); !errors.As(err, &stale) ||
		*stale != (session.StaleError{Key: key, Expected: 1, Head: 2}) {
		t.Errorf("errors.As of a wrapped *StaleError: got %+v", stale)
	}
}

func TestKeyString(t *testing.T) {
	// Quoted, so that the parts cannot be mistaken for one another.
	a := session.Key{AppName: "a/b", UserID: "c", SessionID: "d "}
	b := session.Key{AppName: "a", UserID: "b/c", SessionID: "d "}
	if a.String() == b.String() {
		t.Errorf("two keys have the text %s", a)
	}
	if want := `"a/b"/"c"/"d "`; a.String() != want {
		t.Errorf("text is %s, want %s", a, want)
	}
}
