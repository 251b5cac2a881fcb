package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"strconv"
)

// Prefixes of state keys. A key without one belongs to its session. What
// follows a prefix is not empty.
const (
	// AppPrefix marks keys shared by all sessions of an app.
	AppPrefix = "app:"
	// UserPrefix marks keys shared by all sessions of one user of an app. In
	// kind session that user is the owner, in direct and group the author.
	UserPrefix = "user:"
	// TempPrefix marks keys that are never stored.
	TempPrefix = "temp:"
)

// State maps state keys, with their scope prefix, to values.
//
// Values that a store returns are what encoding/json decodes with UseNumber:
// nil, bool, string, [json.Number], []any and map[string]any, so that numbers
// are exact: 9007199254740993, 1e400 and 1.10 come back as written. Values
// given to a store are anything that encoding/json encodes and can read back.
type State map[string]any

// Get decodes the value of key into a T, exactly; numbers inside an interface
// become [json.Number].
//
// It returns an error matching [ErrNotFound] if s has no such key, and one
// matching [ErrInvalidArgument] if the value does not fit T: what encoding/json
// refuses, JSON null where T has no null, and for a floating-point T a number
// of which its shortest decimal form is not the value. Floats inside another T
// are rounded as encoding/json rounds them.
func Get[T any](s State, key string) (T, error) {
	var v T
	value, ok := s[key]
	if !ok {
		return v, fmt.Errorf("session: state key %q: %w", key, ErrNotFound)
	}
	unfit := func(err error) error {
		return &ArgumentError{Field: fmt.Sprintf("state key %q", key), Reason: fmt.Sprintf("does not fit %T: %v", &v, err)}
	}
	data, err := json.Marshal(value)
	if err != nil {
		return v, unfit(err)
	}
	if string(data) == "null" && !hasNull(&v) {
		return v, unfit(fmt.Errorf("it is null"))
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		var zero T
		return zero, unfit(err)
	}
	if !exactFloat(v, string(data)) {
		var zero T
		return zero, unfit(fmt.Errorf("%s is not exact in it", data))
	}
	return v, nil
}

// hasNull reports whether JSON null is a value of the type p points to.
func hasNull(p any) bool {
	if _, ok := p.(json.Unmarshaler); ok {
		return true
	}
	switch reflect.TypeOf(p).Elem().Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Interface:
		return true
	}
	return false
}

// exactFloat reports whether v, if it is a float, stands for the number text.
// 1.10 does although no binary fraction equals it: its shortest decimal form is
// 1.1. 9007199254740993 does not: the nearest float64 is another integer.
func exactFloat(v any, text string) bool {
	rv := reflect.ValueOf(v)
	if !rv.IsValid() || !rv.CanFloat() || text[0] == '"' {
		return true // no float, or a string that the type's own UnmarshalJSON took
	}
	want, ok := new(big.Rat).SetString(text) // refuses exponents too large to compute with
	if !ok {
		return false
	}
	got, ok := new(big.Rat).SetString(strconv.FormatFloat(rv.Float(), 'g', -1, rv.Type().Bits()))
	return ok && got.Cmp(want) == 0
}
