package strictjson

import (
	"math"
	"reflect"
	"unicode/utf8"
)

// Copier does with values of two struct types what [Marshal] and then [Unmarshal] do, without the text between them. There
// is one for types that hold nothing by reference: booleans, numbers and strings, and structs of these, all as plain as a
// [Plan] has it. Such values share nothing once they are copied.
//
// A Copier does not change once made, and may be used by several goroutines at once.
type Copier struct {
	steps []step
	fixed int // bytes that the text has at most, but for the strings
}

// step copies one field.
type step struct {
	from, to  int // -1: the other side does not know it, and it is only looked at
	kind      kind
	omitEmpty bool
	inner     *Copier // of a struct
}

// longestEscape is how many bytes of JSON one byte of a string can become.
const longestEscape = len(`\u0000`)

// NewCopier returns the copier of two types; nil when there is none, so that the text is needed. With anyCase a field
// also fits one whose name differs in case, as for [UnmarshalAnyCase].
func NewCopier(from, to reflect.Type, anyCase bool) *Copier {
	return newCopier(PlanOf(from).root, PlanOf(to).root, anyCase)
}

func newCopier(from, to *node, anyCase bool) *Copier {
	if from.kind != plainStruct || to.kind != plainStruct || !from.writable || anyCase && !to.folds {
		return nil
	}
	made := &Copier{fixed: len("{}")}
	filled := make(map[int]bool)
	for place := range from.fields {
		f := &from.fields[place]
		next := step{from: f.index, to: -1, kind: f.kind, omitEmpty: f.omitEmpty}
		other := to.find([]byte(f.name), place)
		if other < 0 && anyCase {
			other = to.fold([]byte(f.name))
		}
		if other >= 0 {
			if filled[other] { // two names that differ in case fit the same field
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
			if next.inner = newCopier(f.node, into, anyCase); next.inner == nil {
				return nil
			}
			made.fixed += next.inner.fixed
		default:
			return nil
		}
		made.fixed += len(f.quoted) + len(`"",`) + floatSize
		made.steps = append(made.steps, next)
	}
	return made
}

// sameScalar says whether every value of one type has the same text and meaning as one of the other.
func sameScalar(a, b *node) bool { return a.kind == b.kind && a.bits == b.bits }

// Copy copies a value into another, which is settable: fields that both know. It returns false for what has no text,
// such as NaN, and for what may have one of more than so many bytes; the other value is then partly filled.
func (c *Copier) Copy(from, to reflect.Value, limit int) bool {
	_, ok := c.copy(from, to, limit)
	return ok
}

// copy returns how many bytes are left of the limit.
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
	var into reflect.Value // none: nobody wants it
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

// setWhole sets what every value of has a text: a boolean or an integer.
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
