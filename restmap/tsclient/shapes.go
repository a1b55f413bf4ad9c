package tsclient

import (
	"maps"
	"slices"
	"strings"

	"github.com/busline/busline/reflectapi/schema"
	"github.com/busline/busline/restmap/openapi"
)

// A shape says where a value has integers of 64 bits, and where it may be anything; json.ts reads it.
const (
	int64Shape = "INT64"
	anyShape   = "ANY"
)

// parts yields the schemas directly inside a schema, nil for none.
func parts(d *schema.Schema) []*schema.Schema {
	all := slices.Concat([]*schema.Schema{d.Items, d.AdditionalProperties}, d.AllOf, d.AnyOf, d.OneOf)
	for _, name := range slices.Sorted(maps.Keys(d.Properties)) {
		all = append(all, d.Properties[name])
	}
	return all
}

// isFree reports whether a schema allows values of any type.
func isFree(d *schema.Schema) bool {
	isEmpty := d.Type == "" && d.Ref == "" && len(d.Enum)+len(d.AllOf)+len(d.AnyOf)+len(d.OneOf)+len(d.Properties) == 0
	return isEmpty && d.Format != openapi.RawBody
}

// holdsAnything reports whether an object may have any members.
func holdsAnything(d *schema.Schema) bool {
	return d.Type == "object" && d.AdditionalProperties == nil &&
		len(d.AllOf)+len(d.AnyOf)+len(d.OneOf)+len(d.Properties) == 0
}

// shapedComponents returns the components that have a shape.
func shapedComponents(components map[string]*schema.Schema) map[string]bool {
	users := make(map[string][]string)
	shaped := make(map[string]bool)
	var queue []string
	mark := func(name string) {
		if !shaped[name] {
			shaped[name] = true
			queue = append(queue, name)
		}
	}
	var visit func(name string, d *schema.Schema)
	visit = func(name string, d *schema.Schema) {
		switch {
		case d == nil:
			return
		case d.Ref != "":
			of := strings.TrimPrefix(d.Ref, componentPrefix)
			users[of] = append(users[of], name)
			return
		case isInt64(d) || isFree(d) || holdsAnything(d):
			mark(name)
		}
		for _, part := range parts(d) {
			visit(name, part)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(components)) {
		visit(name, components[name])
	}
	for len(queue) > 0 {
		of := queue[0]
		queue = queue[1:]
		for _, user := range users[of] {
			mark(user)
		}
	}
	return shaped
}

// shape returns the shape of a value, "" for one without.
func (g *generator) shape(d *schema.Schema) string {
	switch {
	case d == nil || isFree(d) && d.Ref == "":
		return freeShape(d)
	case d.Ref != "":
		return g.componentShape(strings.TrimPrefix(d.Ref, componentPrefix))
	case isInt64(d):
		return int64Shape
	case holdsAnything(d):
		return "{others: " + anyShape + "}"
	case d.Type == "array":
		if items := g.shape(d.Items); items != "" {
			return "[" + items + "]"
		}
		return ""
	}
	return g.combinedShape(d)
}

// freeShape returns the shape of a value of any type.
func freeShape(d *schema.Schema) string {
	if d != nil && d.Not != nil && isAnything(d.Not) {
		return "" // there is none
	}
	return anyShape
}

func (g *generator) componentShape(component string) string {
	switch {
	case g.components[component] == nil:
		return anyShape
	case g.shaped[component]:
		g.used[component] = true
		return quote(component)
	default:
		return ""
	}
}

// combinedShape returns the shape of an object with members, or of a combination of schemas.
func (g *generator) combinedShape(d *schema.Schema) string {
	var own []string
	var members []string
	for _, name := range slices.Sorted(maps.Keys(d.Properties)) {
		if shape := g.shape(d.Properties[name]); shape != "" {
			members = append(members, literalKey(name)+": "+shape)
		}
	}
	if len(members) > 0 {
		own = append(own, "members: {"+strings.Join(members, ", ")+"}")
	}
	if others := d.AdditionalProperties; !isClosed(others) {
		if shape := g.shape(others); shape != "" {
			own = append(own, "others: "+shape)
		}
	}
	var all []string
	if len(own) > 0 {
		all = append(all, "{"+strings.Join(own, ", ")+"}")
	}
	all = append(all, g.partShapes(d.AllOf)...)
	all = append(all, g.partShapes(d.AnyOf)...)
	if choice := g.choiceShape(d); choice != "" {
		all = append(all, choice)
	} else {
		all = append(all, g.partShapes(d.OneOf)...)
	}
	return joinShapes(all)
}

// joinShapes returns the shape of a value that has all of several, "" for none.
func joinShapes(all []string) string {
	switch len(all) {
	case 0:
		return ""
	case 1:
		return all[0]
	default:
		return "{all: [" + strings.Join(all, ", ") + "]}"
	}
}

func (g *generator) partShapes(parts []*schema.Schema) (shapes []string) {
	for _, part := range parts {
		if shape := g.shape(part); shape != "" && !slices.Contains(shapes, shape) {
			shapes = append(shapes, shape)
		}
	}
	return shapes
}

// choiceShape returns the shape of an object that is one of several, as a member says; "" if none says it, or if none
// has a shape.
func (g *generator) choiceShape(d *schema.Schema) string {
	by := g.discriminator(d)
	if by == "" {
		return ""
	}
	var choices []string
	for _, variant := range d.OneOf {
		value := g.constant(variant, by)
		if value == "" {
			for _, mapped := range slices.Sorted(maps.Keys(d.Discriminator.Mapping)) {
				if d.Discriminator.Mapping[mapped] == variant.Ref {
					value = mapped
				}
			}
		}
		if shape := g.shape(variant); shape != "" && value != "" {
			choices = append(choices, literalKey(value)+": "+shape)
		}
	}
	if len(choices) == 0 {
		return ""
	}
	return "{by: " + quote(by) + ", of: {" + strings.Join(choices, ", ") + "}}"
}

// discriminator returns the member that says which of several an object is: that of the schema, or one that has another
// value in each; "" for none.
func (g *generator) discriminator(d *schema.Schema) string {
	if d.Discriminator != nil {
		return d.Discriminator.PropertyName
	}
	if len(d.OneOf) == 0 {
		return ""
	}
	first := g.components[strings.TrimPrefix(d.OneOf[0].Ref, componentPrefix)]
	if first == nil {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(first.Properties)) {
		values := make(map[string]bool)
		for _, variant := range d.OneOf {
			if value := g.constant(variant, name); value != "" {
				values[value] = true
			}
		}
		if len(values) == len(d.OneOf) {
			return name
		}
	}
	return ""
}

// shapeTable returns the shapes of the components that other shapes refer to, as an object.
func (g *generator) shapeTable() string {
	bodies := make(map[string]string)
	for before := -1; len(bodies) > before; { // each may refer to more
		before = len(bodies)
		for name := range maps.Clone(g.used) {
			bodies[name] = g.bodyShape(name)
		}
	}
	var out strings.Builder
	out.WriteString("{\n")
	for _, name := range slices.Sorted(maps.Keys(bodies)) {
		out.WriteString("  " + literalKey(name) + ": " + bodies[name] + ",\n")
	}
	out.WriteString("}")
	return out.String()
}

// bodyShape returns the shape of a component itself.
func (g *generator) bodyShape(name string) string {
	if shape := g.shape(g.components[name]); shape != "" {
		return shape
	}
	return "{}"
}

// inputComponents returns the components that arguments have in them.
func (g *generator) inputComponents(api *openapi.Document) map[string]bool {
	inputs := make(map[string]bool)
	var visit func(d *schema.Schema)
	visit = func(d *schema.Schema) {
		if d == nil {
			return
		}
		if name := strings.TrimPrefix(d.Ref, componentPrefix); d.Ref != "" && !inputs[name] {
			inputs[name] = true
			visit(g.components[name])
		}
		for _, part := range parts(d) {
			visit(part)
		}
	}
	for _, item := range api.Paths {
		for _, o := range item.Operations() {
			for _, p := range o.Parameters {
				visit(p.Schema)
			}
			if o.RequestBody == nil {
				continue
			}
			for _, media := range o.RequestBody.Content {
				visit(media.Schema)
			}
		}
	}
	return inputs
}
