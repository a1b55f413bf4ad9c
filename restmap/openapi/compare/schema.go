package compare

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/busline/busline/reflectapi"
	"github.com/busline/busline/restmap/openapi"
)

// direction says who is affected by a change of a schema.
type direction bool

const (
	arguments direction = false // must not require more: callers send what they have always sent
	answers   direction = true  // must not change what callers read
)

// step is one pair of schemas on the path, which ends the recursion for schemas that contain themselves.
type step struct{ before, after *reflectapi.Schema }

// walk compares two schemas and all schemas in them.
func (c *comparison) walk(d direction, key, what string, before, after *reflectapi.Schema) {
	w := &walker{comparison: c, direction: d, key: key, what: what, seen: make(map[step]bool)}
	w.compare("", before, after)
}

// walker compares the schemas of one argument or result.
type walker struct {
	*comparison

	direction direction
	key, what string
	seen      map[step]bool
}

// sayf adds a breaking change, at a path inside the argument or the result.
func (w *walker) sayf(path, format string, arguments ...any) {
	w.addf(true, w.key+": "+w.at(path)+" "+format, arguments...)
}

// at names a place. Members of a request body are arguments, those of a response results.
func (w *walker) at(path string) string {
	switch {
	case path == "":
		return w.what
	case w.what == "the body":
		return "the argument " + path
	}
	return w.what + "'s " + path
}

func (w *walker) compare(path string, before, after *reflectapi.Schema) {
	old, oldNull := resolve(w.before, before)
	now, nowNull := resolve(w.after, after)
	if w.seen[step{old, now}] {
		return
	}
	w.seen[step{old, now}] = true
	w.nullable(path, oldNull, nowNull)
	if !w.types(path, old, now) {
		return
	}
	w.enum(path, old, now)
	if w.direction == arguments {
		w.bounds(path, old, now)
	}
	w.choices(path, old, now)
	w.properties(path, old, now)
	w.inner(path+"[]", old.Items, now.Items)
	w.inner(path+"{}", old.AdditionalProperties, now.AdditionalProperties)
}

// inner compares the schemas of a container's elements. A missing one stands for any value.
func (w *walker) inner(path string, before, after *reflectapi.Schema) {
	if before == nil && after == nil {
		return
	}
	if before == nil {
		before = &reflectapi.Schema{Nullable: true}
	}
	if after == nil {
		after = &reflectapi.Schema{Nullable: true}
	}
	w.compare(path, before, after)
}

// resolve follows references, and schemas that only annotate another.
func resolve(d *openapi.Document, s *reflectapi.Schema) (resolved *reflectapi.Schema, null bool) {
	for range len(d.Components.Schemas) + 1 {
		null = null || s.Nullable
		alone := len(s.AllOf) == 1 && s.Type == "" && len(s.Enum) == 0
		switch {
		case s.Ref != "":
			next := d.Components.Schemas[strings.TrimPrefix(s.Ref, "#/components/schemas/")]
			if next == nil {
				return &reflectapi.Schema{Nullable: true}, true
			}
			s = next
		case alone:
			s = s.AllOf[0]
		default:
			return s, null
		}
	}
	return s, null
}

func (w *walker) nullable(path string, before, after bool) {
	switch {
	case w.direction == arguments && before && !after:
		w.sayf(path, "may no longer be null: callers that send null get 422")
	case w.direction == answers && !before && after:
		w.sayf(path, "may now be null: callers that read it have to expect that")
	}
}

// types compares the types of values, and says whether to look further.
func (w *walker) types(path string, old, now *reflectapi.Schema) bool {
	before, after := typeOf(old), typeOf(now)
	if before == after {
		return true
	}
	from, to := before, after
	if w.direction == answers {
		from, to = after, before
	}
	if accepts(to, from) {
		w.addf(false, "%s: %s is now %s, was %s", w.key, w.at(path), after, before)
		return true
	}
	if w.direction == arguments {
		w.sayf(path, "is now %s, was %s: callers that send the old type get 400 or 422", after, before)
	} else {
		w.sayf(path, "is now %s, was %s: callers that read the old type fail", after, before)
	}
	return false
}

// typeOf names the type of a value.
func typeOf(s *reflectapi.Schema) string {
	name := s.Type
	if name == "" {
		return "any value"
	}
	if s.Format != "" {
		name += " (" + s.Format + ")"
	}
	return name
}

// accepts says whether every value of the narrow type is one of the wide type.
func accepts(wide, narrow string) bool {
	base := func(s string) string { name, _, _ := strings.Cut(s, " ("); return name }
	switch {
	case wide == "any value" || wide == narrow:
		return true
	case base(wide) == "number":
		return base(narrow) == "integer" || base(narrow) == "number" && wide != "number (float)"
	case base(wide) == "integer":
		return base(narrow) == "integer" && wide != "integer (int32)" && (wide == "integer" || narrow != "integer")
	}
	return wide == base(wide) && base(narrow) == wide // only the format is gone
}

func (w *walker) enum(path string, old, now *reflectapi.Schema) {
	missing := func(from, in []any) []any {
		return slices.DeleteFunc(slices.Clone(from), func(v any) bool {
			return slices.ContainsFunc(in, func(other any) bool { return same(v, other) })
		})
	}
	switch {
	case w.direction == arguments && len(now.Enum) > 0 && len(old.Enum) == 0:
		w.sayf(path, "now accepts only %s: callers that send anything else get 422", list(now.Enum))
	case w.direction == arguments && len(now.Enum) > 0 && len(missing(old.Enum, now.Enum)) > 0:
		w.sayf(path, "no longer accepts %s: callers that send it get 422", list(missing(old.Enum, now.Enum)))
	case w.direction == answers && len(old.Enum) > 0 && len(now.Enum) == 0:
		w.sayf(path, "may now be anything, was one of %s: callers that read it have to expect that", list(old.Enum))
	case w.direction == answers && len(old.Enum) > 0 && len(missing(now.Enum, old.Enum)) > 0:
		w.sayf(path, "may now also be %s: callers that read it have to expect that", list(missing(now.Enum, old.Enum)))
	}
}

// choices compares schemas defined by other schemas. It does not look inside them.
func (w *walker) choices(path string, old, now *reflectapi.Schema) {
	pick := func(s *reflectapi.Schema) any { return []any{s.AllOf, s.AnyOf, s.OneOf, s.Not} }
	if !same(pick(old), pick(now)) {
		w.sayf(path, "has different alternatives (allOf, anyOf, oneOf, not): callers that rely on the old ones may fail")
	}
}

func (w *walker) properties(path string, old, now *reflectapi.Schema) {
	inside := func(name string) string { return strings.TrimPrefix(path+"."+name, ".") }
	for _, name := range slices.Sorted(maps.Keys(old.Properties)) {
		after := now.Properties[name]
		switch {
		case after == nil && w.direction == arguments:
			w.sayf(inside(name), "is no longer read: what callers send is ignored")
			continue
		case after == nil:
			w.sayf(inside(name), "is gone: callers that read it find nothing")
			continue
		case w.direction == answers && slices.Contains(old.Required, name) && !slices.Contains(now.Required, name):
			w.sayf(inside(name), "may now be missing: callers that read it have to expect that")
		}
		w.compare(inside(name), old.Properties[name], after)
	}
	for _, name := range slices.Sorted(maps.Keys(now.Properties)) {
		asked := slices.Contains(now.Required, name) && !slices.Contains(old.Required, name)
		switch {
		case asked && w.direction == arguments:
			w.sayf(inside(name), "is now required: callers that omit it get 422")
		case old.Properties[name] == nil:
			w.addf(false, "%s: %s is new", w.key, w.at(inside(name)))
		}
	}
}

// same reports whether two schemas have the same JSON.
func same(a, b any) bool { return text(a) == text(b) }

func text(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(data)
}

func list(values []any) string {
	texts := make([]string, len(values))
	for i, value := range values {
		texts[i] = text(value)
	}
	return strings.Join(texts, ", ")
}
