package strictjson

import "reflect"

// kind says how a plan handles a value.
type kind uint8

const (
	notPlain kind = iota // left to the library
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
	plainAny // only for writing, like plainMap
	plainMap
)

// node is the plan of a type, or of a part of one.
type node struct {
	kind     kind
	writable bool           // everything in it is plain
	height   int            // nesting depth of its values
	bits     int            // of a number's type
	elem     *node          // of a pointer's target, or of an element
	none     reflect.Value  // the empty list
	fields   []field        // of a struct, in order
	places   map[string]int // index by name, if there are many fields
	folds    bool           // no two fields differ only in case
	fixed    int            // upper limit of the bytes of a number, or of a struct without its variable fields
	variable []int          // indexes of fields without an upper limit
}

// field is one field of a struct.
type field struct {
	*node
	index     int
	name      string
	quoted    string // "name":
	omitEmpty bool
}

// manyFields is the number of fields from which a map finds a name faster than a linear search.
const manyFields = 8

// find returns the index of the field with a name, -1 if there is none. Names mostly come in the order of the fields:
// next is the index after the last one.
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

// fold returns the index of the field whose name differs at most in ASCII case, -1 if there is none.
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
