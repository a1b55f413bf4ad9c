package schema

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	legacy "github.com/go-json-experiment/json/v1"

	"github.com/busline/busline/reflectapi/strictjson"
)

// textRule restricts a string.
type textRule struct {
	shortest, longest *uint64 // in characters, which are code points
	pattern           *pattern
	format            string // one for which isFormat is true
}

func (r *textRule) check(to *validation, text string) {
	if r == nil {
		return
	}
	length := uint64(utf8.RuneCountInString(text))
	if r.shortest != nil && length < *r.shortest {
		to.fail("expects at least " + counted(*r.shortest, "character"))
	}
	if r.longest != nil && length > *r.longest {
		to.fail("expects at most " + counted(*r.longest, "character"))
	}
	if r.pattern != nil && !r.pattern.checked.MatchString(text) {
		to.fail("expects text that matches " + r.pattern.documented)
	}
	if r.format != "" && !hasFormat(text, r.format) {
		to.fail("expects the format " + r.format)
	}
}

// counted says "1 character" and "2 characters".
func counted(n uint64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.FormatUint(n, 10) + " " + what + "s"
}

// numberRule restricts a number.
type numberRule struct {
	low, high    *limit
	above, below bool // the limit itself is excluded
	multiple     *limit
	int32s       bool // if the Go type does not ensure it
}

func (r *numberRule) check(to *validation, v reflect.Value) {
	if r == nil {
		return
	}
	if r.low != nil {
		if order := r.low.compare(v); order < 0 || order == 0 && r.above {
			to.fail("expects " + bound(r.above, "more than ", "at least ") + r.low.text)
		}
	}
	if r.high != nil {
		if order := r.high.compare(v); order > 0 || order == 0 && r.below {
			to.fail("expects " + bound(r.below, "less than ", "at most ") + r.high.text)
		}
	}
	if f, _ := float(v); r.int32s && (f < math.MinInt32 || f > math.MaxInt32) {
		to.fail("expects a 32-bit integer")
	}
	if r.multiple != nil && !r.multiple.divides(v) {
		to.fail("expects a multiple of " + r.multiple.text)
	}
}

func bound(exclusive bool, if1, if0 string) string {
	if exclusive {
		return if1
	}
	return if0
}

// isNumber reports whether a value is a number in JSON; a *big.Int, which stands for a long one, is.
func isNumber(v reflect.Value) bool {
	return v.CanInt() || v.CanUint() || v.CanFloat() || v.IsValid() && v.Type() == bigInteger()
}

func isWhole(v reflect.Value) bool { return !v.CanFloat() || v.Float() == math.Trunc(v.Float()) }

// exactBelow: every integer below it is exact as a float64.
const exactBelow = 1 << 53

// float returns the float64 nearest to a number, and whether it is exact. A float32 stands for its shortest decimal,
// which is what was written: its own float64 for 0.1 is 0.10000000149.
func float(v reflect.Value) (f float64, exact bool) {
	switch {
	case v.CanInt():
		n := v.Int()
		return float64(n), -exactBelow <= n && n <= exactBelow
	case v.CanUint():
		n := v.Uint()
		return float64(n), n <= exactBelow
	case v.Kind() == reflect.Float32:
		f, _ = strconv.ParseFloat(shortest(v), 64)
		return f, true
	case v.CanFloat():
		return v.Float(), true
	}
	if long, ok := reflect.TypeAssert[*big.Int](v); ok {
		f, _ = long.Float64()
	}
	return f, false
}

// shortest returns the shortest decimal that a float of its width is read from.
func shortest(v reflect.Value) string {
	return strconv.FormatFloat(v.Float(), 'g', -1, v.Type().Bits())
}

// rational returns a number with all its digits, a float as its shortest decimal.
func rational(v reflect.Value) *big.Rat {
	number := new(big.Rat)
	switch {
	case v.CanInt():
		return number.SetInt64(v.Int())
	case v.CanUint():
		return number.SetUint64(v.Uint())
	case v.CanFloat():
		if decimal, ok := number.SetString(shortest(v)); ok {
			return decimal
		}
		return new(big.Rat) // for NaN and infinities, which JSON does not have
	}
	if long, ok := reflect.TypeAssert[*big.Int](v); ok {
		number.SetInt(long)
	}
	return number
}

// sameNumber reports whether a number equals a listed one.
func sameNumber(listed, v reflect.Value) bool {
	a, exactA := float(listed)
	b, exactB := float(v)
	return a == b && (v.CanFloat() || exactA && exactB || rational(listed).Cmp(rational(v)) == 0)
}

// limit is a number in a schema.
type limit struct {
	text   string
	exact  *big.Rat
	near   float64 // the nearest
	isNear bool    // near is exact
}

func newLimit(n Number) *limit {
	if n == "" {
		return nil
	}
	l := &limit{text: string(n), exact: n.Rational()}
	l.near, l.isNear = l.exact.Float64()
	return l
}

// compare compares a number with the limit: -1 if the number is less. A float equals a limit that rounds to it.
func (l *limit) compare(v reflect.Value) int {
	switch f, exact := float(v); {
	case exact && f < l.near:
		return -1
	case exact && f > l.near:
		return 1
	case v.CanFloat() || exact && l.isNear:
		return 0
	}
	return rational(v).Cmp(l.exact)
}

// divides reports whether a number is a multiple of the limit. A float is one if a multiple rounds to it: it does not
// show all digits that were written.
func (l *limit) divides(v reflect.Value) bool {
	if f, exact := float(v); exact && l.isNear && math.Abs(f) <= exactBelow && f == math.Trunc(f) &&
		l.near == math.Trunc(l.near) {
		return math.Mod(f, l.near) == 0
	}
	multiple := rational(v)
	multiple.Quo(multiple, l.exact)
	if multiple.IsInt() || !v.CanFloat() {
		return multiple.IsInt()
	}
	multiple.SetString(multiple.FloatString(0))
	multiple.Mul(multiple, l.exact)
	if v.Kind() == reflect.Float32 {
		f, _ := multiple.Float32()
		return float64(f) == v.Float()
	}
	f, _ := multiple.Float64()
	return f == v.Float()
}

// numbers returns the rule for numbers, nil if nothing restricts them.
func numbers(s *Schema, t reflect.Type) *numberRule {
	r := &numberRule{
		low: newLimit(s.Minimum), above: s.ExclusiveMinimum, high: newLimit(s.Maximum), below: s.ExclusiveMaximum,
		multiple: newLimit(s.MultipleOf),
		int32s:   t == nil && s.Format == "int32",
	}
	if t != nil { // what the type ensures need not be checked
		low, high := rangeOf(t)
		if s.Minimum == low && !r.above {
			r.low = nil
		}
		if s.Maximum == high && !r.below {
			r.high = nil
		}
	}
	if *r == (numberRule{}) {
		return nil
	}
	return r
}

// texts returns the rule for strings, nil if nothing restricts them.
func texts(s *Schema) (*textRule, error) {
	r := &textRule{shortest: s.MinLength, longest: s.MaxLength}
	if isFormat(s.Format) {
		r.format = s.Format
	}
	if s.Pattern != "" {
		p, err := newPattern(s.Pattern)
		if err != nil {
			return nil, fmt.Errorf("the pattern %q %w", s.Pattern, err)
		}
		r.pattern = p
	}
	if *r == (textRule{}) {
		return nil, nil //nolint:nilnil // no rule is fine
	}
	return r, nil
}

// fitsZero reports whether the zero value, which a missing argument or member has, satisfies a rule for decoded JSON.
func (r *rule) fitsZero(t reflect.Type) bool {
	if strictjson.UnionOf(t) != nil {
		return false // nil is none of the variants
	}
	if t.Kind() == reflect.Pointer || t.Kind() == reflect.Interface {
		return true // the method can see that it is absent
	}
	zero, known := zeroJSON(t)
	return !known || r.fits(reflect.ValueOf(zero))
}

// zeroJSON returns the zero value of a type as decoded JSON. known is false if a marshalling method of the type fails
// for it.
func zeroJSON(t reflect.Type) (zero any, known bool) {
	defer func() {
		if recover() != nil { // a method of a type from elsewhere, which may never have been called for a zero value
			zero, known = nil, false
		}
	}()
	data, err := jsonv2.Marshal(reflect.New(t).Interface(),
		legacy.FormatDurationAsNano(true), legacy.FormatByteArrayAsArray(true), legacy.OmitEmptyWithLegacySemantics(true),
		jsonv2.WithMarshalers(jsonv2.MarshalToFunc(zeroNumber)))
	if err != nil || json.Unmarshal(data, &zero) != nil {
		return nil, false
	}
	return zero, true
}

// zeroNumber writes the zero value of a json.Number. It is never used for a map key, because a zero map has no members.
func zeroNumber(encoder *jsontext.Encoder, _ json.Number) error {
	return encoder.WriteToken(jsontext.Int(0))
}

// optional reports whether a member is omitted from JSON if it is zero, or only occurs in responses: for such a member
// absence is a value of its own.
func (f *jsonField) optional() bool { return f.omitted || f.readOnly }

// written reports whether a member of t is in the JSON of every value.
func (f *jsonField) written(t reflect.Type) bool {
	return !f.omitted && !f.behindPointer(t) && !slices.Contains(tagParts(f.tag.Get("jsonschema")), "writeOnly=true")
}

// behindPointer reports whether a member belongs to an embedded struct that may be nil.
func (f *jsonField) behindPointer(t reflect.Type) bool {
	for _, i := range f.index[:len(f.index)-1] {
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if t = t.Field(i).Type; t.Kind() == reflect.Pointer {
			return true
		}
	}
	return false
}

func timeType() reflect.Type { return reflect.TypeFor[time.Time]() }
