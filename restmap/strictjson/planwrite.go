package strictjson

import (
	"encoding/base64"
	"math"
	"reflect"
	"slices"
	"strconv"
	"time"
)

// writer writes JSON by a plan. Each method appends one thing, and returns false if it is not plain.
type writer struct {
	data  []byte
	depth int // of values whose type no plan knows
}

func (w *writer) string(s string) { w.data = append(w.data, s...) }

// value writes any value.
func (w *writer) value(n *node, v reflect.Value) bool {
	switch n.kind {
	case plainBool:
		w.data = strconv.AppendBool(w.data, v.Bool())
	case plainInt:
		w.data = strconv.AppendInt(w.data, v.Int(), 10)
	case plainUint:
		w.data = strconv.AppendUint(w.data, v.Uint(), 10)
	case plainFloat:
		return w.float(v.Float(), n.bits)
	case plainString:
		return w.quoted(v.String())
	case plainBytes:
		w.string(`"`)
		w.data = base64.StdEncoding.AppendEncode(w.data, v.Bytes())
		w.string(`"`)
	case plainTime:
		return w.time(v)
	case plainPointer:
		if v.IsNil() {
			w.string("null")
			return true
		}
		return w.value(n.elem, v.Elem())
	case plainList:
		return w.list(n, v)
	case plainStruct:
		return w.object(n, v)
	case plainAny:
		return w.dynamic(v.Elem())
	case plainMap:
		return w.members(v)
	default:
		return false
	}
	return true
}

// float writes a number with the fewest digits that identify it, with an exponent if it would be long without one.
func (w *writer) float(x float64, bits int) bool {
	size := math.Abs(x)
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return false
	}
	small, large := size < 1e-6, size >= 1e21
	if bits == 32 {
		small, large = float32(size) < 1e-6, float32(size) >= 1e21
	}
	if size == 0 || !small && !large {
		w.data = strconv.AppendFloat(w.data, x, 'f', -1, bits)
		return true
	}
	w.data = strconv.AppendFloat(w.data, x, 'e', -1, bits)
	if end := len(w.data); string(w.data[end-4:end-1]) == "e-0" { // e-7, not e-07
		w.data = append(w.data[:end-2], w.data[end-1])
	}
	return true
}

// time writes a time as its own method does, which refuses times that RFC 3339 cannot represent.
func (w *writer) time(v reflect.Value) bool {
	moment, ok := reflect.TypeAssert[time.Time](v)
	if !ok {
		return false
	}
	w.string(`"`)
	text, err := moment.AppendText(w.data)
	w.data = text
	w.string(`"`)
	return err == nil
}

// list writes a slice.
func (w *writer) list(n *node, v reflect.Value) bool {
	start := len(w.data)
	w.string("[")
	for i := range v.Len() {
		if i > 0 {
			w.string(",")
		}
		if i >= fewElements && i&(i-1) == 0 {
			w.reserve(start, i, v.Len())
		}
		if !w.value(n.elem, v.Index(i)) {
			return false
		}
	}
	w.string("]")
	return true
}

// reserve reserves room for the rest of a list, estimated from the elements written so far: at most as much as those
// take, and at most maxGuess.
func (w *writer) reserve(start, written, all int) {
	size := len(w.data) - start
	if room := cap(w.data) - len(w.data); room < size {
		w.data = slices.Grow(w.data, min(size/written*(all-written)*9/8, max(size, maxGuess)))
	}
}

// object writes a struct.
func (w *writer) object(n *node, v reflect.Value) bool {
	separator := byte('{')
	for place := range n.fields {
		f := &n.fields[place]
		value := v.Field(f.index)
		if f.omitEmpty && isEmpty(value) {
			continue
		}
		w.data = append(w.data, separator)
		w.string(f.quoted)
		if !w.value(f.node, value) {
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

// isEmpty says whether omitempty omits a value: all zero values except structs, and empty containers.
func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map, reflect.String:
		return v.Len() == 0
	case reflect.Float32, reflect.Float64:
		return v.Float() == 0 // -0, too
	case reflect.Struct:
		return false
	default:
		return v.IsZero()
	}
}
