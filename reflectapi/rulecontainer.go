package reflectapi

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
)

// listRule restricts an array.
type listRule struct {
	shortest, longest *uint64
	unique            bool
	items             *rule
}

func (r *listRule) check(to *review, v reflect.Value) {
	if r == nil {
		return
	}
	length := uint64(v.Len())
	if r.shortest != nil && length < *r.shortest {
		to.fail("expects at least " + counted(*r.shortest, "element"))
	}
	if r.longest != nil && length > *r.longest {
		to.fail("expects at most " + counted(*r.longest, "element"))
	}
	if r.unique && repeats(v) {
		to.fail("expects no duplicate elements")
	}
	if r.items == nil {
		return
	}
	for i := range v.Len() {
		if to.full() {
			return
		}
		to.enter(place{index: i})
		r.items.check(to, v.Index(i))
		to.leave()
	}
}

// repeats reports whether two elements have the same JSON.
func repeats(list reflect.Value) bool {
	seen := make(map[string]bool, list.Len())
	for i := range list.Len() {
		text, err := json.Marshal(list.Index(i).Interface())
		if err != nil {
			return false
		}
		if seen[string(text)] {
			return true
		}
		seen[string(text)] = true
	}
	return false
}

// objectRule restricts an object: a struct by its fields, a map by its members.
type objectRule struct {
	fewest, most *uint64
	required     []string
	fields       []fieldRule      // of a struct; each has a rule
	members      map[string]*rule // of decoded JSON
	others       *rule            // for members that are not listed
}

// fieldRule restricts one field of a struct.
type fieldRule struct {
	name  string
	index []int
	rule  *rule
}

func (r *objectRule) check(to *review, v reflect.Value) {
	switch {
	case r == nil:
	case v.Kind() == reflect.Struct:
		r.checkFields(to, v)
	default:
		r.checkMembers(to, v)
	}
}

func (r *objectRule) checkFields(to *review, v reflect.Value) {
	for i := range r.fields {
		field := &r.fields[i]
		value, err := v.FieldByIndexErr(field.index)
		if err != nil || isNil(value) {
			continue // there is no value: a nil pointer, or a field of an embedded struct behind one
		}
		to.enter(place{field.name, -1})
		field.rule.check(to, value)
		to.leave()
	}
}

// checkMembers checks a map. A null member where null is not allowed counts as absent, because decoding treats the two
// alike.
func (r *objectRule) checkMembers(to *review, v reflect.Value) {
	if r.fewest != nil && uint64(v.Len()) < *r.fewest {
		to.fail("expects at least " + counted(*r.fewest, "member"))
	}
	if r.most != nil && uint64(v.Len()) > *r.most {
		to.fail("expects at most " + counted(*r.most, "member"))
	}
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return compareText(keyText(a), keyText(b)) })
	present := make(map[string]bool, len(keys))
	for _, key := range keys {
		name := keyText(key)
		rule, known := r.members[name]
		if !known {
			rule = r.others
		}
		value := v.MapIndex(key)
		if isNil(value) && known && rule != nil && !rule.nullable {
			continue
		}
		present[name] = true
		if rule != nil && !to.full() {
			to.enter(place{name, -1})
			rule.check(to, value)
			to.leave()
		}
	}
	for _, name := range r.required {
		if !present[name] {
			to.enter(place{name, -1})
			to.fail("is missing")
			to.leave()
		}
	}
}

func compareText(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// keyText returns the JSON of a key that is a string or an integer.
func keyText(key reflect.Value) string {
	if key.Kind() == reflect.String {
		return key.String()
	}
	return fmt.Sprint(key.Interface())
}

// isNil reports whether a value is null.
func isNil(v reflect.Value) bool {
	_, null := inside(v)
	return null
}
