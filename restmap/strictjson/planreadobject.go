package strictjson

import (
	"bytes"
	"reflect"
)

// object parses an object into a struct.
func (r *reader) object(n *node, v reflect.Value) bool {
	if !r.take('{') {
		return false
	}
	if r.take('}') {
		return true
	}
	var members members
	for {
		name, ok := r.name()
		if !ok || !r.take(':') {
			return false
		}
		place, ok := r.place(n, name, members.next)
		switch {
		case !ok || !members.isNew(name, place):
			return false
		case place < 0:
			ok = r.skip()
		default:
			ok = r.value(n.fields[place].node, v.Field(n.fields[place].index))
		}
		if !ok {
			return false
		}
		if !r.take(',') {
			return r.take('}')
		}
	}
}

// place returns the index of the field for a member, -1 if there is none.
func (r *reader) place(n *node, name []byte, next int) (place int, ok bool) {
	place = n.find(name, next)
	if place >= 0 || !r.anyCase {
		return place, true
	}
	return n.fold(name), n.folds
}

// members are the members that an object has had so far.
type members struct {
	fields  uint64 // a bit for each index
	next    int    // the index after the last field's
	others  [4][]byte
	unknown int // number of others
}

// isNew adds a member. It returns false if it is a duplicate, or if there are too many to know.
func (m *members) isNew(name []byte, place int) bool {
	if place >= 0 {
		bit := uint64(1) << place
		seen := m.fields&bit != 0
		m.fields |= bit
		m.next = place + 1
		return !seen
	}
	if m.unknown == len(m.others) {
		return false
	}
	for _, other := range m.others[:m.unknown] {
		if bytes.Equal(name, other) {
			return false
		}
	}
	m.others[m.unknown] = name
	m.unknown++
	return true
}

// name parses the name of a member. A name with other letters than ASCII, or with escapes, is not plain.
func (r *reader) name() ([]byte, bool) {
	if !r.take('"') {
		return nil, false
	}
	start := r.at
	for ; r.at < len(r.data); r.at++ {
		switch c := r.data[r.at]; {
		case c == '"':
			r.at++
			return r.data[start : r.at-1], true
		case c == '\\' || c < ' ' || c > '~':
			return nil, false
		}
	}
	return nil, false
}

// skip parses a value that is not needed. An object or an array is not plain.
func (r *reader) skip() bool {
	switch r.peek() {
	case '"':
		_, escaped, ok := r.text()
		return ok && !escaped
	case 't':
		return r.word("true")
	case 'f':
		return r.word("false")
	case 'n':
		return r.word("null")
	default:
		_, ok := r.number()
		return ok
	}
}
