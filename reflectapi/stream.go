package reflectapi

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/busline/busline/reflectapi/schema"
)

// streamed returns the type of the elements if the only outcome of a function is a stream, an iter.Seq2[T, error]; nil
// if not.
func streamed(outcomes []reflect.Type) reflect.Type {
	if len(outcomes) == 1 {
		if yielded := yieldedBy(outcomes[0]); isStreamOf(yielded) {
			return yielded[0]
		}
	}
	return nil
}

// yieldedBy returns what an iterator yields, one type or two: an iter.Seq, an iter.Seq2, or a function type of that
// shape. It returns nil for other types, and for those with their own encoding.
func yieldedBy(t reflect.Type) (yielded []reflect.Type) {
	if t.Kind() != reflect.Func || t.NumIn() != 1 || t.NumOut() != 0 || schema.WritesJSON(t) || schema.WritesText(t) {
		return nil
	}
	yield := t.In(0)
	if yield.Kind() != reflect.Func || yield.IsVariadic() || yield.NumOut() != 1 ||
		yield.Out(0) != reflect.TypeFor[bool]() {
		return nil
	}
	if n := yield.NumIn(); n == 1 || n == 2 {
		return slices.Collect(yield.Ins())
	}
	return nil
}

// isStreamOf reports whether what is yielded is each element beside its error.
func isStreamOf(yielded []reflect.Type) bool {
	return len(yielded) == 2 && yielded[1] == reflect.TypeFor[error]()
}

// noStream returns why an argument or a result that looks like a stream is none, or "".
func noStream(kind string, t reflect.Type) string {
	yielded := yieldedBy(t)
	switch {
	case t.Kind() == reflect.Chan && kind == "result" && !schema.WritesJSON(t) && !schema.WritesText(t):
		return fmt.Sprintf("is a channel, which cannot tell an error: for a stream return an iter.Seq2[%v, error]", t.Elem())
	case yielded == nil:
		return ""
	case kind == "argument":
		return "is an iterator, and callers cannot send a stream: take a slice"
	case isStreamOf(yielded):
		return "is a stream, which has to be the only result: yield the error, and put all else into the elements"
	case len(yielded) == 2:
		return fmt.Sprintf("is an iterator of pairs whose second value is %v, not an error: return an iter.Seq2[T, error], "+
			"where T has both values", yielded[1])
	default:
		return fmt.Sprintf("is an iterator that cannot fail, which a stream over the bus can: return an iter.Seq2[%v, error]",
			yielded[0])
	}
}
