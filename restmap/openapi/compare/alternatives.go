package compare

import (
	"fmt"

	"github.com/busline/busline/reflectapi/schema"
)

// alternatives compares the schemas by which another one is defined, each with the one at its place.
func (w *walker) alternatives(path string, old, now *schema.Schema) {
	w.all(path, old.AllOf, now.AllOf)
	w.some(path, old.AnyOf, now.AnyOf)
	w.some(path, old.OneOf, now.OneOf)
	if !same(old.Not, now.Not) {
		w.different(path)
	}
}

// all compares schemas that hold together: what is wide has no more of them.
func (w *walker) all(path string, old, now []*schema.Schema) {
	if wide, narrow := w.sides(old, now); len(wide) > len(narrow) {
		w.different(path)
		return
	}
	for i := range min(len(old), len(now)) {
		w.compare(path, old[i], now[i])
	}
}

// some compares schemas of which one has to hold: what is wide has no fewer of them, unless it has none.
func (w *walker) some(path string, old, now []*schema.Schema) {
	wide, narrow := w.sides(old, now)
	if len(wide) > 0 && (len(narrow) == 0 || len(wide) < len(narrow)) {
		w.different(path)
		return
	}
	for i := range min(len(old), len(now)) {
		w.compare(fmt.Sprintf("%s (alternative %d)", path, i+1), old[i], now[i])
	}
}

// sides returns what has to take all values of the other one, and that one.
func (w *walker) sides(old, now []*schema.Schema) (wide, narrow []*schema.Schema) {
	if w.direction.narrows() {
		return now, old
	}
	return old, now
}

func (w *walker) different(path string) {
	w.sayf(path, "who relies on the old ones may fail", "has different alternatives (allOf, anyOf, oneOf, not)")
}
