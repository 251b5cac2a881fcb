package stateutil

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/hansardlog/hansard/internal/check"
)

var (
	errNotUTF8   = errors.New("not valid UTF-8")
	errSurrogate = errors.New("a \\u escape that is half a surrogate pair")
)

// canonical encodes a state value: object keys sorted at every level, numbers
// as written, no HTML escapes. One encoding serves the store and the request
// hash. It refuses what could not be read back: encoding/json replaces invalid
// UTF-8 and halves of surrogate pairs silently, and decodes to a limited depth.
func canonical(v any) ([]byte, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("cannot be encoded as JSON: %w", err)
	}
	if !utf8.Valid(data) {
		return nil, errNotUTF8 // from a value that encodes itself
	}
	halves, replaced := scanEscapes(data)
	if halves {
		return nil, errSurrogate
	}
	if replaced && brokenText(reflect.ValueOf(v)) {
		return nil, errNotUTF8
	}
	// Wrapped as the store keeps it, so that what is one level too deep there
	// is refused here.
	var wrapped [1]any
	if err := decodeExact(append(append([]byte{'['}, data...), ']'), &wrapped); err != nil {
		return nil, fmt.Errorf("could not be read back: %w", err)
	}
	return encodePlain(wrapped[0]), nil
}

func decodeExact(data []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	return dec.Decode(v)
}

// decodeValue is decodeExact for one value. Most values are a word or a number,
// for which a decoder would cost more than all else of a read.
func decodeValue(data []byte) (v any, err error) {
	if plain(data) {
		switch data[0] {
		case '"':
			return string(data[1 : len(data)-1]), nil
		case 't', 'f':
			return data[0] == 't', nil
		case 'n':
			return nil, nil
		}
		return json.Number(data), nil
	}
	return v, decodeExact(data, &v)
}

// plain reports whether data is a value that stands for itself: no object or
// array, no space around it, no escape in it.
func plain(data []byte) bool {
	n := len(data)
	return n > 0 && data[0] > ' ' && data[0] != '{' && data[0] != '[' && data[n-1] > ' ' &&
		bytes.IndexByte(data, '\\') < 0 && utf8.Valid(data) && check.ValidJSON(data)
}

// encodePlain encodes what decodeExact returned, which cannot fail.
func encodePlain(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic("stateutil: encode decoded JSON: " + err.Error())
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'})
}

// scanEscapes looks at the \u escapes of valid JSON: whether one is half a
// surrogate pair, and whether one is \ufffd, which is how encoding/json writes
// an invalid byte (a valid U+FFFD it writes raw).
func scanEscapes(data []byte) (halves, replaced bool) {
	for i := 0; i < len(data); i++ {
		if data[i] != '\\' {
			continue
		}
		i++ // now at the escaped character
		if data[i] != 'u' {
			continue
		}
		r := hex4(data[i+1:])
		i += 4
		switch {
		case r == utf8.RuneError:
			replaced = true
		case utf16.IsSurrogate(r):
			if rest := data[i+1:]; len(rest) >= 6 && rest[0] == '\\' && rest[1] == 'u' &&
				utf16.DecodeRune(r, hex4(rest[2:])) != utf8.RuneError {
				i += 6
				continue
			}
			halves = true
		}
	}
	return halves, replaced
}

func hex4(data []byte) rune {
	n, _ := strconv.ParseUint(string(data[:4]), 16, 32) // valid JSON has four digits here
	return rune(n)
}

// brokenText reports whether a string inside v is invalid UTF-8. It is asked
// only when the encoding holds \ufffd, which raw JSON may hold rightfully.
func brokenText(v reflect.Value) bool {
	if v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return false // null, whatever methods the type has
	}
	if v.CanInterface() {
		switch m := v.Interface().(type) {
		case json.Marshaler:
			return false // writes its own escapes
		case encoding.TextMarshaler:
			text, err := m.MarshalText()
			return err == nil && !utf8.Valid(text)
		}
	}
	switch v.Kind() {
	case reflect.String:
		return !utf8.ValidString(v.String())
	case reflect.Pointer:
		return brokenText(v.Elem())
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return false // base64
		}
		for i := range v.Len() {
			if brokenText(v.Index(i)) {
				return true
			}
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			if brokenText(it.Key()) || brokenText(it.Value()) {
				return true
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if (f.IsExported() || f.Anonymous) && f.Tag.Get("json") != "-" && brokenText(v.Field(i)) {
				return true
			}
		}
	}
	return false
}
