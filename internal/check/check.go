// Package check holds the rules for single fields, which every backend shares.
// Each function returns nil or a [*session.ArgumentError] that names the field
// and the limit.
package check

import (
	"errors"
	"fmt"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/hansardlog/hansard/session"
)

// Invalid returns the error for a field that breaks a rule.
func Invalid(field, format string, args ...any) error {
	return &session.ArgumentError{Field: field, Reason: fmt.Sprintf(format, args...)}
}

// In puts what a field is a part of before its name, so that nobody needs to
// join names as long as nothing is wrong.
func In(whole string, err error) error {
	var arg *session.ArgumentError
	if !errors.As(err, &arg) {
		return err
	}
	return &session.ArgumentError{Field: whole + arg.Field, Reason: arg.Reason}
}

// Text checks a text field that may be empty.
func Text(field, s string, maxBytes int) error {
	if len(s) > maxBytes {
		return Invalid(field, "%d bytes, at most %d", len(s), maxBytes)
	}
	if printableASCII(s) { // nearly always
		return nil
	}
	if !utf8.ValidString(s) {
		return Invalid(field, "not valid UTF-8")
	}
	for i, r := range s {
		if unicode.IsControl(r) {
			return Invalid(field, "control character %U at byte %d", r, i)
		}
	}
	return nil
}

func printableASCII(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// Name checks a text field of at most [session.MaxTextBytes] that may not be
// empty.
func Name(field, s string) error {
	if s == "" {
		return Invalid(field, "empty")
	}
	return Text(field, s, session.MaxTextBytes)
}

// Key checks the key of an existing session.
func Key(k session.Key) error {
	if err := Owner(k); err != nil {
		return err
	}
	return Name("Key.SessionID", k.SessionID)
}

// Owner checks the parts of a key that are known before the session is.
func Owner(k session.Key) error {
	if err := Name("Key.AppName", k.AppName); err != nil {
		return err
	}
	return Name("Key.UserID", k.UserID)
}

// NotNegative checks a count or a sequence.
func NotNegative(field string, n int64) error {
	if n < 0 {
		return Invalid(field, "%d, at least 0", n)
	}
	return nil
}

// Size checks a page size and returns it or the default.
func Size(field string, n int) (int, error) {
	switch {
	case n < 0 || n > session.MaxPageSize:
		return 0, Invalid(field, "%d, from 1 to %d (0: %d)", n, session.MaxPageSize, session.DefaultPageSize)
	case n == 0:
		return session.DefaultPageSize, nil
	}
	return n, nil
}

// Micros returns t in microseconds since 1970 UTC, rounded down. Set is false
// for the zero time, also if it is zero only after the cut.
func Micros(field string, t time.Time) (micros int64, set bool, err error) {
	if t.IsZero() {
		return 0, false, nil
	}
	if year := t.UTC().Year(); year < 1 || year > 9999 {
		return 0, false, Invalid(field, "year %d in UTC, from 1 to 9999", year)
	}
	micros = t.UnixMicro()
	return micros, !Time(micros).IsZero(), nil
}

// Time is the inverse of [Micros].
func Time(micros int64) time.Time { return time.UnixMicro(micros).UTC() }

// JSON checks an encoded value that is stored byte for byte; empty is absent.
func JSON(field string, data []byte, maxBytes int) error {
	if len(data) == 0 {
		return nil
	}
	if len(data) > maxBytes {
		return Invalid(field, "%d bytes, at most %d", len(data), maxBytes)
	}
	if !utf8.Valid(data) {
		return Invalid(field, "not valid UTF-8")
	}
	if !ValidJSON(data) {
		return Invalid(field, "not valid JSON, or nested deeper than encoding/json reads")
	}
	return nil
}
