package check

import (
	"encoding/json"
	"strings"
	"testing"
)

// jsonCases are texts on both sides of every rule of JSON.
func jsonCases() []string {
	cases := []string{
		"", " ", "null", "nul", "nulll", "true", "tru", "false", "fals", " true ", "\x00", "null\x00", "nil",
		"0", "-0", "-", "01", "1.", ".5", "1.5", "1.5e", "1e5", "1E+5", "1e-", "1e-5x", "+1", "0x1", "1 2", "--1", "-a", "0e0", "00",
		`""`, `"`, `"a`, `"\`, `"\"`, `"\""`, `"\q"`, `"\u12"`, `"\u12g4"`, `"\uABCD"`, `"\uabcd"`, `"\u@bcd"`, "\"\n\"", "\"\x1f\"", "\"\x7f\"", "\"\xff\"",
		`"\/\b\f\n\r\t\\"`, `"\u0000"`,
		"[]", "[ ]", "[", "]", "[1]", "[1,]", "[,1]", "[1,2]", "[1 2]", "[1]]", "[[1],[]]", "[}", "[1}",
		"{}", "{ }", "{", "}", `{"a"}`, `{"a":}`, `{"a":1}`, `{"a":1,}`, `{"a":1,"b"}`, `{"a":1,"b":2}`, `{,"a":1}`, `{a:1}`, `{"a" : 1 }`, `{"a":1]`, `{"a":[1,{"b":"c"}]}`, `{1:2}`, `{"a":1 "b":2}`,
		"\ufeff1", "\u00a01", "1\v", "/**/1", "1//", "tRue", "[1]x", "{}{}",
	}
	for _, depth := range []int{maxJSONDepth - 1, maxJSONDepth, maxJSONDepth + 1} {
		cases = append(cases,
			strings.Repeat("[", depth)+strings.Repeat("]", depth),
			strings.Repeat("[", depth)+"1"+strings.Repeat("]", depth),
			strings.Repeat(`{"a":`, depth)+"1"+strings.Repeat("}", depth),
			strings.Repeat("[", depth-1)+"{}"+strings.Repeat("]", depth-1),
			strings.Repeat("[", depth))
	}
	return cases
}

func TestValidJSON(t *testing.T) {
	for _, text := range jsonCases() {
		if got, want := ValidJSON([]byte(text)), json.Valid([]byte(text)); got != want {
			t.Errorf("%.60q is %v, encoding/json says %v", text, got, want)
		}
	}
}

func FuzzValidJSON(f *testing.F) {
	for _, text := range jsonCases() {
		if len(text) < 1000 {
			f.Add([]byte(text))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if got, want := ValidJSON(data), json.Valid(data); got != want {
			t.Errorf("%q is %v, encoding/json says %v", data, got, want)
		}
	})
}

func BenchmarkValidJSON(b *testing.B) {
	data := []byte(`{"role":"user","parts":[{"text":"` + strings.Repeat("some words, ", 80) + `"},{"n":[1,2.5,null,true]}]}`)
	for name, valid := range map[string]func([]byte) bool{"own": ValidJSON, "encoding": json.Valid} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if !valid(data) {
					b.Fatal("invalid")
				}
			}
		})
	}
}
