package reflectapi

import (
	"reflect"
	"strconv"
)

// Violation is one place at which a value violates its schema.
type Violation struct {
	Path   string // path of members and elements: "p1.x", "tags[2]"; "" for the value itself
	Detail string // "expects at least 1"
}

// maxViolations bounds the violations reported for one value: nobody reads a million lines about a list of a million
// bad elements.
const maxViolations = 100

// review collects the violations of one value.
type review struct {
	at    []place // the path to the part being checked
	found []Violation
	tried map[tried]bool // results of checks against alternatives
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

// full reports whether there are enough violations.
func (r *review) full() bool { return len(r.found) >= maxViolations }

// path returns the current place, such as p1.x or tags[2].
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

// inside follows pointers and interfaces; null reports that there is no value at the end.
func inside(v reflect.Value) (at reflect.Value, null bool) {
	for v.IsValid() && (v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer && v.Type() != bigInteger()) {
		v = v.Elem()
	}
	return v, !v.IsValid()
}
