package restmap

import (
	"fmt"
	"math"
	"reflect"

	"github.com/busline/busline/restmap/strictjson"
)

// What the values of one JSON text may take in memory, in bytes. The text itself bounds nothing: {}, is three bytes, and
// hundreds where it is an element of a slice of structs. There is no option, as nobody who means well comes near: the
// 4 MiB that a function takes unless told otherwise, filled with points such as {"x":1,"y":2}, become less.
const (
	maxWeight   = 128 << 20
	heavyWeight = 4 << 20 // above, texts of an endpoint are read one after the other, not all at once
)

// weights are what the values of a text take in memory, at worst, where it becomes a value of a certain type. Bytes of
// strings do not count, of which the text has as many, nor does what is there but once, such as a field.
type weights struct {
	element, member, container, filled int // bytes of each that strictjson.Text counts
}

// of returns what a text takes.
func (w *weights) of(text strictjson.Text) int {
	return text.Elements*w.element + text.Members*w.member + text.Containers*w.container + text.Filled*w.filled
}

// lightBytes returns how long a text may be that is never heavy, whatever it holds: a value takes two bytes at least, with
// the comma or the bracket behind it, and the outermost one is there once more.
func (w *weights) lightBytes() int {
	each := w.element + w.member + w.container + w.filled
	if each == 0 {
		return math.MaxInt
	}
	return 2 * (heavyWeight/each - 1)
}

// weigh refuses a text that takes too much.
func (w *weights) weigh(text strictjson.Text) (weight int, err error) {
	if weight = w.of(text); weight > maxWeight {
		err = &strictjson.Error{Detail: fmt.Sprintf("holds so many values that they would take %d MiB of memory, and %d are the limit: send it in parts",
			(weight-1)>>20+1, maxWeight>>20)}
	}
	return weight, err
}

// weightsOf works out the weights for a type.
func weightsOf(t reflect.Type) *weights {
	w := new(weights)
	w.visit(t, make(map[reflect.Type]bool))
	return w
}

// visit adds a type, and those of all that it holds.
func (w *weights) visit(t reflect.Type, seen map[reflect.Type]bool) {
	known := t.Kind() != reflect.Interface && (readsJSON(t) || readsText(t)) // it keeps what it makes of a text
	if seen[t] || known {
		return
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Interface:
		w.add(weights{element: boxed, member: boxed})
		w.visit(reflect.TypeFor[map[string]any](), seen)
	case reflect.Map:
		w.add(mapWeights(t))
		w.visit(t.Elem(), seen)
	case reflect.Slice:
		w.add(weights{element: sizeOf(t.Elem())})
		w.visit(t.Elem(), seen)
	case reflect.Pointer:
		w.add(weights{member: sizeOf(t.Elem())})
		w.visit(t.Elem(), seen)
	case reflect.Array:
		w.visit(t.Elem(), seen)
	case reflect.Struct:
		for field := range t.Fields() {
			w.visit(field.Type, seen)
		}
	default: // what is neither repeated nor allocated
	}
}

// add takes the larger of each weight.
func (w *weights) add(more weights) {
	w.element = max(w.element, more.element)
	w.member = max(w.member, more.member)
	w.container = max(w.container, more.container)
	w.filled = max(w.filled, more.filled)
}

// boxed is an interface with the number that it points to.
const boxed = 16 + 8

// mapWeights are those of a map: a head, with the first member a group of eight places, with later ones more of them.
func mapWeights(t reflect.Type) weights {
	const head, places = 48, 8
	place := 1 + int(t.Key().Size()) + sizeOf(t.Elem())
	return weights{container: head, filled: places * place, member: place}
}

// sizeOf returns the size of a value with all that it points to.
func sizeOf(t reflect.Type) int {
	size := int(t.Size())
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
		size += int(t.Size())
	}
	return size
}
