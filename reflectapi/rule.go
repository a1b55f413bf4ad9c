package reflectapi

import (
	"bytes"
	"encoding/json"
	"math/big"
	"reflect"
	"slices"
)

// rule is a schema as it is enforced: what restricts a value, compiled once, the rest left out. It looks at values of
// the Go type it was made for, or, made for none, at what JSON becomes where the Go type is any. It does not change once
// made.
type rule struct {
	typ      string // "string", …; "" where the Go type says it, or nothing does
	nullable bool
	enum     []any // nil for any value
	text     *textRule
	number   *numberRule
	list     *listRule
	object   *objectRule

	allOf, anyOf, oneOf []*rule
	not                 *rule
}

// check looks at a value and all that is inside it.
func (r *rule) check(to *review, v reflect.Value) {
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

// checkChoices tries a value against other rules.
func (r *rule) checkChoices(to *review, v reflect.Value) {
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

// fits says whether a value breaks nothing.
func (r *rule) fits(v reflect.Value) bool {
	var found review
	r.check(&found, v)
	return len(found.found) == 0
}

// tried is a rule that a map or a list was held to.
type tried struct {
	rule   *rule
	at     uintptr
	length int
}

// fits does the same for a part of what is looked at, which is not changed meanwhile. An object or a list is held to a
// rule once: what is inside an alternative may have alternatives, and so on, which would double the work at each level.
func (r *review) fits(alternative *rule, v reflect.Value) bool {
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
	found := review{tried: r.tried}
	alternative.check(&found, v)
	fits := len(found.found) == 0
	if isPart {
		r.tried[key] = fits
	}
	return fits
}

// fitting counts the rules that a value fits.
func (r *review) fitting(rules []*rule, v reflect.Value) (n int) {
	for _, each := range rules {
		if r.fits(each, v) {
			n++
		}
	}
	return n
}

// hasType says whether a value that came from JSON is of one of its types.
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

// article puts one in front of the name of a type.
func article(typ string) string {
	switch typ {
	case "array", "integer", "object":
		return "an " + typ
	}
	return "a " + typ
}

// equals says whether a value is one that an enum lists.
func equals(listed any, v reflect.Value) bool {
	switch listed := listed.(type) {
	case nil:
		return false // null has been looked at
	case string:
		return v.Kind() == reflect.String && v.String() == listed
	case bool:
		return v.Kind() == reflect.Bool && v.Bool() == listed
	}
	if number := reflect.ValueOf(listed); isNumber(number) {
		return isNumber(v) && exactly(number).Cmp(exactly(v)) == 0
	}
	if !v.CanInterface() {
		return false
	}
	return sameJSON(listed, v.Interface())
}

// sameJSON compares what is written alike.
func sameJSON(a, b any) bool {
	one, err := json.Marshal(a)
	if err != nil {
		return false
	}
	other, err := json.Marshal(b)
	return err == nil && bytes.Equal(one, other)
}

// oneOf lists what an enum has, the first few of it.
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
