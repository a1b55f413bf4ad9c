package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/busline/busline/reflectapi/similar"
)

// rule is the part of a schema that restricts values, compiled once. It checks values of the Go type for which it was
// compiled, or else decoded JSON, as in a Go variable of type any. It is immutable once made.
type rule struct {
	typ      string // "string", …; "" if the Go type determines it, or nothing does
	nullable bool
	enum     []any // nil for any value
	text     *textRule
	number   *numberRule
	list     *listRule
	object   *objectRule
	union    *unionRule

	allOf, anyOf, oneOf []*rule
	not                 *rule
}

// check checks a value and everything in it.
func (r *rule) check(to *validation, v reflect.Value) {
	v, null := inside(v)
	if null {
		if !r.nullable {
			to.fail("is null")
		}
		return
	}
	if r.typ != "" && !hasType(v, r.typ) {
		to.fail("expects " + article(r.typ))
		return
	}
	if r.enum != nil && !slices.ContainsFunc(r.enum, func(e any) bool { return equals(e, v) }) {
		to.fail("expects " + oneOf(r.enum))
	}
	switch {
	case r.union != nil:
		r.union.check(to, v)
	case v.Kind() == reflect.String:
		r.text.check(to, v.String())
	case isNumber(v):
		r.number.check(to, v)
	case v.Kind() == reflect.Slice || v.Kind() == reflect.Array:
		r.list.check(to, v)
	case v.Kind() == reflect.Map || v.Kind() == reflect.Struct:
		r.object.check(to, v)
	}
	r.checkChoices(to, v)
}

// checkElement is check for what a list or a map contains: null where it is not allowed counts as the zero value, which
// decoding makes of it.
func (r *rule) checkElement(to *validation, v reflect.Value) {
	if !r.nullable && isNil(v) {
		zeros := map[string]any{"string": "", "boolean": false, "number": 0, "integer": 0, "array": []any{},
			"object": map[string]any{}}
		v = reflect.ValueOf(zeros[r.typ])
	}
	r.check(to, v)
}

// checkChoices checks a value against allOf, anyOf, oneOf and not.
func (r *rule) checkChoices(to *validation, v reflect.Value) {
	for _, each := range r.allOf {
		each.check(to, v)
	}
	if r.anyOf != nil && to.fitting(r.anyOf, v) == 0 {
		to.fail("fits none of the alternatives")
	}
	if r.oneOf != nil {
		switch to.fitting(r.oneOf, v) {
		case 0:
			to.fail("fits none of the alternatives")
		case 1:
		default:
			to.fail("fits more than one of the alternatives")
		}
	}
	if r.not != nil && to.fits(r.not, v) {
		to.fail("is not allowed")
	}
}

// fits reports whether a value satisfies the rule.
func (r *rule) fits(v reflect.Value) bool {
	var found validation
	r.check(&found, v)
	return len(found.found) == 0
}

// Violation is one place at which a value violates its schema.
type Violation struct {
	Path   string // path of members and elements: "p1.x", "tags[2]"; "" for the value itself
	Detail string // "expects at least 1"
}

// maxViolations bounds the violations reported for one value: a million lines are of no use about a list of a million
// bad elements.
const maxViolations = 100

// validation collects the violations of one value.
type validation struct {
	at    []place // the path to the part being checked
	found []Violation
	tried map[tried]bool // results of checks against alternatives
}

// place is one step into a value.
type place struct {
	name  string // of a member
	index int    // of an element; -1 for a member
}

// tried identifies a check of a map or a list against a rule.
type tried struct {
	rule   *rule
	at     uintptr
	length int
}

// fits reports whether a part of the value under review satisfies a rule, without reporting violations. It checks an
// object or a list against a rule only once: alternatives within alternatives would otherwise double the work at each
// level.
func (r *validation) fits(alternative *rule, v reflect.Value) bool {
	if r.tried == nil {
		r.tried = make(map[tried]bool)
	}
	at, null := inside(v)
	isPart := !null && (at.Kind() == reflect.Map || at.Kind() == reflect.Slice)
	var key tried
	if isPart {
		key = tried{alternative, at.Pointer(), at.Len()}
		if fits, known := r.tried[key]; known {
			return fits
		}
	}
	found := validation{tried: r.tried}
	alternative.check(&found, v)
	fits := len(found.found) == 0
	if isPart {
		r.tried[key] = fits
	}
	return fits
}

// fitting returns how many of the rules a value satisfies.
func (r *validation) fitting(rules []*rule, v reflect.Value) (n int) {
	for _, each := range rules {
		if r.fits(each, v) {
			n++
		}
	}
	return n
}

// hasType reports whether decoded JSON has a type of JSON Schema.
func hasType(v reflect.Value, typ string) bool {
	switch typ {
	case "string":
		return v.Kind() == reflect.String
	case "boolean":
		return v.Kind() == reflect.Bool
	case "number":
		return isNumber(v)
	case "integer":
		return isNumber(v) && isWhole(v)
	case "array":
		return v.Kind() == reflect.Slice || v.Kind() == reflect.Array
	case "object":
		return v.Kind() == reflect.Map || v.Kind() == reflect.Struct
	}
	return true
}

// article returns the name of a type with its article.
func article(typ string) string {
	switch typ {
	case "array", "integer", "object":
		return "an " + typ
	}
	return "a " + typ
}

// equals reports whether a value equals one of an enum.
func equals(listed any, v reflect.Value) bool {
	switch listed := listed.(type) {
	case nil:
		return false // null is checked elsewhere
	case string:
		return v.Kind() == reflect.String && v.String() == listed
	case bool:
		return v.Kind() == reflect.Bool && v.Bool() == listed
	}
	if number := reflect.ValueOf(listed); isNumber(number) {
		return isNumber(v) && sameNumber(number, v)
	}
	if !v.CanInterface() {
		return false
	}
	return sameJSON(listed, v.Interface())
}

// sameJSON reports whether two values have the same JSON.
func sameJSON(a, b any) bool {
	one, err := json.Marshal(a)
	if err != nil {
		return false
	}
	other, err := json.Marshal(b)
	return err == nil && bytes.Equal(one, other)
}

// oneOf lists the values of an enum, the first few of them.
func oneOf(enum []any) string {
	const few = 10
	var list []byte
	for i, value := range enum {
		if i == few {
			return "one of " + string(list) + ", …"
		}
		if i > 0 {
			list = append(list, ", "...)
		}
		if text, ok := value.(string); ok && text != "" {
			list = append(list, text...)
		} else if data, err := json.Marshal(value); err == nil {
			list = append(list, data...)
		}
	}
	if len(enum) == 1 {
		return string(list)
	}
	return "one of " + string(list)
}

func bigInteger() reflect.Type { return reflect.TypeFor[*big.Int]() }

// listRule restricts an array.
type listRule struct {
	shortest, longest *uint64
	unique            bool
	items             *rule
}

func (r *listRule) check(to *validation, v reflect.Value) {
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
		r.items.checkElement(to, v.Index(i))
		to.pop()
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
	closed       bool             // there are no others
}

// fieldRule restricts one field of a struct.
type fieldRule struct {
	name     string
	index    []int
	rule     *rule
	optional bool // nil stands for what is absent
}

func (r *objectRule) check(to *validation, v reflect.Value) {
	switch {
	case r == nil:
	case v.Kind() == reflect.Struct:
		r.checkFields(to, v)
	default:
		r.checkMembers(to, v)
	}
}

func (r *objectRule) checkFields(to *validation, v reflect.Value) {
	for i := range r.fields {
		field := &r.fields[i]
		value, err := v.FieldByIndexErr(field.index)
		if err != nil || isNil(value) && (field.rule.nullable || field.optional) {
			continue // there is no value: a nil pointer, or a field of an embedded struct behind one
		}
		to.enter(place{field.name, -1})
		field.rule.check(to, value)
		to.pop()
	}
}

// checkMembers checks a map. A null member where null is not allowed counts as absent, because decoding treats the two
// alike.
func (r *objectRule) checkMembers(to *validation, v reflect.Value) {
	if r.fewest != nil && uint64(v.Len()) < *r.fewest {
		to.fail("expects at least " + counted(*r.fewest, "member"))
	}
	if r.most != nil && uint64(v.Len()) > *r.most {
		to.fail("expects at most " + counted(*r.most, "member"))
	}
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return compareText(keyText(a), keyText(b)) })
	present := make(map[string]bool, len(keys))
	var unknown []string // a few
	for _, key := range keys {
		name := keyText(key)
		rule, known := r.members[name]
		if !known {
			rule = r.others
			if len(unknown) < maxGuesses && len(name) <= maxGuessLength {
				unknown = append(unknown, name)
			}
		}
		if !known && r.closed && !to.full() {
			to.enter(place{name, -1})
			to.fail("is no member: expects one of " + strings.Join(slices.Sorted(maps.Keys(r.members)), ", "))
			to.pop()
			continue
		}
		value := v.MapIndex(key)
		if isNil(value) && known && rule != nil && !rule.nullable {
			continue
		}
		present[name] = true
		if rule != nil && !to.full() {
			to.enter(place{name, -1})
			rule.checkElement(to, value)
			to.pop()
		}
	}
	for _, name := range r.required {
		if !present[name] {
			to.enter(place{name, -1})
			if misspelt := similar.Name(name, unknown); misspelt != "" {
				to.fail("is missing: did you write " + misspelt + " instead?")
			} else {
				to.fail("is missing")
			}
			to.pop()
		}
	}
}

// Limits of the names that may be meant to be another one: in a body of millions they are not compared.
const (
	maxGuesses     = 20
	maxGuessLength = 64 // bytes
)

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

func (r *validation) enter(p place) { r.at = append(r.at, p) }

func (r *validation) pop() { r.at = r.at[:len(r.at)-1] }

// fail adds a violation.
func (r *validation) fail(detail string) {
	if !r.full() {
		r.found = append(r.found, Violation{r.path(), detail})
	}
}

// full reports whether there are enough violations.
func (r *validation) full() bool { return len(r.found) >= maxViolations }

// path returns the current place, such as p1.x or tags[2].
func (r *validation) path() string {
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
