package strictjson

import "reflect"

// kind is what a plan does with a value.
type kind uint8

const (
	notPlain kind = iota // nothing: the library does
	plainBool
	plainInt
	plainUint
	plainFloat
	plainString
	plainBytes // in base64
	plainTime
	plainPointer
	plainList
	plainStruct
	plainAny // is written only, as plainMap
	plainMap
)

// node is the plan of a type, or of a part of one.
type node struct {
	kind     kind
	writable bool           // else what it holds is not plain all the way down
	height   int            // of the values in it, one above the other
	bits     int            // of a number
	elem     *node          // of what a pointer points to, or of an element
	none     reflect.Value  // the empty list
	fields   []field        // of a struct, in order
	places   map[string]int // of the fields, where there are many
	folds    bool           // no two fields differ in case alone
	fixed    int            // bytes that a number, or a struct without its variable fields, takes at most
	variable []int          // places of fields that take more the more they hold
}

// field is one field of a struct.
type field struct {
	*node
	index     int
	name      string
	quoted    string // "name":
	omitEmpty bool
}

// manyFields is from when on a map finds a name faster than looking at all of them.
const manyFields = 8

// find returns the place of the field with a name, -1 for none. Names mostly come in the order of the fields: next is
// the place behind the last one.
func (n *node) find(name []byte, next int) int {
	if next < len(n.fields) && n.fields[next].name == string(name) {
		return next
	}
	if n.places != nil {
		if place, ok := n.places[string(name)]; ok {
			return place
		}
		return -1
	}
	for place := range n.fields {
		if n.fields[place].name == string(name) {
			return place
		}
	}
	return -1
}

// fold returns the place of the field whose name differs from one in ASCII in case at most, -1 for none.
func (n *node) fold(name []byte) int {
	for place := range n.fields {
		if equalFold(n.fields[place].name, name) {
			return place
		}
	}
	return -1
}

func equalFold(a string, b []byte) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range b {
		if lower(a[i]) != lower(b[i]) {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}
