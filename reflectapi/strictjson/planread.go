package strictjson

import (
	"reflect"
	"strconv"
	"unicode/utf8"
)

// UnmarshalPlain reads a text into what v points to if both are plain: a struct of booleans, numbers, strings and such
// structs, and an object that has known members, each once, without escapes, exponents and null. It reports false for
// anything else, which is left to [Unmarshal]; v may be partly filled then. It is safe for concurrent use.
func UnmarshalPlain(data []byte, v any) bool { return planFor(v).readPlain(data, v, false) }

// readPlain is UnmarshalPlain. If folds is true, names match in any case.
func (p *Plan) readPlain(data []byte, v any, folds bool) bool {
	if !p.root.readable {
		return false
	}
	into := reflect.ValueOf(v)
	if into.IsNil() {
		return false
	}
	r := reader{data: data, folds: folds}
	r.blanks()
	return r.object(p.root, into.Elem()) && r.at == len(data)
}

// maxReadable bounds the fields of a struct that a reader reads, one bit for each.
const maxReadable = 64

// reader reads JSON by a plan. Each method reads one thing with the blanks after it, and returns false if that is not
// plain.
type reader struct {
	data  []byte
	at    int
	folds bool
}

// blanks skips the white space of JSON.
func (r *reader) blanks() {
	for r.at < len(r.data) && (r.data[r.at] == ' ' || r.data[r.at] == '\n' || r.data[r.at] == '\r' ||
		r.data[r.at] == '\t') {
		r.at++
	}
}

// byte reads one certain byte.
func (r *reader) byte(c byte) bool {
	if r.at == len(r.data) || r.data[r.at] != c {
		return false
	}
	r.at++
	r.blanks()
	return true
}

// object reads a struct.
func (r *reader) object(n *node, v reflect.Value) bool {
	if !r.byte('{') {
		return false
	}
	if r.byte('}') {
		return true
	}
	seen := uint64(0)
	for next := 0; ; next++ {
		next = r.member(n, next)
		if next < 0 || seen&(1<<next) != 0 {
			return false
		}
		seen |= 1 << next
		if f := &n.fields[next]; !r.value(f.node, v.Field(f.index)) {
			return false
		}
		if !r.byte(',') {
			return r.byte('}')
		}
	}
}

// member reads the name of a member and the colon, and returns the index of its field, -1 if there is none. The members
// are usually in the order of the fields.
func (r *reader) member(n *node, likely int) int {
	rest := r.data[r.at:]
	for turn := range n.fields {
		i := (likely + turn) % len(n.fields)
		if quoted := n.fields[i].quoted; len(rest) >= len(quoted) && string(rest[:len(quoted)]) == quoted {
			r.at += len(quoted)
			r.blanks()
			return i
		}
	}
	if !r.folds || !n.folds || len(rest) == 0 || rest[0] != '"' {
		return -1
	}
	name, ok := r.string()
	if !ok || !isPlainName(name) || !r.byte(':') {
		return -1
	}
	return n.fold(name)
}

// value reads any value.
func (r *reader) value(n *node, v reflect.Value) bool {
	switch n.kind {
	case plainBool:
		return r.bool(v)
	case plainInt:
		return r.int(v)
	case plainUint:
		return r.uint(v)
	case plainFloat:
		return r.float(v, n.bits)
	case plainString:
		text, ok := r.string()
		if ok {
			v.SetString(text)
		}
		return ok
	case plainStruct:
		return r.object(n, v)
	default:
		return false
	}
}

// bool reads true or false.
func (r *reader) bool(v reflect.Value) bool {
	switch {
	case r.word("true"):
		v.SetBool(true)
	case r.word("false"):
		v.SetBool(false)
	default:
		return false
	}
	return true
}

// word reads a certain word.
func (r *reader) word(word string) bool {
	rest := r.data[r.at:]
	if len(rest) < len(word) || string(rest[:len(word)]) != word {
		return false
	}
	r.at += len(word)
	r.blanks()
	return true
}

// maxReadDigits is the most digits of an integer that fit into 63 bits whatever they are.
const maxReadDigits = 18

// digits reads the digits of an integer, without leading zeros.
func (r *reader) digits() (value uint64, ok bool) {
	begin := r.at
	for ; r.at < len(r.data) && '0' <= r.data[r.at] && r.data[r.at] <= '9'; r.at++ {
		value = value*10 + uint64(r.data[r.at]-'0')
	}
	count := r.at - begin
	if count == 0 || count > maxReadDigits || count > 1 && r.data[begin] == '0' {
		return 0, false
	}
	if r.at < len(r.data) && (r.data[r.at] == '.' || r.data[r.at]|0x20 == 'e') {
		return 0, false
	}
	r.blanks()
	return value, true
}

// int reads a signed integer within the range of its type.
func (r *reader) int(v reflect.Value) bool {
	negative := r.at < len(r.data) && r.data[r.at] == '-'
	if negative {
		r.at++
	}
	size, ok := r.digits()
	value := int64(size)
	if negative {
		value = -value
	}
	if !ok || v.OverflowInt(value) {
		return false
	}
	v.SetInt(value)
	return true
}

// uint reads an unsigned integer within the range of its type.
func (r *reader) uint(v reflect.Value) bool {
	value, ok := r.digits()
	if !ok || v.OverflowUint(value) {
		return false
	}
	v.SetUint(value)
	return true
}

// maxReadNumber is the longest number that a reader reads, in bytes.
const maxReadNumber = 32

// float reads a number without an exponent.
func (r *reader) float(v reflect.Value, width int) bool {
	begin, point := r.at, -1
	if r.at < len(r.data) && r.data[r.at] == '-' {
		r.at++
	}
	first := r.at
	for ; r.at < len(r.data); r.at++ {
		if c := r.data[r.at]; c == '.' && point < 0 {
			point = r.at
		} else if c < '0' || '9' < c {
			break
		}
	}
	text := r.data[begin:r.at]
	whole := r.at - first
	if point >= 0 {
		whole = point - first
	}
	switch {
	case len(text) > maxReadNumber, whole == 0, whole > 1 && r.data[first] == '0', point == r.at-1:
		return false
	case r.at < len(r.data) && r.data[r.at]|0x20 == 'e':
		return false
	}
	value, err := strconv.ParseFloat(string(text), width)
	if err != nil {
		return false
	}
	r.blanks()
	v.SetFloat(value)
	return true
}

// string reads a string without escapes.
func (r *reader) string() (text string, ok bool) {
	if r.at == len(r.data) || r.data[r.at] != '"' {
		return "", false
	}
	rest := r.data[r.at+1:]
	length, ascii := plainPrefix(rest)
	if length == len(rest) || rest[length] != '"' || !ascii && !utf8.Valid(rest[:length]) {
		return "", false
	}
	r.at += length + 2
	r.blanks()
	return string(rest[:length]), true
}
