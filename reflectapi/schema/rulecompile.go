package schema

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/busline/busline/reflectapi/strictjson"
)

// ruleKey identifies a component together with a Go type, nil for any.
type ruleKey struct {
	component string
	typ       reflect.Type
}

// compiler compiles schemas to rules.
type compiler struct {
	components map[string]*Schema
	rules      map[ruleKey]*rule // for components, which may contain themselves
	presence   bool              // a Go value is not enough: it matters whether a member was sent
	err        error
}

func newCompiler(components map[string]*Schema) *compiler {
	return &compiler{components: components, rules: map[ruleKey]*rule{}}
}

// generic compiles the rule for decoded JSON.
func (c *compiler) generic(s *Schema) *rule {
	if s == nil {
		return nil
	}
	if s.Ref != "" {
		return c.component(s.Ref, nil, c.generic)
	}
	r := &rule{typ: s.Type, nullable: s.AllowsNull(c.components), enum: s.Enum, text: c.text(s), number: numbers(s, nil)}
	if s.Discriminator != nil {
		r.union = c.genericUnion(s)
		return r
	}
	if s.Items != nil || s.MinItems != nil || s.MaxItems != nil || s.UniqueItems {
		r.list = &listRule{s.MinItems, s.MaxItems, s.UniqueItems, c.generic(s.Items)}
	}
	r.object = c.genericObject(s)
	r.allOf, r.anyOf, r.oneOf, r.not = c.all(s.AllOf), c.all(s.AnyOf), c.all(s.OneOf), c.generic(s.Not)
	return r
}

// genericUnion compiles the rule of a union for decoded JSON.
func (c *compiler) genericUnion(s *Schema) *unionRule {
	r := &unionRule{discriminator: s.Discriminator.PropertyName, named: map[string]*rule{}}
	for name, to := range s.Discriminator.Mapping {
		r.named[name] = c.component(to, nil, c.generic)
	}
	return r
}

// typedUnion compiles the rule of a union for the values that it holds.
func (c *compiler) typedUnion(u *strictjson.Union, s *Schema) *unionRule {
	r := &unionRule{discriminator: u.Discriminator, held: map[reflect.Type]*rule{}}
	for i := range u.Variants {
		t := u.Variants[i].Struct()
		r.held[t] = c.component(s.Discriminator.Mapping[u.Variants[i].Name], t,
			func(s *Schema) *rule { return c.typed(s, t) })
	}
	return r
}

func (c *compiler) genericObject(s *Schema) *objectRule {
	r := &objectRule{fewest: s.MinProperties, most: s.MaxProperties, required: s.Required,
		others: c.generic(s.AdditionalProperties),
		closed: len(s.Properties) > 0 && reflect.DeepEqual(s.AdditionalProperties, nothing())}
	for name, property := range s.Properties {
		if property.ReadOnly { // it is not an input
			r.required = slices.DeleteFunc(slices.Clone(r.required), func(required string) bool { return required == name })
			property = nil
		}
		if r.members == nil {
			r.members = map[string]*rule{}
		}
		r.members[name] = c.generic(property)
	}
	if reflect.DeepEqual(r, &objectRule{}) {
		return nil
	}
	return r
}

func (c *compiler) all(schemas []*Schema) (rules []*rule) {
	for _, each := range schemas {
		rules = append(rules, c.generic(each))
	}
	return rules
}

func (c *compiler) text(s *Schema) *textRule {
	r, err := texts(s)
	c.err = errors.Join(c.err, err)
	return r
}

// component compiles the rule of a component once. It is registered before it is complete, because its parts may refer
// to it.
func (c *compiler) component(ref string, t reflect.Type, compile func(*Schema) *rule) *rule {
	key := ruleKey{strings.TrimPrefix(ref, componentPrefix), t}
	if known, ok := c.rules[key]; ok {
		return known
	}
	r := new(rule)
	c.rules[key] = r
	if component := c.components[key.component]; component != nil {
		*r = *compile(component)
	}
	return r
}

// typed compiles the rule for values of a Go type, without what the type itself ensures. What a Go value does not show,
// but only its JSON, sets presence.
func (c *compiler) typed(s *Schema, t reflect.Type) *rule {
	for t.Kind() == reflect.Pointer {
		if strictjson.UnionOf(t.Elem()) != nil {
			return &rule{nullable: true, allOf: []*rule{c.typed(s, t.Elem())}}
		}
		t = t.Elem()
	}
	if inner := s.Wrapped(); inner != nil {
		return c.typed(inner, t)
	}
	if s.Ref != "" {
		return c.component(s.Ref, t, func(s *Schema) *rule { return c.typed(s, t) })
	}
	if union := strictjson.UnionOf(t); union != nil && s.Discriminator != nil {
		return &rule{union: c.typedUnion(union, s)}
	}
	r := &rule{nullable: true} // a nil pointer, if it can be one
	if !isPlain(s, t) {
		c.presence = c.presence || c.restricts(s, t, map[*Schema]bool{}) ||
			(describesItself(t) || isDescribed(t)) && readsAnything(t, map[reflect.Type]bool{}) &&
				c.saysType(s, map[*Schema]bool{})
		return r
	}
	r.enum = s.Enum
	switch t.Kind() {
	case reflect.String:
		r.text = c.text(s)
	case reflect.Slice, reflect.Array:
		r.list = &listRule{unique: s.UniqueItems, items: c.typed(s.Items, t.Elem())}
		c.presence = c.presence || s.UniqueItems && holdsStruct(t.Elem())
		if t.Kind() == reflect.Slice {
			r.list.shortest, r.list.longest = s.MinItems, s.MaxItems
		}
	case reflect.Map:
		r.object = &objectRule{fewest: s.MinProperties, most: s.MaxProperties}
		if s.AdditionalProperties != nil {
			r.object.others = c.typed(s.AdditionalProperties, t.Elem())
		}
	case reflect.Struct:
		r.object = c.typedStruct(s, t)
	default:
		r.number = numbers(s, t)
	}
	return r
}

// saysType reports whether a schema names a type, for the value or a part of it.
func (c *compiler) saysType(s *Schema, seen map[*Schema]bool) bool {
	if s == nil || seen[s] {
		return false
	}
	seen[s] = true
	if s.Ref != "" {
		return c.saysType(c.components[strings.TrimPrefix(s.Ref, componentPrefix)], seen)
	}
	return s.Type != "" || slices.ContainsFunc(s.parts(), func(part *Schema) bool { return c.saysType(part, seen) })
}

// parts returns the schemas that a value and its parts have to fit in any case.
func (s *Schema) parts() []*Schema {
	return slices.Concat(s.AllOf, []*Schema{s.Items, s.AdditionalProperties}, slices.Collect(maps.Values(s.Properties)))
}

// readsAnything reports whether a part of a type is read from JSON of any type: an interface, or what reads its JSON
// itself.
func readsAnything(t reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[t] || t == timeType() {
		return false
	}
	seen[t] = true
	switch {
	case strictjson.UnionOf(t) != nil:
		return slices.ContainsFunc(strictjson.UnionOf(t).Structs(),
			func(t reflect.Type) bool { return readsAnything(t, seen) })
	case t.Kind() == reflect.Interface || WritesJSON(t):
		return true
	case WritesText(t):
		return false
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return readsAnything(t.Elem(), seen)
	case reflect.Struct:
		return slices.ContainsFunc(jsonFields(t), func(f jsonField) bool { return readsAnything(f.Type, seen) })
	}
	return false
}

// holdsStruct reports whether a type contains structs, whose values may be equal although their JSON differs: a missing
// member is zero.
func holdsStruct(t reflect.Type) bool {
	for seen := map[reflect.Type]bool{}; !seen[t]; t = t.Elem() { // "type T []T" is legal Go
		seen[t] = true
		switch t.Kind() {
		case reflect.Struct:
			return true
		case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		default:
			return strictjson.UnionOf(t) != nil
		}
	}
	return false
}

// isPlain reports whether a schema says of a type just what jsonschema says of its kind, so that a Go value suffices
// for the check.
func isPlain(s *Schema, t reflect.Type) bool {
	if len(s.AllOf)+len(s.AnyOf)+len(s.OneOf) > 0 || s.Not != nil || describesItself(t) || isDescribed(t) ||
		WritesJSON(t) || WritesText(t) {
		return false
	}
	switch t.Kind() {
	case reflect.Bool:
		return s.Type == "boolean"
	case reflect.String:
		return s.Type == "string"
	case reflect.Slice, reflect.Array:
		return s.Type == "array" && s.Items != nil
	case reflect.Map:
		return s.Type == "object" && !WritesText(t.Key()) && s.Properties == nil
	case reflect.Struct:
		return s.Type == "object" && s.MinProperties == nil && s.MaxProperties == nil && s.AdditionalProperties == nil
	case reflect.Interface:
		return false
	}
	return s.Type == "integer" || s.Type == "number"
}

func (c *compiler) typedStruct(s *Schema, t reflect.Type) *objectRule {
	r := new(objectRule)
	for _, f := range jsonFields(t) {
		property := s.Properties[f.Name]
		if property == nil || property.ReadOnly {
			continue
		}
		if f.Quoted {
			c.presence = c.presence || c.restricts(property, f.Type, map[*Schema]bool{})
			continue
		}
		r.fields = append(r.fields, fieldRule{name: f.Name, index: f.index, rule: c.typed(property, f.Type)})
		good := c.generic(property).fitsZero(f.Type)
		asked := slices.Contains(s.Required, f.Name)
		if strictjson.UnionOf(f.Type) != nil && !asked { // nil is what is absent
			r.fields[len(r.fields)-1].optional, good = true, true
		}
		good = good || property.Default != nil // checkDefaults has found that it is applied
		if asked && good || !asked && !good && !f.behindPointer(t) {
			c.presence = true
		}
	}
	return r
}

// restricts reports whether a schema restricts values more than decoding into the type does: the type, and the format
// of numbers, do not count.
func (c *compiler) restricts(s *Schema, t reflect.Type, seen map[*Schema]bool) bool {
	if s == nil || seen[s] {
		return false
	}
	seen[s] = true
	if s.Ref != "" {
		return c.restricts(c.components[strings.TrimPrefix(s.Ref, componentPrefix)], t, seen)
	}
	own := isFormat(s.Format) && !isBuiltIn(t, s.Format)
	if own || s.Pattern != "" || s.MinLength != nil || s.MaxLength != nil || len(s.Enum) > 0 || numbers(s, nil) != nil ||
		s.MinItems != nil || s.MaxItems != nil || s.UniqueItems || len(s.Required) > 0 ||
		s.MinProperties != nil || s.MaxProperties != nil || len(s.AnyOf)+len(s.OneOf) > 0 || s.Not != nil {
		return true
	}
	return slices.ContainsFunc(s.parts(), func(part *Schema) bool { return c.restricts(part, nil, seen) })
}

// isBuiltIn reports whether a format follows from a Go type that is decoded accordingly.
func isBuiltIn(t reflect.Type, format string) bool {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil {
		return false
	}
	return format == "date-time" && t == timeType() || format == "byte" && t.Kind() == reflect.Slice &&
		t.Elem().Kind() == reflect.Uint8
}

// pruned removes from a rule for a Go type whatever restricts nothing, so that it is not visited, and returns nil if
// nothing is left. The rule has to be complete: for a type that contains itself, an incomplete rule does not yet show
// what it restricts.
func (r *rule) pruned() *rule {
	reached := r.reached(map[*rule]bool{})
	useful := usefulAmong(reached)
	keep := func(part *rule) *rule {
		if useful[part] {
			return part
		}
		return nil
	}
	for _, each := range reached {
		if each.list != nil {
			each.list.items = keep(each.list.items)
		}
		if each.union != nil {
			for t, variant := range each.union.held {
				each.union.held[t] = keep(variant)
			}
		}
		if o := each.object; o != nil {
			o.fields = slices.DeleteFunc(o.fields, func(f fieldRule) bool { return keep(f.rule) == nil })
			o.others = keep(o.others)
		}
	}
	return keep(r)
}

// reached returns a rule for a Go type and all rules in it, each once, inner ones first.
func (r *rule) reached(seen map[*rule]bool) (rules []*rule) {
	if r == nil || seen[r] {
		return nil
	}
	seen[r] = true
	for _, part := range r.parts() {
		rules = append(rules, part.reached(seen)...)
	}
	return append(rules, r)
}

// usefulAmong returns the rules that restrict something, or contain one that does.
func usefulAmong(rules []*rule) map[*rule]bool {
	useful := make(map[*rule]bool)
	for found := true; found; { // for recursive types one round does not find all
		found = false
		for _, each := range rules {
			isUseful := func(part *rule) bool { return useful[part] }
			if !useful[each] && (each.restricts() || slices.ContainsFunc(each.parts(), isUseful)) {
				useful[each], found = true, true
			}
		}
	}
	return useful
}

// parts returns the rules directly inside a rule for a Go type.
func (r *rule) parts() (parts []*rule) {
	parts = slices.Clone(r.allOf)
	if r.list != nil {
		parts = append(parts, r.list.items)
	}
	if r.union != nil {
		parts = slices.AppendSeq(parts, maps.Values(r.union.held))
	}
	if r.object != nil {
		parts = append(parts, r.object.others)
		for _, field := range r.object.fields {
			parts = append(parts, field.rule)
		}
	}
	return parts
}

// restricts reports whether a rule for a Go type restricts something by itself.
func (r *rule) restricts() bool {
	if r.enum != nil || r.text != nil || r.number != nil || r.union != nil {
		return true
	}
	if l := r.list; l != nil && (l.shortest != nil || l.longest != nil || l.unique) {
		return true
	}
	return r.object != nil && (r.object.fewest != nil || r.object.most != nil)
}
