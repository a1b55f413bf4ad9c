package compare

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/busline/busline/reflectapi/schema"
	"github.com/busline/busline/restmap/openapi"
)

// direction says who sends and who reads what a schema describes.
type direction int

const (
	arguments direction = iota // callers send what they have always sent, and it is checked
	answers                    // callers read what is sent now, and do not check it
	fired                      // subscribers read what is fired now, and check it as they have always done
	stored                     // subscribers read what was stored before, and check it as they do now
)

// narrows reports whether what is new must take all that is old. Else it is the other way round.
func (d direction) narrows() bool { return d == arguments || d == stored }

// effects say what becomes of those who know only one of two versions.
type effects struct {
	null    string // where null is not expected
	kind    string // where another type is expected
	others  string // where only some values are expected
	it      string // where one value is not expected
	missing string // where a value is expected
	gone    string // where it is never read, or never sent
}

func (d direction) effects() effects {
	const expect = "callers that read it have to expect that"
	switch d {
	case arguments:
		return effects{
			null: "null counts as missing, for which callers may get 422", kind: "callers that send the old type get 400 or 422",
			others: "callers that send anything else get 422", it: "callers that send it get 422",
			missing: "callers that omit it get 422", gone: "what callers send is ignored",
		}
	case answers:
		return effects{
			null: expect, kind: "callers that read the old type fail", others: expect, it: expect,
			missing: expect, gone: "callers that read it find nothing",
		}
	case fired:
		return effects{
			null: "old subscribers read zero, or refuse it", kind: "old subscribers refuse it",
			others: "old subscribers refuse anything else", it: "old subscribers refuse it",
			missing: "old subscribers refuse events without it", gone: "old subscribers find nothing",
		}
	default:
		return effects{
			null:    "new subscribers read zero in stored events with null, or refuse them",
			kind:    "new subscribers refuse stored events with the old type",
			others:  "new subscribers refuse stored events with anything else",
			it:      "new subscribers refuse stored events with it",
			missing: "new subscribers refuse stored events without it", gone: "new subscribers ignore it in stored events",
		}
	}
}

// step is one pair of schemas on the path, which ends the recursion for schemas that contain themselves.
type step struct{ before, after *schema.Schema }

// walk compares two schemas and all schemas in them.
func (c *comparison) walk(d direction, key, what string, before, after *schema.Schema) {
	c.walker(d, key, what, before, after).compare("", before, after)
}

func (c *comparison) walker(d direction, key, what string, before, after *schema.Schema) *walker {
	w := &walker{comparison: c, direction: d, effects: d.effects(), key: key, what: what, seen: make(map[step]bool),
		any: &schema.Schema{}}
	w.written = (d == fired || d == stored) && before.Ref == after.Ref && strings.HasSuffix(after.Ref, "/"+key+"_in")
	return w
}

// walker compares the schemas of one argument or result.
type walker struct {
	*comparison

	direction direction
	effects   effects
	key, what string
	// the only one for any value, so that a comparison with it ends where the other side contains itself
	any     *schema.Schema
	text    bool // values are written as text, in a path or a query: 5 is also the text 5
	written bool // the members of the whole are the arguments of an event, all of which a source writes
	seen    map[step]bool
}

// sayf adds a breaking change, at a path inside the argument or the result.
func (w *walker) sayf(path, effect, format string, arguments ...any) {
	w.addf(true, "%s: %s %s: %s", w.key, w.at(path), fmt.Sprintf(format, arguments...), effect)
}

// at names a place. Members of a request body are arguments, those of a response results.
func (w *walker) at(path string) string {
	switch {
	case path == "" || strings.ContainsAny(path[:1], "[{ "): // the whole, an element or an alternative of it
		return w.what + path
	case w.what == "the body":
		return "the argument " + path
	case w.direction == arguments: // one in a path or a query
		return w.what + "." + path
	}
	return w.what + "'s " + path
}

func (w *walker) compare(path string, before, after *schema.Schema) {
	old, oldNull := resolve(w.before, before)
	now, nowNull := resolve(w.after, after)
	w.nullable(path, oldNull, nowNull)
	if w.seen[step{old, now}] {
		return
	}
	w.seen[step{old, now}] = true
	if !w.types(path, old, now) {
		return
	}
	w.enum(path, old, now)
	switch {
	case w.direction.narrows():
		w.bounds(path, "now requires", old, now)
	case w.direction == fired:
		w.bounds(path, "no longer requires", now, old)
	default:
		w.width(path, old, now)
	}
	w.alternatives(path, old, now)
	w.properties(path, old, now)
	w.inner(path+"[]", old.Items, now.Items)
	w.others(path+"{}", old, now)
}

// others compares the members that schemas do not name: those of a map. A struct has none, and ignores what it is sent.
func (w *walker) others(path string, old, now *schema.Schema) {
	before, after := old.AdditionalProperties, now.AdditionalProperties
	switch {
	case before == nil || after != nil || before.Not != nil || now.Type != "object":
		w.inner(path, before, after)
	case w.direction == arguments:
		w.sayf(path, w.effects.gone, "is no longer read")
	case w.direction != stored: // then it was said of what is fired
		w.sayf(path, w.effects.gone, "is gone")
	}
}

// inner compares the schemas of a container's elements. A missing one stands for any value.
func (w *walker) inner(path string, before, after *schema.Schema) {
	if before == nil && after == nil {
		return
	}
	w.compare(path, cmp.Or(before, w.any), cmp.Or(after, w.any))
}

// resolve follows references, and schemas that only annotate another.
func resolve(d *openapi.Document, s *schema.Schema) (resolved *schema.Schema, null bool) {
	null = s.AllowsNull(d.Components.Schemas)
	for range len(d.Components.Schemas) + 1 {
		switch {
		case s.Ref != "":
			next := d.Components.Schemas[strings.TrimPrefix(s.Ref, "#/components/schemas/")]
			if next == nil {
				return &schema.Schema{}, true
			}
			s = next
		case s.Wrapped() != nil:
			s = s.Wrapped()
		default:
			return s, null
		}
	}
	return s, null
}

func (w *walker) nullable(path string, before, after bool) {
	switch {
	case w.direction.narrows() && before && !after:
		w.sayf(path, w.effects.null, "may no longer be null")
	case !w.direction.narrows() && !before && after:
		w.sayf(path, w.effects.null, "may now be null")
	}
}

// types compares the types of values, and reports whether to look further.
func (w *walker) types(path string, old, now *schema.Schema) bool {
	before, after := typeOf(old), typeOf(now)
	if before == after {
		return true
	}
	from, to, narrow := before, after, old
	if !w.direction.narrows() {
		from, to, narrow = after, before, now
	}
	if accepts(to, from) || to == "integer (int32)" && fitsInt32(narrow) || w.text && to == "string" && isScalar(from) {
		if w.direction != stored { // then it was said of what is fired
			w.addf(false, "%s: %s is now %s, was %s", w.key, w.at(path), after, before)
		}
		return true
	}
	effect := w.effects.kind
	if from == base64 && to == "string" {
		effect = "base64 is taken for the text"
	}
	w.sayf(path, effect, "is now %s, was %s", after, before)
	return false
}

// Names of types: of none in particular, and of bytes, whose text is another one than theirs.
const (
	anyValue = "any value"
	base64   = "string (byte)"
)

// typeOf names the type of a value.
func typeOf(s *schema.Schema) string {
	name := s.Type
	if name == "" {
		return anyValue
	}
	if s.Format != "" {
		name += " (" + s.Format + ")"
	}
	return name
}

// accepts reports whether every value of the narrow type is one of the wide type.
func accepts(wide, narrow string) bool {
	switch {
	case wide == anyValue || wide == narrow:
		return true
	case base(wide) == "number":
		return base(narrow) == "integer" || base(narrow) == "number" && wide != "number (float)"
	case base(wide) == "integer":
		return base(narrow) == "integer" && wide != "integer (int32)" &&
			(wide != "integer (int64)" || narrow == "integer (int32)")
	}
	return wide == base(wide) && base(narrow) == wide && narrow != base64 // only the format is gone
}

// fitsInt32 reports whether the limits of an integer, such as those of a uint8, are within an int32.
func fitsInt32(s *schema.Schema) bool {
	return s.Type == "integer" && s.Minimum != "" && order(s.Minimum, "-2147483648") >= 0 && s.Maximum != "" &&
		order(s.Maximum, "2147483647") <= 0
}

// isScalar reports whether a type is written as text without quotes, where there is no JSON.
func isScalar(name string) bool {
	return slices.Contains([]string{"number", "integer", "boolean"}, base(name))
}

// base returns the name of a type without its format.
func base(name string) string {
	name, _, _ = strings.Cut(name, " (")
	return name
}

func (w *walker) enum(path string, old, now *schema.Schema) {
	missing := func(from, in []any) []any {
		return slices.DeleteFunc(slices.Clone(from), func(v any) bool {
			return v == nil || slices.ContainsFunc(in, func(other any) bool { return same(v, other) })
		})
	}
	narrows := w.direction.narrows()
	switch {
	case narrows && len(now.Enum) > 0 && len(old.Enum) == 0:
		w.sayf(path, w.effects.others, "now accepts only %s", list(now.Enum))
	case narrows && len(now.Enum) > 0 && len(missing(old.Enum, now.Enum)) > 0:
		w.sayf(path, w.effects.it, "no longer accepts %s", list(missing(old.Enum, now.Enum)))
	case !narrows && len(old.Enum) > 0 && len(now.Enum) == 0:
		w.sayf(path, w.effects.others, "may now be anything, was one of %s", list(old.Enum))
	case !narrows && len(old.Enum) > 0 && len(missing(now.Enum, old.Enum)) > 0:
		w.sayf(path, w.effects.it, "may now also be %s", list(missing(now.Enum, old.Enum)))
	}
}

func (w *walker) properties(path string, old, now *schema.Schema) {
	inside := func(name string) string { return strings.TrimPrefix(path+"."+name, ".") }
	always := w.written && path == ""
	for _, name := range slices.Sorted(maps.Keys(old.Properties)) {
		after := now.Properties[name]
		if after == nil && w.direction == arguments {
			after = w.unnamed(now)
		}
		asked := slices.Contains(old.Required, name)
		spared := asked && !slices.Contains(now.Required, name)
		switch {
		case after == nil && w.direction == arguments:
			w.sayf(inside(name), w.effects.gone, "is no longer read")
		case after == nil && w.direction == stored: // said of what is fired
		case after == nil && w.direction == fired && asked:
			w.sayf(inside(name), w.effects.missing, "is gone")
		case after == nil:
			w.sayf(inside(name), w.effects.gone, "is gone")
		case spared && w.direction == answers:
			w.sayf(inside(name), w.effects.missing, "may now be missing")
		case spared && w.direction == fired && !always:
			w.sayf(inside(name), w.effects.missing, "no longer has to be given")
		}
		if after != nil {
			w.compare(inside(name), old.Properties[name], after)
		}
	}
	every := w.unnamed(old)
	for _, name := range slices.Sorted(maps.Keys(now.Properties)) {
		asked := slices.Contains(now.Required, name) && !slices.Contains(old.Required, name)
		switch {
		case asked && w.direction == stored && always && old.Properties[name] != nil:
		case asked && w.direction.narrows():
			w.sayf(inside(name), w.effects.missing, "is now required")
		case old.Properties[name] == nil && every != nil && w.direction.narrows():
			w.compare(inside(name), every, now.Properties[name])
		case old.Properties[name] == nil:
			w.addf(false, "%s: %s is new", w.key, w.at(inside(name)))
		}
	}
}

// unnamed returns the schema of each member that a schema reads without naming it, nil if it reads no such member.
func (w *walker) unnamed(s *schema.Schema) *schema.Schema {
	if typeOf(s) == anyValue {
		return w.any
	}
	return s.AdditionalProperties
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
