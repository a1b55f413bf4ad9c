package reflectapi

import (
	"reflect"
	"strconv"
)

// Violation is one place at which a value breaks its schema.
type Violation struct {
	Path   string // members and elements on the way: "p1.x", "tags[2]"; "" for the value itself
	Detail string // "expects at least 1"
}

// maxViolations bounds what is told of one value: a list of a million bad elements is not worth a million lines.
const maxViolations = 100

// review collects what is wrong with one value.
type review struct {
	at    []place // where in the value the rules are looking
	found []Violation
	tried map[tried]bool // whether what was held to alternatives fits them
}

// place is one step into a value.
type place struct {
	name  string // of a member
	index int    // of an element; -1 for a member
}

func (r *review) enter(p place) { r.at = append(r.at, p) }
func (r *review) leave()        { r.at = r.at[:len(r.at)-1] }

// fail adds a violation.
func (r *review) fail(detail string) {
	if !r.full() {
		r.found = append(r.found, Violation{r.path(), detail})
	}
}

// full says that enough is told.
func (r *review) full() bool { return len(r.found) >= maxViolations }

// path writes a place as p1.x or tags[2].
func (r *review) path() string {
	var path []byte
	for _, p := range r.at {
		switch {
		case p.index >= 0:
			path = append(strconv.AppendInt(append(path, '['), int64(p.index), 10), ']')
			continue
		case len(path) > 0:
			path = append(path, '.')
		}
		path = append(path, p.name...)
	}
	return string(path)
}

// inside follows pointers and interfaces; null says that there is nothing at their end.
func inside(v reflect.Value) (at reflect.Value, null bool) {
	for v.IsValid() && (v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer && v.Type() != bigInteger()) {
		v = v.Elem()
	}
	return v, !v.IsValid()
}
