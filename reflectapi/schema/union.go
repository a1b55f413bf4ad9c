package schema

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/busline/busline/reflectapi/strictjson"
)

// unionProblem says why JSON cannot represent the values of a union, in words that follow its name; "" if it can.
func unionProblem(u *strictjson.Union) string {
	names, types := map[string]bool{}, map[reflect.Type]string{}
	switch {
	case u.Type.Kind() != reflect.Interface:
		return "is registered as a union, and is no interface: declare an interface that its variants implement"
	case u.Type.PkgPath() == "":
		return "is registered as a union, and is not a type of its own: declare an interface with a name"
	case u.Discriminator == "":
		return "is a union without a discriminator: name the member that tells its variants apart"
	case u.Discriminator == "-" || strings.ContainsAny(u.Discriminator, ",\\'\"`") || !utf8.ValidString(u.Discriminator):
		return fmt.Sprintf("is a union with the discriminator %q, which no json tag can name: use letters, digits and - _ . @",
			u.Discriminator)
	case len(u.Variants) == 0:
		return "is a union without variants: name at least one"
	}
	for i := range u.Variants {
		variant := &u.Variants[i]
		t := variant.Struct()
		problem := variantProblem(u, variant)
		switch {
		case problem != "":
		case names[variant.Name]:
			problem = "is there twice: give each its own name"
		case types[t] != "":
			problem = fmt.Sprintf("is of the type of %s, %v, so that they cannot be told apart: declare a type for each",
				types[t], t)
		}
		if problem != "" {
			return fmt.Sprintf("is a union of which the variant %s %s", variant.Name, problem)
		}
		names[variant.Name], types[t] = true, variant.Name
	}
	if !ends(u.Type, nil) {
		return "is a union of which each variant needs another one, so that no value ever ends: let a variant do without, " +
			"with the json option omitzero, a list or a pointer"
	}
	return ""
}

// variantProblem says why a type cannot be a variant, in words that follow its name; "" if it can.
func variantProblem(u *strictjson.Union, variant *strictjson.Variant) string {
	t := variant.Struct()
	switch {
	case t == nil:
		return "has no value: give the zero value of its type"
	case variant.Name == "":
		return fmt.Sprintf("of type %v has no name: give it one", t)
	case t.Kind() != reflect.Struct:
		return fmt.Sprintf("is of type %v, which is no struct: use a struct that has it as a field", variant.Type)
	case WritesJSON(t) || WritesText(t) || readsItself(t) || replacesSchema(t):
		return fmt.Sprintf("is of type %v, whose JSON is that of its own method: use a struct that has it as a field", t)
	}
	for _, f := range jsonFields(t) {
		switch {
		case f.Name == u.Discriminator && (f.Type.Kind() != reflect.String || WritesJSON(f.Type) || WritesText(f.Type)):
			return fmt.Sprintf("has a member %s of type %v, which cannot be the discriminator: make it a string, "+
				"or name the discriminator otherwise", f.Name, f.Type)
		case f.Name != u.Discriminator && strings.EqualFold(f.Name, u.Discriminator):
			return fmt.Sprintf("has a member %s, which differs from the discriminator %s only in case: write both alike",
				f.Name, u.Discriminator)
		}
	}
	return ""
}

// ends reports whether a type has values that end: a struct whose unions have, and a union of which one variant is
// such a struct. within are the unions in which the type is.
func ends(t reflect.Type, within []reflect.Type) bool {
	union := strictjson.UnionOf(t)
	switch {
	case union != nil && slices.Contains(within, t):
		return false
	case union != nil:
		within = append(slices.Clone(within), t)
		return slices.ContainsFunc(union.Structs(), func(t reflect.Type) bool { return ends(t, within) })
	case t.Kind() != reflect.Struct:
		return true
	}
	return !slices.ContainsFunc(jsonFields(t), func(f jsonField) bool {
		return !f.omitted && !f.behindPointer(t) && !ends(f.Type, within)
	})
}

// unionTagProblem says why a keyword has no effect on a union; "" if it has one.
func unionTagProblem(key string, union reflect.Type) string {
	switch key {
	case "required", "title", "description", "readOnly":
		return ""
	case "nullable":
		return fmt.Sprintf("null is none of the variants: make the field a pointer, *%v, or leave it out with the json option "+
			"omitzero", union)
	}
	return fmt.Sprintf("has no effect on a union; use one of required, title, description, readOnly, or declare it in the "+
		"variants of %v", union)
}

// union returns a reference to the component of a union, and adds that and those of the variants once.
func (c *converter) union(u *strictjson.Union) *Schema {
	name := c.schemas.nameOf(u.Type)
	ref := &Schema{Ref: componentPrefix + name}
	if c.schemas.components[name] != nil {
		return ref
	}
	component := &Schema{Type: "object", Description: u.Doc,
		Discriminator: &Discriminator{PropertyName: u.Discriminator, Mapping: map[string]string{}}}
	c.schemas.components[name] = component
	for i := range u.Variants {
		variant := &u.Variants[i]
		to := &Schema{Ref: componentPrefix + c.schemas.variantName(u.Type, variant.Name)}
		component.OneOf = append(component.OneOf, to)
		component.Discriminator.Mapping[variant.Name] = to.Ref
		c.variant(u, variant)
	}
	return ref
}

// variant adds the component of a variant: that of its type, with the discriminator.
func (c *converter) variant(u *strictjson.Union, variant *strictjson.Variant) {
	path, name := c.path, c.schemas.variantName(u.Type, variant.Name)
	c.path = []string{name}
	defer func() { c.path = path }()
	t := variant.Struct()
	root := c.schemas.reflector().ReflectFromType(t)
	maps.Copy(c.definitions, root.Definitions)
	out := c.convert(c.definitions[c.schemas.nameOf(t)], t)
	if out.Properties == nil {
		out.Properties = map[string]*Schema{}
	}
	own := &Schema{Type: "string", Enum: []any{variant.Name}}
	if declared := out.Properties[u.Discriminator]; declared != nil {
		own.Description = declared.Description
	}
	out.Properties[u.Discriminator] = own
	out.Required = append([]string{u.Discriminator},
		slices.DeleteFunc(out.Required, func(name string) bool { return name == u.Discriminator })...)
	if variant.Doc != "" {
		out.Description = variant.Doc
	}
	c.members = slices.DeleteFunc(c.members,
		func(m structMember) bool { return m.object == out && m.field.Name == u.Discriminator })
	c.schemas.components[name] = out
}

// unionRule restricts the values of a union.
type unionRule struct {
	discriminator string
	named         map[string]*rule       // by the discriminator of decoded JSON
	held          map[reflect.Type]*rule // by the type of a Go value; a rule may be nil
}

func (r *unionRule) check(to *validation, v reflect.Value) {
	if r.held != nil {
		if variant := r.held[v.Type()]; variant != nil { // decoding lets no others through
			variant.check(to, v)
		}
		return
	}
	name, isGiven := "", false
	if v.Kind() == reflect.Map {
		name, isGiven = inText(v.MapIndex(reflect.ValueOf(r.discriminator)))
	}
	variant := r.named[name]
	switch {
	case variant != nil:
		variant.check(to, v)
		return
	case isGiven:
		to.enter(place{r.discriminator, -1})
		defer to.pop()
		to.fail("expects one of " + strings.Join(slices.Sorted(maps.Keys(r.named)), ", "))
	default:
		to.fail("has no " + r.discriminator + ", which is one of " + strings.Join(slices.Sorted(maps.Keys(r.named)), ", "))
	}
}

// inText returns the text of a member of decoded JSON; isGiven is false if there is no such member.
func inText(v reflect.Value) (text string, isGiven bool) {
	v, null := inside(v)
	if null {
		return "", false
	}
	if v.Kind() != reflect.String {
		return "", true
	}
	return v.String(), true
}
