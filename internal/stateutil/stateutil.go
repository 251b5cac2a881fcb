// Package stateutil validates, encodes, splits and merges state by scope.
//
// Between the request and the store state is a map of encoded values: the key
// is the state key with its scope prefix (in [Scopes] the name without it), the
// value its canonical JSON, and nil stands for a removed key.
package stateutil

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hansardlog/hansard/internal/check"
	"github.com/hansardlog/hansard/session"
)

// Values maps keys to canonical JSON, nil for a removed key.
type Values map[string][]byte

// Scopes holds the values of each stored scope under names without prefix.
type Scopes struct{ App, User, Session Values }

// Split sorts values into their scopes; temp: keys are dropped.
func Split(values Values) Scopes {
	var s Scopes
	for key, value := range values {
		switch {
		case strings.HasPrefix(key, session.TempPrefix):
		case strings.HasPrefix(key, session.AppPrefix):
			put(&s.App, strings.TrimPrefix(key, session.AppPrefix), value)
		case strings.HasPrefix(key, session.UserPrefix):
			put(&s.User, strings.TrimPrefix(key, session.UserPrefix), value)
		default:
			put(&s.Session, key, value)
		}
	}
	return s
}

func put(values *Values, name string, value []byte) {
	if *values == nil {
		*values = Values{}
	}
	(*values)[name] = value
}

// Names returns the names of values in byte order: the order in which they are
// hashed, locked and written.
func Names(values Values) []string {
	if len(values) == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(values))
}

// Delta is a validated and encoded state change.
type Delta struct {
	Set    Values   // full keys; no temp: keys
	Delete []string // full keys in the caller's order; no temp: keys, no repeats
}

// Encode validates and encodes a state change. The field names are for errors.
func Encode(setField string, set session.State, deleteField string, del []string) (Delta, error) {
	var d Delta
	if len(set) > 0 {
		for _, key := range slices.Sorted(maps.Keys(set)) {
			value, err := encode(key, set[key])
			if err != nil {
				return Delta{}, check.In(fmt.Sprintf("%s[%q]", setField, key), err)
			}
			if value != nil {
				put(&d.Set, key, value)
			}
		}
	}
	if len(del) == 0 {
		return d, nil
	}
	seen := make(map[string]bool, len(del))
	for i, key := range del {
		err := checkKey(key)
		if _, both := set[key]; both && err == nil {
			err = check.Invalid("", "%q is in %s too", key, setField)
		}
		if err != nil {
			return Delta{}, check.In(fmt.Sprintf("%s[%d]", deleteField, i), err)
		}
		if strings.HasPrefix(key, session.TempPrefix) || seen[key] {
			continue
		}
		seen[key] = true
		d.Delete = append(d.Delete, key)
	}
	return d, nil
}

// encode returns a value's canonical JSON, nil for a temp: key.
func encode(key string, value any) ([]byte, error) {
	if err := checkKey(key); err != nil || strings.HasPrefix(key, session.TempPrefix) {
		return nil, err
	}
	data, err := canonical(value)
	if err != nil {
		return nil, check.Invalid("", "%v", err)
	}
	return data, nil
}

// checkKey checks a state key: a text field whose part after a scope prefix is
// not empty.
func checkKey(key string) error {
	if err := check.Name("", key); err != nil {
		return err
	}
	switch key {
	case session.AppPrefix, session.UserPrefix, session.TempPrefix:
		return check.Invalid("", "nothing follows the prefix")
	}
	return nil
}

// Changes returns the change as values, nil for removed keys.
func (d Delta) Changes() Values {
	if len(d.Set)+len(d.Delete) == 0 {
		return nil
	}
	values := make(Values, len(d.Set)+len(d.Delete))
	maps.Copy(values, d.Set)
	for _, key := range d.Delete {
		values[key] = nil
	}
	return values
}

// SetJSON returns the set keys as a JSON object in byte order of keys, nil if
// there are none.
func (d Delta) SetJSON() []byte { return Object(d.Set) }

// DeleteJSON returns the removed keys as a JSON array, nil if there are none.
func (d Delta) DeleteJSON() []byte {
	if len(d.Delete) == 0 {
		return nil
	}
	return encodePlain(d.Delete)
}

// Object returns values as one JSON object in byte order of keys, without the
// removed ones; nil if nothing is left.
func Object(values Values) []byte {
	if len(values) == 0 {
		return nil
	}
	var b bytes.Buffer
	for _, key := range Names(values) {
		if values[key] == nil {
			continue
		}
		if b.Len() == 0 {
			b.WriteByte('{')
		} else {
			b.WriteByte(',')
		}
		b.Write(encodePlain(key))
		b.WriteByte(':')
		b.Write(values[key])
	}
	if b.Len() == 0 {
		return nil
	}
	b.WriteByte('}')
	return b.Bytes()
}

// DecodeValues is the inverse of [Object]; the values stay encoded.
func DecodeValues(object []byte) (Values, error) {
	if len(object) == 0 {
		return nil, nil
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(object, &raw); err != nil {
		return nil, fmt.Errorf("decode state: %w", err)
	}
	values := make(Values, len(raw))
	for key, value := range raw {
		values[key] = value
	}
	return values, nil
}

// DecodeObject decodes a JSON object with exact numbers; nil for an empty one.
func DecodeObject(object []byte) (session.State, error) {
	if len(object) == 0 {
		return nil, nil
	}
	var state session.State
	if err := decodeExact(object, &state); err != nil {
		return nil, fmt.Errorf("decode state: %w", err)
	}
	return state, nil
}

// DecodeNames is the inverse of [Delta.DeleteJSON].
func DecodeNames(array []byte) ([]string, error) {
	if len(array) == 0 {
		return nil, nil
	}
	var names []string
	if err := json.Unmarshal(array, &names); err != nil {
		return nil, fmt.Errorf("decode state keys: %w", err)
	}
	return names, nil
}

// Decode returns the values of each scope as one state, without the removed
// keys; never nil.
func Decode(s Scopes) (session.State, error) {
	state := make(session.State, len(s.App)+len(s.User)+len(s.Session))
	for _, scope := range []struct {
		prefix string
		values Values
	}{{session.AppPrefix, s.App}, {session.UserPrefix, s.User}, {"", s.Session}} {
		for name, data := range scope.values {
			if data == nil {
				continue
			}
			value, err := decodeValue(data)
			if err != nil {
				return nil, fmt.Errorf("decode state key %q: %w", scope.prefix+name, err)
			}
			state[scope.prefix+name] = value
		}
	}
	return state, nil
}
