package strictjson

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// maxDynamicDepth is how deep values of dynamic type may nest. Deeper ones may contain themselves.
const maxDynamicDepth = 16

// dynamic writes the value in an interface.
func (w *writer) dynamic(v reflect.Value) bool {
	if !v.IsValid() {
		w.string("null")
		return true
	}
	n := PlanOf(v.Type()).root
	if w.depth == maxDynamicDepth || !n.writable {
		return false
	}
	w.depth++
	plain := w.value(n, v)
	w.depth--
	return plain
}

// any is dynamic for a value that is not yet a reflect.Value, and faster for the most common types.
func (w *writer) any(value any) bool {
	switch value := value.(type) {
	case string:
		return w.quoted(value)
	case int:
		w.data = strconv.AppendInt(w.data, int64(value), 10)
		return true
	case float64:
		return w.float(value, 64)
	default:
		return w.dynamic(reflect.ValueOf(value))
	}
}

// member is a member of a map.
type member struct {
	name  string
	value any
}

// members writes a map[string]any, sorted by name.
func (w *writer) members(v reflect.Value) bool {
	values, ok := reflect.TypeAssert[map[string]any](v.Convert(reflect.TypeFor[map[string]any]()))
	if !ok {
		return false
	}
	var few [8]member // enough for most maps, and stays on the stack
	members := few[:0]
	for name, value := range values {
		members = append(members, member{name, value})
	}
	slices.SortFunc(members, func(a, b member) int { return strings.Compare(a.name, b.name) })
	separator := byte('{')
	for _, m := range members {
		w.data = append(w.data, separator)
		if !w.quoted(m.name) {
			return false
		}
		w.string(":")
		if !w.any(m.value) {
			return false
		}
		separator = ','
	}
	if separator == '{' {
		w.string("{")
	}
	w.string("}")
	return true
}
