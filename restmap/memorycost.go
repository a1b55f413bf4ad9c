package restmap

import (
	"fmt"
	"math"
	"reflect"

	"github.com/busline/busline/reflectapi/strictjson"
)

// The memory that the values of one JSON text may take, in bytes. The length of the text does not bound it: {}, is
// three bytes, but an element of a slice of structs takes hundreds. There is no option, because well-meant requests
// stay far below: the default body limit of a function is 4 MiB, and full of points such as {"x":1,"y":2} such a body
// takes less.
const (
	maxWeight   = 128 << 20
	heavyWeight = 4 << 20 // heavier texts of an endpoint are parsed one after the other
)

// memoryCost are the memory that the values of a text take at most when it is decoded into a type. The bytes of strings
// do not count, because the text itself is as long, nor does anything that exists only once, such as a field.
type memoryCost struct {
	element, member, container, filled int // bytes for each of those that strictjson.Text counts
}

// of returns the memory that a text takes.
func (w *memoryCost) of(text strictjson.Text) int {
	return text.Elements*w.element + text.Members*w.member + text.Containers*w.container + text.Filled*w.filled
}

// cheapBytes returns the length up to which a text is never heavy, whatever it contains: each value takes at least two
// bytes, including the comma or bracket after it, and the outermost one counts once more.
func (w *memoryCost) cheapBytes() int {
	each := w.element + w.member + w.container + w.filled
	if each == 0 {
		return math.MaxInt
	}
	return 2 * (heavyWeight/each - 1)
}

// cost returns an error for a text that takes too much memory.
func (w *memoryCost) cost(text strictjson.Text) (weight int, err error) {
	if weight = w.of(text); weight > maxWeight {
		err = &strictjson.Error{Detail: fmt.Sprintf("holds so many values that they would take %d MiB of memory; "+
			"the limit is %d MiB: send less at a time",
			(weight-1)>>20+1, maxWeight>>20)}
	}
	return weight, err
}

// memoryCostOf determines the weights for a type.
func memoryCostOf(t reflect.Type) *memoryCost {
	w := new(memoryCost)
	w.visit(t, make(map[reflect.Type]bool))
	return w
}

// visit adds the weights of a type and of all types in it.
func (w *memoryCost) visit(t reflect.Type, seen map[reflect.Type]bool) {
	known := t.Kind() != reflect.Interface && (readsJSON(t) || readsText(t)) // it stores what it makes of a text
	if seen[t] || known {
		return
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Interface:
		if union := strictjson.UnionOf(t); union != nil {
			w.visitUnion(union, seen)
			return
		}
		w.add(memoryCost{element: boxed, member: boxed})
		w.visit(reflect.TypeFor[map[string]any](), seen)
	case reflect.Map:
		w.add(mapCost(t))
		w.visit(t.Elem(), seen)
	case reflect.Slice:
		w.add(memoryCost{element: sizeOf(t.Elem())})
		w.visit(t.Elem(), seen)
	case reflect.Pointer:
		w.add(memoryCost{member: sizeOf(t.Elem())})
		w.visit(t.Elem(), seen)
	case reflect.Array:
		w.visit(t.Elem(), seen)
	case reflect.Struct:
		for field := range t.Fields() {
			w.visit(field.Type, seen)
		}
	default: // neither repeated nor allocated
	}
}

// visitUnion adds the weights of the variants, which are allocated one by one.
func (w *memoryCost) visitUnion(union *strictjson.Union, seen map[reflect.Type]bool) {
	for _, variant := range union.Structs() {
		w.add(memoryCost{element: sizeOf(union.Type) + int(variant.Size()), member: int(variant.Size())})
		w.visit(variant, seen)
	}
}

// add keeps the larger of each weight.
func (w *memoryCost) add(more memoryCost) {
	w.element = max(w.element, more.element)
	w.member = max(w.member, more.member)
	w.container = max(w.container, more.container)
	w.filled = max(w.filled, more.filled)
}

// boxed is the size of an interface and the number to which it points.
const boxed = 16 + 8

// mapCost returns the weights of a map: a header, a group of eight slots with the first member, and more slots with
// later ones.
func mapCost(t reflect.Type) memoryCost {
	const head, places = 48, 8
	place := 1 + int(t.Key().Size()) + sizeOf(t.Elem())
	return memoryCost{container: head, filled: places * place, member: place}
}

// sizeOf returns the size of a value including what its pointers point to.
func sizeOf(t reflect.Type) int {
	size := int(t.Size())
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
		size += int(t.Size())
	}
	return size
}
