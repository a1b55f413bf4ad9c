package strictjson

import (
	"bytes"
	"encoding/base64"
	"errors"
	"math"
	"math/bits"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Marshal returns a value of the plan's type as JSON. It is the package's [Marshal] for callers with a [reflect.Value].
func (p *Plan) Marshal(v reflect.Value) ([]byte, error) {
	if data, plain := p.marshalPlain(v); plain {
		return data, nil
	}
	return p.marshal(addressed(v), p.write)
}

// addressed returns what the library writes like a value: a pointer to it, if there is one, which saves a copy, or if
// the value is a union, whose type an any would not tell.
func addressed(v reflect.Value) any {
	if !v.CanAddr() && v.Kind() == reflect.Interface {
		held := reflect.New(v.Type()).Elem()
		held.Set(v)
		v = held
	}
	if v.CanAddr() {
		v = v.Addr()
	}
	return v.Interface()
}

// marshal has the library write a value. The plan of an any does not know the tags of what is in it.
func (p *Plan) marshal(v any, options ...json.Options) ([]byte, error) {
	data, err := json.Marshal(v, options...)
	if semanticErr, ok := errors.AsType[*json.SemanticError](err); ok && !p.legacy && refusesTags(semanticErr.GoType) {
		return json.Marshal(v, append(options, legacyTags())...)
	}
	return data, err
}

func refusesTags(t reflect.Type) bool {
	return t != nil && t.Kind() == reflect.Struct && HasLegacyTags(t)
}

// MarshalRepaired is Marshal with U+FFFD in place of what is not UTF-8 in texts.
func (p *Plan) MarshalRepaired(v reflect.Value) ([]byte, error) {
	data, err := p.Marshal(v)
	if err != nil {
		return p.marshal(addressed(v), p.write, jsontext.AllowInvalidUTF8(true))
	}
	return data, nil
}

// maxKept is the largest buffer that is kept for the next value.
const maxKept = 256 << 10

// buffers are the memory in which values are written, as their length is not known before.
var buffers = sync.Pool{New: func() any { return new([]byte) }} //nolint:gochecknoglobals // a pool

// marshalPlain writes a value; it returns false if the value is not plain.
func (p *Plan) marshalPlain(v reflect.Value) (data []byte, plain bool) {
	if !p.root.writable {
		return nil, false
	}
	buffer := buffers.Get().(*[]byte) //nolint:forcetypeassert // nothing else is in it
	w := writer{data: (*buffer)[:0]}
	switch plain = w.value(p.root, v); {
	case w.left != nil:
		*buffer = w.left
		buffers.Put(buffer)
		return w.data, plain
	case plain:
		data = bytes.Clone(w.data)
	}
	if cap(w.data) <= maxKept {
		*buffer = w.data
		buffers.Put(buffer)
	}
	return data, plain
}

// writer writes JSON by a plan. Each method appends one thing, and returns false if it is not plain.
type writer struct {
	data  []byte
	left  []byte // the memory in which it began, once data is new memory for a long string
	depth int    // of values whose type no plan knows
}

// longString is the length from which a string has new memory, which is not copied a second time, in bytes.
const longString = 8 << 10

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
		return w.object(n, v, '{')
	case plainUnion:
		return w.union(n, v.Elem())
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
	w.string("[")
	for i := range v.Len() {
		if i > 0 {
			w.string(",")
		}
		if !w.value(n.elem, v.Index(i)) {
			return false
		}
	}
	w.string("]")
	return true
}

// union writes what a union holds. Anything but a variant is left to the library, which returns the error.
func (w *writer) union(n *node, held reflect.Value) bool {
	if !held.IsValid() {
		return false
	}
	variant := n.variants[held.Type()]
	if variant == nil {
		return false
	}
	if held.Kind() == reflect.Pointer {
		if held = held.Elem(); !held.IsValid() {
			return false
		}
	}
	w.string(variant.head)
	return w.object(variant.node, held, ',')
}

// object writes a struct. separator is what comes before its next member.
func (w *writer) object(n *node, v reflect.Value, separator byte) bool {
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

// isEmpty reports whether omitempty omits a value: all zero values except structs, and empty containers.
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

// quoted writes a string. Most need no escapes.
func (w *writer) quoted(s string) bool {
	if len(s) >= longString && w.left == nil {
		w.left = w.data
		w.data = append(make([]byte, 0, len(w.left)+len(s)+len(s)/16), w.left...)
	}
	w.string(`"`)
	data, isASCII := w.data, true
	for rest := s; ; {
		length, ascii := plainPrefix(rest)
		data, isASCII = append(data, rest[:length]...), isASCII && ascii
		if length == len(rest) {
			break
		}
		data = appendEscape(data, rest[length])
		rest = rest[length+1:]
	}
	w.data = data
	w.string(`"`)
	return isASCII || utf8.ValidString(s)
}

// appendEscape writes the shortest escape of a character that strings cannot contain as it is.
func appendEscape(data []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(data, '\\', c)
	case '\b':
		return append(data, `\b`...)
	case '\f':
		return append(data, `\f`...)
	case '\n':
		return append(data, `\n`...)
	case '\r':
		return append(data, `\r`...)
	case '\t':
		return append(data, `\t`...)
	default:
		const digits = "0123456789abcdef"
		return append(data, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
	}
}

const (
	eachByte    = 0x0101010101010101 // times a byte: that byte eight times
	highBits    = 0x80 * eachByte
	blanks      = ' ' * eachByte
	quotes      = '"' * eachByte
	backslashes = '\\' * eachByte
)

// special sets the high bit of the first of eight bytes that a JSON string cannot contain unescaped, and arbitrary bits
// of the bytes after it: a control character borrows from the next byte, and so does the 0 that a quote or a backslash
// becomes. Bytes above ASCII are not special.
func special(eight uint64) uint64 {
	return ((eight - blanks) | ((eight ^ quotes) - eachByte) | ((eight ^ backslashes) - eachByte)) &^ eight & highBits
}

// plainPrefix returns how many bytes of a text come before the first that a JSON string cannot contain unescaped, and
// whether all of them are ASCII. It examines eight bytes at a time.
func plainPrefix[text string | []byte](of text) (length int, ascii bool) {
	var all uint64
	rest := of
	for ; len(rest) >= 8; rest = rest[8:] {
		eight := eightBytes(rest)
		if found := special(eight); found != 0 {
			before := bits.TrailingZeros64(found) &^ 7
			all |= eight & (1<<before - 1)
			return len(of) - len(rest) + before/8, all&highBits == 0
		}
		all |= eight
	}
	i := 0
	for ; i < len(rest) && rest[i] >= ' ' && rest[i] != '"' && rest[i] != '\\'; i++ {
		all |= uint64(rest[i])
	}
	return len(of) - len(rest) + i, all&highBits == 0
}

// eightBytes returns the first eight bytes of a text as a number, the first one lowest. It compiles to one instruction.
func eightBytes[text string | []byte](of text) uint64 {
	_ = of[7]
	return uint64(of[0]) | uint64(of[1])<<8 | uint64(of[2])<<16 | uint64(of[3])<<24 |
		uint64(of[4])<<32 | uint64(of[5])<<40 | uint64(of[6])<<48 | uint64(of[7])<<56
}
