package adk

import (
	"encoding/json"
	"strconv"
	"strings"
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
	digits, exponent := decimal(number)
	gotDigits, gotExponent := decimal(strconv.FormatFloat(f, 'e', -1, 64))
	return f, digits == gotDigits && (digits == "" || exponent == gotExponent)
}

// decimal returns the digits of a number from the first to the last that is not
// zero, and the power of ten of the last. The sign is left out. It computes with
// the text, as a number like 1e-999999 takes much time and space otherwise.
func decimal(number string) (digits string, exponent int) {
	mantissa, power, _ := strings.Cut(strings.ToLower(strings.TrimPrefix(number, "-")), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	exponent, _ = strconv.Atoi(power) // of no account where it does not fit: then the float64 is zero
	digits = strings.TrimRight(whole+fraction, "0")
	exponent += len(whole) - len(digits)
	return strings.TrimLeft(digits, "0"), exponent
}
