package adk

import (
	"encoding/json"
	"math/big"
	"strconv"
)

// state returns a copy of a state with its numbers as programs written for ADK
// expect them, or as they are.
func (s *service) state(state map[string]any) map[string]any {
	out := make(map[string]any, len(state))
	for key, value := range state {
		if !s.numbers {
			value = floats(value)
		}
		out[key] = value
	}
	return out
}

// floats turns each json.Number below value into a float64 where that has the
// same decimal value.
func floats(value any) any {
	switch value := value.(type) {
	case json.Number:
		if f, ok := exactFloat(string(value)); ok {
			return f
		}
	case []any:
		for i := range value {
			value[i] = floats(value[i])
		}
	case map[string]any:
		for key := range value {
			value[key] = floats(value[key])
		}
	}
	return value
}

// exactFloat returns the float64 whose shortest decimal form is the number. The
// fraction 1.10 is 1.1, although no binary fraction equals it;
// 9007199254740993 is none, since the nearest float64 is another integer.
func exactFloat(number string) (float64, bool) {
	f, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return 0, false
	}
	want, ok := new(big.Rat).SetString(number) // refuses exponents too large to compute with
	if !ok {
		return 0, false
	}
	got, ok := new(big.Rat).SetString(strconv.FormatFloat(f, 'g', -1, 64))
	return f, ok && got.Cmp(want) == 0
}
