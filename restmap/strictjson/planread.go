package strictjson

import (
	"encoding/base64"
	"reflect"
)

// reader parses a JSON text by a plan. Each method parses one thing, and returns false if there is none, or if it is
// not plain.
type reader struct {
	data    []byte
	at      int
	anyCase bool // names of fields may differ in case
}

// document parses the value that is the whole text.
func (r *reader) document(n *node, v reflect.Value) bool {
	return r.value(n, v) && r.peek() == 0 && r.at == len(r.data)
}

// peek returns the byte after white space, 0 at the end.
func (r *reader) peek() byte {
	for r.at < len(r.data) {
		switch c := r.data[r.at]; c {
		case ' ', '\t', '\r', '\n':
			r.at++
		default:
			return c
		}
	}
	return 0
}

// take consumes one byte after white space.
func (r *reader) take(c byte) bool {
	if r.peek() != c {
		return false
	}
	r.at++
	return true
}

// word consumes exactly this text.
func (r *reader) word(word string) bool {
	if end := r.at + len(word); end <= len(r.data) && string(r.data[r.at:end]) == word {
		r.at = end
		return true
	}
	return false
}

// value parses any value.
func (r *reader) value(n *node, v reflect.Value) bool {
	first := r.peek()
	if first == 'n' && n.kind != notPlain {
		v.SetZero()
		return r.word("null")
	}
	switch n.kind {
	case plainBool:
		v.SetBool(first == 't')
		return r.word("true") || r.word("false")
	case plainInt:
		return r.int(n, v)
	case plainUint:
		return r.uint(n, v)
	case plainFloat:
		return r.float(n, v)
	case plainString:
		return r.string(v)
	case plainBytes:
		return r.bytes(v)
	case plainTime:
		return r.time(v)
	case plainPointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		return r.value(n.elem, v.Elem())
	case plainList:
		return r.list(n, v)
	case plainStruct:
		return r.object(n, v)
	default:
		return false
	}
}

// list parses an array into a slice without capacity. Plans do not handle slices that have some.
func (r *reader) list(n *node, v reflect.Value) bool {
	if v.Cap() > 0 || !r.take('[') {
		return false
	}
	if r.take(']') {
		v.Set(n.none)
		return true
	}
	for count := 0; ; {
		if count == v.Cap() {
			v.Grow(1)
			v.SetLen(v.Cap())
		}
		if !r.value(n.elem, v.Index(count)) {
			return false
		}
		count++
		if r.take(',') {
			continue
		}
		v.SetLen(count)
		return r.take(']')
	}
}

// bytes parses base64, strictly as in RFC 4648.
func (r *reader) bytes(v reflect.Value) bool {
	text, escaped, ok := r.text()
	if !ok || escaped {
		return false
	}
	decoded, err := base64.StdEncoding.AppendDecode(v.Bytes()[:0], text)
	if err != nil || len(text) != base64.StdEncoding.EncodedLen(len(decoded)) { // the decoder skips line ends
		return false
	}
	if decoded == nil {
		decoded = []byte{}
	}
	v.SetBytes(decoded)
	return true
}
