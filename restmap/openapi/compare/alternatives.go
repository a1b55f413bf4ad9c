package compare

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/busline/busline/reflectapi/schema"
)

// alternatives compares the schemas by which another one is defined, each with the one at its place.
func (w *walker) alternatives(path string, old, now *schema.Schema) {
	w.all(path, old.AllOf, now.AllOf)
	w.some(path, old.AnyOf, now.AnyOf)
	if old.Discriminator != nil && now.Discriminator != nil {
		w.variants(path, old.Discriminator, now.Discriminator)
	} else {
		w.some(path, old.OneOf, now.OneOf)
	}
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

// variants compares unions: variants of one name with each other, whatever their order.
func (w *walker) variants(path string, old, now *schema.Discriminator) {
	if old.PropertyName != now.PropertyName {
		w.sayf(path, w.effects.kind, "is now told apart by %s, was by %s", now.PropertyName, old.PropertyName)
		return
	}
	kind, effect := old.PropertyName, w.effects.it
	if w.direction == arguments {
		effect = "callers that send it get 400"
	}
	gone, come := missing(old.Mapping, now.Mapping), missing(now.Mapping, old.Mapping)
	switch {
	case w.direction.narrows() && len(gone) > 0:
		w.sayf(path, effect, "no longer accepts the %s %s", kind, strings.Join(gone, ", "))
	case w.direction == arguments && len(come) > 0:
		w.addf(false, "%s: %s also accepts the %s %s", w.key, w.at(path), kind, strings.Join(come, ", "))
	case !w.direction.narrows() && len(come) > 0:
		w.sayf(path, effect, "may now also be of the %s %s", kind, strings.Join(come, ", "))
	}
	for _, name := range slices.Sorted(maps.Keys(old.Mapping)) {
		if to, there := now.Mapping[name]; there {
			w.compare(fmt.Sprintf("%s (%s %s)", path, kind, name), &schema.Schema{Ref: old.Mapping[name]},
				&schema.Schema{Ref: to})
		}
	}
}

// missing returns the names that only the first one has, sorted.
func missing(from, in map[string]string) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(from)) {
		if _, there := in[name]; !there {
			names = append(names, name)
		}
	}
	return names
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
