package session_test

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/hansardlog/hansard/session"
)

// value decodes JSON as a store returns it.
func value(t *testing.T, text string) any {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("decode %s: %v", text, err)
	}
	return v
}

// got is the result of a Get[T], for tables of different T.
type got struct {
	value any
	err   error
}

func as[T any](s session.State) got {
	v, err := session.Get[T](s, "k")
	return got{v, err}
}

type point struct {
	X, Y int64
	Note string `json:"note"`
}

func TestGet(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		get        func(session.State) got
		want       any
	}{
		{"string", `"a\u0000b"`, as[string], "a\x00b"},
		{"bool", `true`, as[bool], true},
		{"int", `-7`, as[int], -7},
		{"int64 above 2^53", `9007199254740993`, as[int64], int64(9007199254740993)},
		{"uint64", `18446744073709551615`, as[uint64], uint64(math.MaxUint64)},
		{"float64", `1.10`, as[float64], 1.1},
		{"float64 with exponent", `1.5e+3`, as[float64], 1500.0},
		{"float64 of zero", `0e5`, as[float64], 0.0},
		{"float32", `0.1`, as[float32], float32(0.1)},
		{"number as written", `1e400`, as[json.Number], json.Number("1e400")},
		{"any of a number", `1.10`, as[any], json.Number("1.10")},
		{"any of null", `null`, as[any], nil},
		{"numbers inside", `[9007199254740993,{"a":1.0}]`, as[[]any], []any{json.Number("9007199254740993"), map[string]any{"a": json.Number("1.0")}}},
		{"struct", `{"X":1,"Y":9007199254740993,"note":"n","more":0}`, as[point], point{X: 1, Y: 9007199254740993, Note: "n"}},
		{"pointer", `{"X":1}`, as[*point], &point{X: 1}},
		{"null pointer", `null`, as[*point], (*point)(nil)},
		{"null slice", `null`, as[[]string], []string(nil)},
		{"null map", `null`, as[map[string]int], map[string]int(nil)},
		{"slice", `["a","b"]`, as[[]string], []string{"a", "b"}},
		{"map", `{"a":1}`, as[map[string]int], map[string]int{"a": 1}},
		{"raw", `{"b":1,"a":[1.0]}`, as[json.RawMessage], json.RawMessage(`{"a":[1.0],"b":1}`)},
		{"time", `"2024-02-29T12:00:00.000001Z"`, as[time.Time], time.Date(2024, 2, 29, 12, 0, 0, 1000, time.UTC)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.get(session.State{"k": value(t, tt.text)})
			if got.err != nil || !reflect.DeepEqual(got.value, tt.want) {
				t.Errorf("Get of %s = %#v, %v, want %#v", tt.text, got.value, got.err, tt.want)
			}
		})
	}
}

func TestGetDoesNotFit(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		get        func(session.State) got
		zero       any
	}{
		{"string as int", `"1"`, as[int], 0},
		{"int as string", `1`, as[string], ""},
		{"fraction as int", `1.10`, as[int], 0},
		{"exponent as int", `1e2`, as[int], 0},
		{"too large for int8", `128`, as[int8], int8(0)},
		{"negative as uint", `-1`, as[uint], uint(0)},
		{"integer above 2^53 as float64", `9007199254740993`, as[float64], 0.0},
		{"fraction too fine for float32", `0.123456789`, as[float32], float32(0)},
		{"too large for float64", `1e400`, as[float64], 0.0},
		{"too small for float64", `1e-400`, as[float64], 0.0},
		{"exponent too large to compute with", `1e999999999`, as[float64], 0.0},
		{"null as string", `null`, as[string], ""},
		{"null as int", `null`, as[int], 0},
		{"null as bool", `null`, as[bool], false},
		{"null as struct", `null`, as[point], point{}},
		{"object as slice", `{}`, as[[]any], []any(nil)},
		{"array as struct", `[1]`, as[point], point{}},
		{"one bad element", `["a",1]`, as[[]string], []string(nil)},
		{"no time", `"yesterday"`, as[time.Time], time.Time{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.get(session.State{"k": value(t, tt.text)})
			if !errors.Is(got.err, session.ErrInvalidArgument) {
				t.Errorf("Get of %s: got error %v, want ErrInvalidArgument", tt.text, got.err)
			}
			var arg *session.ArgumentError
			if !errors.As(got.err, &arg) || !strings.Contains(arg.Field, `"k"`) {
				t.Errorf("error %v does not name the key", got.err)
			}
			if !reflect.DeepEqual(got.value, tt.zero) {
				t.Errorf("Get of %s = %#v beside an error, want %#v", tt.text, got.value, tt.zero)
			}
		})
	}
}

func TestGetAbsent(t *testing.T) {
	for name, s := range map[string]session.State{"nil": nil, "empty": {}, "other scope": {"app:k": 1}, "case": {"K": 1}} {
		v, err := session.Get[string](s, "k")
		if v != "" || !errors.Is(err, session.ErrNotFound) || errors.Is(err, session.ErrNotMember) {
			t.Errorf("%s: Get = %q, %v, want ErrNotFound", name, v, err)
		}
		if err != nil && !strings.Contains(err.Error(), `"k"`) {
			t.Errorf("%s: error %v does not name the key", name, err)
		}
	}
}

// A State that a program made itself may hold what JSON cannot encode.
func TestGetOfOwnState(t *testing.T) {
	s := session.State{"n": uint8(7), "p": point{X: 1}, "c": make(chan int)}
	if n, err := session.Get[int](s, "n"); n != 7 || err != nil {
		t.Errorf("Get = %d, %v, want 7", n, err)
	}
	if m, err := session.Get[map[string]any](s, "p"); m["X"] != json.Number("1") || err != nil {
		t.Errorf("Get = %v, %v, want X 1", m, err)
	}
	if _, err := session.Get[any](s, "c"); !errors.Is(err, session.ErrInvalidArgument) {
		t.Errorf("Get of a channel: got error %v, want ErrInvalidArgument", err)
	}
	// What Get returns is the caller's: changing it changes no state.
	s = session.State{"list": []any{"a"}}
	list, err := session.Get[[]any](s, "list")
	if err != nil {
		t.Fatal(err)
	}
	list[0] = "changed"
	if v := s["list"].([]any)[0]; v != "a" {
		t.Errorf("state became %v by changing what Get returned", v)
	}
}
