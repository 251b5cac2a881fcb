package stateutil

import (
	"encoding/json"
	"errors"
	"maps"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/hansardlog/hansard/session"
)

func TestSplitByScope(t *testing.T) {
	got := Split(Values{"app:a": []byte("1"), "user:u": nil, "s": []byte("2"), "temp:t": []byte("3"), "App:x": []byte("4"), "user": []byte("5")})
	want := Scopes{
		App:     Values{"a": []byte("1")},
		User:    Values{"u": nil},
		Session: Values{"s": []byte("2"), "App:x": []byte("4"), "user": []byte("5")},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("Split = %v, want %v", got, want)
	}
}

// FuzzMergeSplit: merge(Split(d)) is d without its temp: keys, and nothing
// panics, whatever the keys are.
func FuzzMergeSplit(f *testing.F) {
	f.Add("app:a", "user:b", "temp:c", []byte("1"))
	f.Add("app:", "user:", "temp:", []byte("null"))
	f.Add("", "app:app:x", "\xff", []byte(nil))
	f.Fuzz(func(t *testing.T, a, b, c string, value []byte) {
		values := Values{a: value, b: nil, c: []byte("true")}
		want := maps.Clone(values)
		maps.DeleteFunc(want, func(key string, _ []byte) bool { return strings.HasPrefix(key, session.TempPrefix) })
		if got := merge(Split(values)); !reflect.DeepEqual(got, want) {
			t.Errorf("merge(Split(%q)) = %q, want %q", values, got, want)
		}
	})
}

// FuzzEncode: what is accepted comes back as encoding/json with UseNumber reads
// it, from the object that is stored.
func FuzzEncode(f *testing.F) {
	f.Add("k", []byte(`{"b":1.10,"a":[9007199254740993,1e400,"<>&\u0000\ufffd"]}`))
	f.Add("app:k", []byte(`"\ud800"`))
	f.Add("user:", []byte(`{"a":1,"a":2}`))
	f.Add("k", []byte("\"\xff\""))
	f.Fuzz(func(t *testing.T, key string, value []byte) {
		d, err := Encode("Delta", session.State{key: json.RawMessage(value)}, "Delete", nil)
		if err != nil {
			var arg *session.ArgumentError
			if !errors.As(err, &arg) || !strings.HasPrefix(arg.Field, "Delta[") {
				t.Fatalf("Encode(%q, %q) = %v, want an ArgumentError of Delta", key, value, err)
			}
			return
		}
		if strings.HasPrefix(key, session.TempPrefix) {
			if len(d.Set) != 0 {
				t.Errorf("Encode kept %q", key)
			}
			return
		}
		var want any
		if len(value) > 0 { // an empty RawMessage is no JSON and refused above
			if err := decodeExact(value, &want); err != nil {
				t.Fatalf("Encode accepted %q, which does not decode: %v", value, err)
			}
		}
		got, err := DecodeObject(d.SetJSON())
		if err != nil {
			t.Fatalf("DecodeObject(%s): %v", d.SetJSON(), err)
		}
		if !reflect.DeepEqual(got[key], want) {
			t.Errorf("%q came back as %#v, want %#v", value, got[key], want)
		}
	})
}

type marshaler string

func (m marshaler) MarshalJSON() ([]byte, error) { return []byte(m), nil }

type texter string

func (m texter) MarshalText() ([]byte, error) { return []byte(m), nil }

func TestEncodeRefuses(t *testing.T) {
	deep := any("x")
	for range 10_000 {
		deep = []any{deep}
	}
	tests := map[string]any{
		"channel":                    make(chan int),
		"NaN":                        math.NaN(),
		"invalid UTF-8":              "a\xffb",
		"invalid UTF-8 in a slice":   []any{map[string]string{"k": "\xff"}},
		"invalid UTF-8 in a key":     map[string]int{"\xff": 1},
		"invalid UTF-8 in a struct":  struct{ A *struct{ B string } }{&struct{ B string }{"\xff"}},
		"invalid UTF-8 of text":      texter("\xff"),
		"invalid UTF-8 of a number":  json.Number("\xff"),
		"beside a nil of text":       []any{(*texter)(nil), "\xff"},
		"raw invalid UTF-8":          marshaler("\"\xff\""),
		"half a surrogate pair":      json.RawMessage(`"\ud800"`),
		"reversed surrogate pair":    json.RawMessage(`"\udc00\ud800"`),
		"half, then another escape":  json.RawMessage(`"\ud800\u0041"`),
		"beside a valid replacement": []any{json.RawMessage(`"\ufffd"`), "\xff"},
		"too deep":                   deep,
	}
	for name, value := range tests {
		_, err := Encode("Delta", session.State{"k": value}, "Delete", nil)
		var arg *session.ArgumentError
		if !errors.As(err, &arg) || arg.Field != `Delta["k"]` {
			t.Errorf("%s: Encode = %v, want an ArgumentError of Delta[\"k\"]", name, err)
		}
	}
}

func TestEncodeKeepsText(t *testing.T) {
	tests := []struct {
		value any
		want  string
	}{
		{json.RawMessage(`"\ufffd"`), "\"\ufffd\""}, // a replacement character somebody else escaped
		{"\ufffd", "\"\ufffd\""},
		{json.RawMessage(`"\ud83d\ude00"`), `"😀"`},
		{json.RawMessage(`"\\ud800"`), `"\\ud800"`}, // a backslash, no escape
		{"\x00", `"\u0000"`},
		{"<>&", `"<>&"`},
		{json.Number("1.10"), "1.10"},
		{json.Number("-0"), "-0"},
		{json.RawMessage(` { "b" : 1e400, "a" : [ ] } `), `{"a":[],"b":1e400}`},
		{nil, "null"},
		{[]byte{0xff}, `"/w=="`},
		{struct {
			Kept   string
			hidden string
			Not    string `json:"-"`
			Raw    json.RawMessage
		}{"a", "\xff", "\xff", json.RawMessage(`"\ufffd"`)}, "{\"Kept\":\"a\",\"Raw\":\"\ufffd\"}"},
	}
	for _, tt := range tests {
		d, err := Encode("Delta", session.State{"k": tt.value}, "Delete", nil)
		if err != nil {
			t.Errorf("Encode(%#v): %v", tt.value, err)
			continue
		}
		if got := string(d.Set["k"]); got != tt.want {
			t.Errorf("Encode(%#v) = %s, want %s", tt.value, got, tt.want)
		}
	}
}

func TestEncodeDeletes(t *testing.T) {
	d, err := Encode("Delta", nil, "Delete", []string{"b", "temp:x", "a", "b"})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(d.DeleteJSON()), `["b","a"]`; got != want {
		t.Errorf("DeleteJSON = %s, want %s", got, want)
	}
	for _, key := range []string{"k", "temp:k"} {
		_, err = Encode("Delta", session.State{key: make(chan int), "other": 1}, "Delete", []string{"x", key})
		if key == "k" { // the value is refused first
			continue
		}
		var arg *session.ArgumentError
		if !errors.As(err, &arg) || arg.Field != "Delete[1]" {
			t.Errorf("%q in both: Encode = %v, want an ArgumentError of Delete[1]", key, err)
		}
	}
}

// A value decoded by itself is what a decoder makes of it.
func FuzzDecodeValue(f *testing.F) {
	for _, text := range []string{
		"", " ", "null", "true", "false", "1", "-1.50e+7", "9007199254740993", `""`, `"a"`, `"a\n"`, `"\u00e4"`, `"ä"`, "\"\xff\"", "\"\t\"",
		" 1", "1 ", `"a" `, `"a"b"`, "tru", "01", "nullx", `{"a":1}`, "[1]", "[", `"a`, "1 2", "\"", "-",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var want any
		wantErr := decodeExact(data, &want)
		got, err := decodeValue(data)
		if (err == nil) != (wantErr == nil) || err == nil && !reflect.DeepEqual(got, want) {
			t.Errorf("%q is %#v, %v; a decoder says %#v, %v", data, got, err, want, wantErr)
		}
	})
}

// merge is the inverse of [Split].
func merge(s Scopes) Values {
	values := make(Values, len(s.App)+len(s.User)+len(s.Session))
	for name, value := range s.App {
		values[session.AppPrefix+name] = value
	}
	for name, value := range s.User {
		values[session.UserPrefix+name] = value
	}
	maps.Copy(values, s.Session)
	return values
}
