package reflectapi

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
)

// lostFields warns of structs that embed a type with its own JSON, such as a time.Time: its methods are promoted, so that the
// struct is written and read as that type is, without the fields beside it.
func (s *survey) lostFields() (warnings []string) {
	seen, judged := map[reflect.Type]bool{}, map[reflect.Type]bool{}
	for _, c := range s.candidates {
		for _, t := range slices.Concat(c.shape.args, c.shape.results) {
			eachType(t, seen, func(t reflect.Type) {
				t = base(t) // a pointer has the methods, too
				if writer, lost := fieldsBeside(t); len(lost) > 0 && !judged[t] {
					judged[t] = true
					warnings = append(warnings, fmt.Sprintf("type %v: its JSON is that of the embedded %v, without %s: declare the %[2]v as a field with a name, or write a MarshalJSON and an UnmarshalJSON",
						t, writer, strings.Join(lost, ", ")))
				}
			})
		}
	}
	return warnings
}

// fieldsBeside returns the type from which a struct has its JSON by promotion, and the fields that JSON would show otherwise. A
// type that describes itself knows what it does.
func fieldsBeside(t reflect.Type) (writer reflect.Type, lost []string) {
	method := writingMethod(t)
	if t.Kind() != reflect.Struct || method == "" || describesItself(t) {
		return nil, nil
	}
	if writer, _ = declaredIn(t, method); writer == t {
		return nil, nil
	}
	for f := range t.Fields() {
		if f.IsExported() && f.Tag.Get("json") != "-" && !(f.Anonymous && writingMethod(base(f.Type)) == method) {
			lost = append(lost, f.Name)
		}
	}
	return writer, lost
}

// writingMethod returns the method with which a type writes itself, "" if it has none. The codec prefers them in this order.
func writingMethod(t reflect.Type) string {
	switch {
	case implements[jsonv2.MarshalerTo](t):
		return "MarshalJSONTo"
	case implements[json.Marshaler](t):
		return "MarshalJSON"
	case implements[encoding.TextAppender](t):
		return "AppendText"
	case implements[encoding.TextMarshaler](t):
		return "MarshalText"
	}
	return ""
}
