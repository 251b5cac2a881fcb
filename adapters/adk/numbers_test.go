package adk_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	adksession "google.golang.org/adk/v2/session"

	"github.com/hansardlog/hansard/adapters/adk"
)

func TestNumbers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		value   any
		want    string // as ADK's programs read it
		numbers string // with WithNumbers
	}{
		{"int", 5, "float64 5", "json.Number 5"},
		{"fraction", 1.5, "float64 1.5", "json.Number 1.5"},
		{"2^53", int64(1 << 53), "float64 9.007199254740992e+15", "json.Number 9007199254740992"},
		{"2^53+1", int64(1<<53 + 1), "json.Number 9007199254740993", "json.Number 9007199254740993"},
		{"trailing zero", json.Number("1.10"), "float64 1.1", "json.Number 1.10"},
		{"no float is exact", json.Number("0.1000000000000000055"), "json.Number 0.1000000000000000055", "json.Number 0.1000000000000000055"},
		{"too large", json.Number("1e400"), "json.Number 1e400", "json.Number 1e400"},
		{"too small", json.Number("1e-400"), "json.Number 1e-400", "json.Number 1e-400"},
		{"absurd exponent", json.Number("1e-99999999999"), "json.Number 1e-99999999999", "json.Number 1e-99999999999"},
		{"large exponent", json.Number("1e-400000"), "json.Number 1e-400000", "json.Number 1e-400000"},
		{"zero", json.Number("-0.00e+99999999999"), "float64 -0", "json.Number -0.00e+99999999999"},
		{"leading zeros", json.Number("0.00120E4"), "float64 12", "json.Number 0.00120E4"},
		{"smallest", json.Number("5e-324"), "float64 5e-324", "json.Number 5e-324"},
		{"smaller than written", json.Number("4e-324"), "json.Number 4e-324", "json.Number 4e-324"},
		{"round", json.Number("1e21"), "float64 1e+21", "json.Number 1e21"},
		{"nested", map[string]any{"a": []any{1, int64(1<<53 + 1)}}, "map[string]interface {} map[a:[1 9007199254740993]]", "map[string]interface {} map[a:[1 9007199254740993]]"},
		{"no number", "1e5", "string 1e5", "string 1e5"},
	}
	state, delta := map[string]any{}, map[string]any{}
	for _, tt := range tests {
		state["user:created "+tt.name] = tt.value
		delta["appended "+tt.name], delta["app:appended "+tt.name] = tt.value, tt.value
	}
	onBackends(t, func(t *testing.T, open opener) {
		plain, numbers := adk.New(open(t)), adk.New(open(t), adk.WithNumbers())
		create(t, plain, state)
		early, earlyNumbers := get(t, plain), get(t, numbers)
		mustAppend(t, plain, get(t, plain), said("1", delta))
		mustAppend(t, plain, early, said("2", nil))
		mustAppend(t, numbers, earlyNumbers, said("3", nil))
		sessions := []struct {
			name    string
			numbers bool
			s       adksession.Session
		}{
			{"read", false, get(t, plain)},
			{"caught up", false, early},
			{"read with numbers", true, get(t, numbers)},
			{"caught up with numbers", true, earlyNumbers},
		}
		for _, tt := range tests {
			for _, s := range sessions {
				want := tt.want
				if s.numbers {
					want = tt.numbers
				}
				for _, key := range []string{"user:created ", "appended ", "app:appended "} {
					if got := value(t, s.s, key+tt.name); got != want {
						t.Errorf("%s: %s%s = %s, want %s", s.name, key, tt.name, got, want)
					}
				}
				v := s.s.Events().At(0).Actions.StateDelta["appended "+tt.name]
				if got := fmt.Sprintf("%T %v", v, v); got != want {
					t.Errorf("%s: %s in the event's delta = %s, want %s", s.name, tt.name, got, want)
				}
			}
		}
		if v := fmt.Sprintf("%T", nested(t, sessions[0].s)); v != "json.Number" {
			t.Errorf("nested 2^53+1 is a %s", v)
		}
		if v := fmt.Sprintf("%T", nested(t, sessions[2].s)); v != "json.Number" {
			t.Errorf("nested 2^53+1 is a %s with numbers", v)
		}
		list, err := plain.List(t.Context(), &adksession.ListRequest{AppName: key.AppName})
		if err != nil {
			t.Fatal(err)
		}
		if got := value(t, list.Sessions[0], "appended 2^53+1"); got != "json.Number 9007199254740993" {
			t.Errorf("listed 2^53+1 = %s", got)
		}
	})
}

// nested returns the number inside the nested value.
func nested(t *testing.T, s adksession.Session) any {
	t.Helper()
	v, err := s.State().Get("appended nested")
	if err != nil {
		t.Fatal(err)
	}
	return v.(map[string]any)["a"].([]any)[1]
}

// The run that writes a value reads the very value, as with ADK's own services.
func TestRunReadsItsOwnValues(t *testing.T) {
	svc, _ := inMemory()
	live := create(t, svc, nil)
	type point struct{ X, Y int }
	mustAppend(t, svc, live, said("1", map[string]any{"n": 5, "p": point{1, 2}}))
	if n, p := value(t, live, "n"), value(t, live, "p"); n != "int 5" || p != "adk_test.point {1 2}" {
		t.Errorf("n = %s, p = %s", n, p)
	}
	if n, p := value(t, get(t, svc), "n"), value(t, get(t, svc), "p"); n != "float64 5" || p != "map[string]interface {} map[X:1 Y:2]" {
		t.Errorf("read back: n = %s, p = %s", n, p)
	}
}

// A number is judged by its text: its exponent costs nothing.
func TestLargeExponentsAreCheap(t *testing.T) {
	svc, _ := inMemory()
	numbers := make([]any, 2000)
	for i := range numbers {
		numbers[i] = json.Number("1e-999999")
	}
	create(t, svc, map[string]any{"numbers": numbers})
	begin := time.Now()
	get(t, svc)
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("reading %d numbers took %s", len(numbers), took)
	}
}
