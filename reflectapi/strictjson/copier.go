package strictjson

import (
	"math"
	"reflect"
	"unicode/utf8"
)

// floatSize is the length of the longest number.
const floatSize = len("-2.2250738585072014e-308")

// Copier has the same effect on values of two struct types as [Marshal] followed by [Unmarshal], without the text in
// between. It exists for types that contain no references: booleans, numbers and strings, and structs of these, all
// plain as a [Plan] defines it. The copy shares nothing with the original.
//
// A Copier is immutable, and is safe for concurrent use.
type Copier struct {
	steps   []step
	fixed   int  // upper limit of the text's bytes, except for strings
	partial bool // see Partial
}

// Partial reports whether there are fields, at any depth, that the other type does not have.
func (c *Copier) Partial() bool { return c.partial }

// step copies one field.
type step struct {
	from, to  int // -1: the other side has no such field, and it is only checked
	kind      kind
	omitEmpty bool
	inner     *Copier // for a struct
}

// longestEscape is the largest number of bytes of JSON for one byte of a string.
const longestEscape = len(`\u0000`)

// NewCopier returns the copier for two types, or nil if they need the text. With anyCase a field also matches one whose
// name differs in case, as for [UnmarshalAnyCase].
func NewCopier(from, to reflect.Type, anyCase bool) *Copier {
	return newCopier(PlanOf(from).root, PlanOf(to).root, anyCase, 1)
}

// newCopier makes the copier for structs whose objects are at a depth in the text.
func newCopier(from, to *node, anyCase bool, depth int) *Copier {
	if from.kind != plainStruct || to.kind != plainStruct || !from.writable || anyCase && !to.folds || depth > MaxDepth {
		return nil
	}
	copier := &Copier{fixed: len("{}")}
	filled := make(map[int]bool)
	for place := range from.fields {
		f := &from.fields[place]
		next := step{from: f.index, to: -1, kind: f.kind, omitEmpty: f.omitEmpty}
		other := to.find(f.name)
		if other < 0 && anyCase {
			other = to.fold(f.name)
		}
		if other < 0 && to.fold(f.name) >= 0 { // who reads the text may refuse it
			return nil
		}
		copier.partial = copier.partial || other < 0
		if other >= 0 {
			if filled[other] { // two names that differ in case match the same field
				return nil
			}
			filled[other], next.to = true, to.fields[other].index
		}
		switch f.kind {
		case plainBool, plainInt, plainUint, plainFloat, plainString:
			if other >= 0 && !sameScalar(f.node, to.fields[other].node) {
				return nil
			}
		case plainStruct:
			into := f.node
			if other >= 0 {
				into = to.fields[other].node
			}
			if next.inner = newCopier(f.node, into, anyCase, depth+1); next.inner == nil {
				return nil
			}
			copier.fixed += next.inner.fixed
			copier.partial = copier.partial || next.inner.partial
		default:
			return nil
		}
		copier.fixed += len(f.quoted) + len(`"",`) + floatSize
		copier.steps = append(copier.steps, next)
	}
	if len(filled) == 0 && len(from.fields) > 0 && len(to.fields) > 0 { // who reads the text may refuse it
		return nil
	}
	return copier
}

// sameScalar reports whether every value of one type has the same text and meaning in the other.
func sameScalar(a, b *node) bool { return a.kind == b.kind && a.bits == b.bits }

// Copy copies the fields that both types have into another value, which has to be settable. It returns false for a
// value without JSON, such as NaN, and if the JSON could be longer than the limit in bytes; the other value may then be
// partly filled.
func (c *Copier) Copy(from, to reflect.Value, limit int) bool {
	_, ok := c.copy(from, to, limit)
	return ok
}

// copy returns how many bytes of the limit are left.
func (c *Copier) copy(from, to reflect.Value, limit int) (left int, ok bool) {
	left = limit - c.fixed
	for i := range c.steps {
		if left, ok = c.steps[i].do(from, to, left); !ok {
			return left, false
		}
	}
	return left, left >= 0
}

func (s *step) do(from, to reflect.Value, left int) (int, bool) {
	value := from.Field(s.from)
	var into reflect.Value // stays invalid if the field is not wanted
	if to.IsValid() && s.to >= 0 && (!s.omitEmpty || !isEmpty(value)) {
		into = to.Field(s.to)
	}
	switch s.kind {
	case plainStruct:
		return s.inner.copyWithin(value, into, left)
	case plainString:
		text := value.String()
		if left -= longestEscape * len(text); left < 0 || !utf8.ValidString(text) {
			return left, false
		}
		if into.IsValid() {
			into.SetString(text)
		}
	case plainFloat:
		number := value.Float()
		if math.IsNaN(number) || math.IsInf(number, 0) {
			return left, false
		}
		if into.IsValid() {
			into.SetFloat(number)
		}
	default:
		setWhole(s.kind, value, into)
	}
	return left, true
}

// copyWithin copies a struct inside another, whose limit has room for all fixed parts.
func (c *Copier) copyWithin(from, to reflect.Value, left int) (int, bool) {
	left, ok := c.copy(from, to, left+c.fixed)
	return left, ok
}

// setWhole sets a boolean or an integer, which always has a text.
func setWhole(kind kind, value, into reflect.Value) {
	switch {
	case !into.IsValid():
	case kind == plainBool:
		into.SetBool(value.Bool())
	case kind == plainInt:
		into.SetInt(value.Int())
	case kind == plainUint:
		into.SetUint(value.Uint())
	}
}

// Fill has the same effect on the members of an object as [Marshal] followed by [Unmarshal], without the text in
// between: it sets the fields of a settable struct of the plan's type. It returns false if the result might differ, if
// the struct has no field for a member, or if the text could be longer than the limit in bytes; the struct may then be
// partly filled. Members may be booleans, strings and numbers of Go's predeclared types, for fields of the same kind.
func (p *Plan) Fill(into reflect.Value, members map[string]any, limit int) bool {
	if p.root.kind != plainStruct {
		return false
	}
	limit -= len("{}")
	for name, value := range members {
		place := p.root.find(name)
		if place < 0 {
			return false
		}
		limit -= len(name) + len(`"":,`) + floatSize
		field := p.root.fields[place]
		size, ok := fill(into.Field(field.index), field.kind, value)
		if limit -= size; !ok || limit < 0 {
			return false
		}
	}
	return true
}

// fill sets a field of some kind to a value, and returns an upper limit of its text's bytes in addition to those of a
// number. It returns false for values that it does not support.
func fill(field reflect.Value, as kind, value any) (size int, ok bool) {
	switch value := value.(type) {
	case string:
		if ok = as == plainString && utf8.ValidString(value); ok {
			field.SetString(value)
		}
		return longestEscape*len(value) + len(`""`), ok
	case bool:
		if as == plainBool {
			field.SetBool(value)
		}
		return 0, as == plainBool
	case int:
		return 0, fillInt(field, as, int64(value))
	case int64:
		return 0, fillInt(field, as, value)
	case int32:
		return 0, fillInt(field, as, int64(value))
	case float64:
		return 0, fillFloat(field, as, value)
	default:
		return 0, false
	}
}

func fillInt(field reflect.Value, as kind, value int64) bool {
	switch {
	case as == plainInt && !field.OverflowInt(value):
		field.SetInt(value)
	case as == plainUint && value >= 0 && !field.OverflowUint(uint64(value)):
		field.SetUint(uint64(value))
	default:
		return false
	}
	return true
}

// fillFloat does not support float32, which the text rounds in its own way.
func fillFloat(field reflect.Value, as kind, value float64) bool {
	fits := as == plainFloat && field.Kind() == reflect.Float64 && !math.IsNaN(value) && !math.IsInf(value, 0)
	if fits {
		field.SetFloat(value)
	}
	return fits
}
