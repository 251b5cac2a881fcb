package adk_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
)

// samples are values of types that cannot be filled field by field or with any
// number: a schema's fields exclude each other, and genai's JSON has dates and
// whole seconds for some times and durations.
var samples = map[reflect.Type]func() any{
	reflect.TypeFor[time.Time]():     func() any { return time.Date(2025, 6, 7, 0, 0, 0, 0, time.UTC) },
	reflect.TypeFor[time.Duration](): func() any { return 90 * time.Second },
	reflect.TypeFor[jsonschema.Schema](): func() any {
		return jsonschema.Schema{
			Type:       "object",
			Required:   []string{"amount"},
			Properties: map[string]*jsonschema.Schema{"amount": {Type: "number", Minimum: new(0.5)}},
			Extra:      map[string]any{"x-unit": "EUR"},
		}
	},
}

// filler sets every exported field below a value to something else than zero,
// knowing none of them by name. A type inside itself stays empty.
type filler struct {
	t    *testing.T
	n    int
	open map[reflect.Type]bool // structs that are being filled
}

// fill fills what p points to.
func fill(t *testing.T, p any) {
	t.Helper()
	f := filler{t: t, open: map[reflect.Type]bool{}}
	f.fill(reflect.ValueOf(p).Elem())
}

func (f *filler) fill(v reflect.Value) {
	f.t.Helper()
	f.n++
	if sample := samples[v.Type()]; sample != nil {
		v.Set(reflect.ValueOf(sample()))
		return
	}
	if f.open[base(v.Type())] {
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		v.SetString(fmt.Sprintf("text %d", f.n))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(f.n%100 + 1))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(f.n%100 + 1))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(float64(f.n) + 0.5)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		f.fill(v.Index(0))
		f.fill(v.Index(1))
	case reflect.Map:
		name, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		f.fill(name)
		f.fill(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(name, value)
	case reflect.Struct:
		f.open[v.Type()] = true
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				f.fill(v.Field(i))
			}
		}
		delete(f.open, v.Type())
	case reflect.Interface:
		if v.NumMethod() > 0 {
			f.t.Fatalf("the filler has no value for a %s", v.Type())
		}
		v.Set(reflect.ValueOf(map[string]any{"text": fmt.Sprint(f.n), "list": []any{true, nil, 0.5, "&<\x00"}}))
	default:
		f.t.Fatalf("the filler has no value for a %s", v.Type())
	}
}

// base returns the type that pointers, slices and maps lead to.
func base(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	return t
}

// nameless returns the exported fields below a type that have no JSON name.
func nameless(t reflect.Type, path string, open map[reflect.Type]bool) []string {
	t = base(t)
	if t.Kind() != reflect.Struct || samples[t] != nil || open[t] {
		return nil
	}
	open[t] = true
	defer delete(open, t)
	var fields []string
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case !f.IsExported():
		case name == "-":
			fields = append(fields, path+"."+f.Name)
		default:
			fields = append(fields, nameless(f.Type, path+"."+f.Name, open)...)
		}
	}
	return fields
}

// difference compares two values in every field.
func difference(want, got any) string {
	return cmp.Diff(want, got, cmp.Exporter(func(reflect.Type) bool { return true }))
}

// The tools of this file find a field that JSON loses.
func TestFillerFindsLosses(t *testing.T) {
	type inner struct {
		Kept string `json:"kept"`
		Lost string `json:"-"`
	}
	type outer struct {
		List []*inner `json:"list"`
	}
	var want, got outer
	fill(t, &want)
	data, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if d := difference(want, got); !strings.Contains(d, "Lost") || strings.Contains(d, "- \tKept") {
		t.Errorf("difference = %s, want it to be in Lost alone", d)
	}
	if got := fmt.Sprint(nameless(reflect.TypeFor[outer](), "outer", map[reflect.Type]bool{})); got != "[outer.List.Lost]" {
		t.Errorf("nameless = %s", got)
	}
}
