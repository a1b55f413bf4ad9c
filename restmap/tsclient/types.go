package tsclient

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/busline/busline/reflectapi/schema"
	"github.com/busline/busline/restmap/openapi"
)

const componentPrefix = "#/components/schemas/"

// The expressions for what has no members.
const (
	anyValue  = "unknown"
	noValue   = "never"
	nullValue = "null"
)

// namedType is an exported type.
type namedType struct {
	of           *service
	name, source string
}

// name returns the name of a type, which it adds on first use. Its members are those of arguments if input is true. A
// component has one type for both.
func (g *generator) name(s *service, wanted, component string, described *schema.Schema, doc string,
	input bool) string {
	id := component
	if component == "" {
		id = " " + wanted // no component has a blank
		for g.types[id] != nil {
			id += " "
		}
	}
	if known := g.types[id]; known != nil {
		return known.name
	}
	added := &namedType{of: s, name: g.taken.claim(wanted)}
	g.types[id] = added // it may refer to itself
	if doc == "" {
		doc = described.Description
	}
	added.source = g.declaration(s, added.name, described, doc, input)
	return added.name
}

// declaration returns the source of a type.
func (g *generator) declaration(s *service, name string, described *schema.Schema, doc string, input bool) string {
	head := comment("", append([]string{doc}, deprecatedTag(described)...)...)
	switch {
	case len(described.Enum) > 0:
		return g.enumeration(name, described, head)
	case isInterface(described):
		return head + "export interface " + name + " " + g.members(s, name, described, "", input) + "\n"
	default:
		return head + "export type " + name + " = " + g.owned(s, name, described, "", input) + ";\n"
	}
}

// deprecatedTag returns the tag of what is deprecated, unless its description says so.
func deprecatedTag(described *schema.Schema) []string {
	if described.Deprecated && !strings.Contains(described.Description, deprecation) {
		return []string{"@deprecated"}
	}
	return nil
}

// isInterface reports whether a schema says only which members an object has.
func isInterface(s *schema.Schema) bool {
	return s.Type == "object" && len(s.Properties) > 0 && !s.Nullable && isClosed(s.AdditionalProperties) &&
		len(s.AllOf)+len(s.AnyOf)+len(s.OneOf) == 0
}

// isClosed reports whether there are no members but those described, or nothing is said of others.
func isClosed(others *schema.Schema) bool { return others == nil || others.Not != nil }

// expression returns the type of a value that a service returns.
func (g *generator) expression(s *service, described *schema.Schema, indent string) string {
	return g.owned(s, "", described, indent, false)
}

// owned returns the type of a part of a type with a name, the owner, below which its enumerations get theirs.
func (g *generator) owned(s *service, owner string, described *schema.Schema, indent string, input bool) string {
	if described == nil {
		return anyValue
	}
	if described.Ref != "" {
		return g.component(s, strings.TrimPrefix(described.Ref, componentPrefix))
	}
	expression := g.notNull(s, owner, described, indent, input)
	if described.Nullable && described.Type != "" && expression != nullValue && !slices.Contains(described.Enum, nil) &&
		expression != anyValue {
		return expression + " | " + nullValue
	}
	return expression
}

// component returns the name of a component's type.
func (g *generator) component(s *service, component string) string {
	described := g.components[component]
	if described == nil {
		return anyValue
	}
	own := upperCamel(s.withoutPrefix(component))
	if rest, stutters := strings.CutPrefix(own, s.typeName); !stutters || rest == "" {
		own = s.typeName + own
	}
	return g.name(s, own, component, described, "", g.inputs[component])
}

func (g *generator) notNull(s *service, owner string, d *schema.Schema, indent string, input bool) string {
	each := func(all []*schema.Schema, operator string) string {
		var expressions []string
		for _, one := range all {
			expression := g.owned(s, owner, one, indent, input)
			if operator == " & " && strings.Contains(expression, " | ") {
				expression = "(" + expression + ")"
			}
			if !slices.Contains(expressions, expression) {
				expressions = append(expressions, expression)
			}
		}
		if operator == " & " && len(expressions) > 1 { // it says nothing beside others
			expressions = slices.DeleteFunc(expressions, func(one string) bool { return one == anyValue })
		}
		return strings.Join(expressions, operator)
	}
	switch {
	case d.Format == openapi.RawBody:
		return "RequestInit['body']"
	case len(d.Enum) > 0:
		if owner != "" && len(d.EnumNames) == len(d.Enum) {
			return g.name(s, owner, "", &schema.Schema{Type: d.Type, Format: d.Format, Enum: d.Enum, EnumNames: d.EnumNames,
				EnumDescriptions: d.EnumDescriptions}, d.Description, input)
		}
		return g.literals(d)
	case len(d.OneOf) > 0:
		return g.union(s, owner, d, indent, input)
	case len(d.AnyOf) > 0:
		return each(d.AnyOf, " | ")
	case len(d.AllOf) > 0:
		all := d.AllOf
		if len(d.Properties) > 0 {
			all = append(slices.Clone(all), &schema.Schema{Type: "object", Properties: d.Properties, Required: d.Required})
		}
		return each(all, " & ")
	case d.Not != nil && isAnything(d.Not):
		return noValue
	}
	switch d.Type {
	case "string":
		return "string"
	case "boolean":
		return "boolean"
	case "integer", "number":
		if isInt64(d) {
			return string(g.int64)
		}
		return "number"
	case "array":
		element := g.owned(s, owner, d.Items, indent, input)
		if strings.ContainsAny(element, "|&") {
			element = "(" + element + ")"
		}
		return element + "[]"
	case "object":
		return g.object(s, owner, d, indent, input)
	}
	if len(d.Properties) > 0 {
		return g.object(s, owner, d, indent, input)
	}
	return anyValue
}

// isAnything reports whether a schema says nothing.
func isAnything(d *schema.Schema) bool {
	return isFree(d) && d.Not == nil
}

// isInt64 reports whether a number is an integer of 64 bits, or of any size.
func isInt64(d *schema.Schema) bool {
	return d.Type == "integer" && d.Format != "int32"
}

// object returns the type of an object that has no name.
func (g *generator) object(s *service, owner string, d *schema.Schema, indent string, input bool) string {
	var parts []string
	if len(d.Properties) > 0 {
		parts = append(parts, g.members(s, owner, d, indent, input))
	}
	switch {
	case !isClosed(d.AdditionalProperties):
		parts = append(parts, "{[name: string]: "+g.owned(s, owner, d.AdditionalProperties, indent, input)+"}")
	case len(parts) == 0:
		parts = append(parts, "{[name: string]: unknown}")
	}
	return strings.Join(parts, " & ")
}

// members returns the members of an object, in braces. Callers may say undefined of what they leave out.
func (g *generator) members(s *service, owner string, d *schema.Schema, indent string, input bool) string {
	var out strings.Builder
	out.WriteString("{\n")
	inner := indent + "  "
	for _, name := range slices.Sorted(maps.Keys(d.Properties)) {
		member := d.Properties[name]
		ownerOf := owner
		if owner != "" {
			ownerOf = owner + upperCamel(name)
		}
		optional, undefined := "?", ""
		if slices.Contains(d.Required, name) {
			optional = ""
		} else if input {
			undefined = " | undefined"
		}
		out.WriteString(comment(inner, append([]string{describedBy(member)}, deprecatedTag(member)...)...))
		fmt.Fprintf(&out, "%s%s%s: %s%s;\n", inner, key(name), optional, g.owned(s, ownerOf, member, inner, input), undefined)
	}
	out.WriteString(indent + "}")
	return out.String()
}

// describedBy returns the description of a member, with that of the values of an enumeration without a name.
func describedBy(member *schema.Schema) string {
	if len(member.EnumDescriptions) == 0 || len(member.EnumNames) == len(member.Enum) {
		return member.Description
	}
	lines := []string{member.Description}
	for _, value := range member.Enum {
		if said := member.EnumDescriptions[fmt.Sprint(value)]; said != "" {
			lines = append(lines, fmt.Sprintf("- %v: %s", value, strings.ReplaceAll(said, "\n", " ")))
		}
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// enumeration returns a union of literals and, if the values have names, an object with these.
func (g *generator) enumeration(name string, d *schema.Schema, head string) string {
	source := head + "export type " + name + " = " + g.literals(d)
	if d.Nullable && !slices.Contains(d.Enum, nil) {
		source += " | " + nullValue
	}
	source += ";\n"
	if len(d.EnumNames) != len(d.Enum) {
		return source
	}
	var out strings.Builder
	out.WriteString(source + "export const " + name + " = {\n")
	for i, value := range d.Enum {
		out.WriteString(comment("  ", d.EnumDescriptions[fmt.Sprint(value)]))
		fmt.Fprintf(&out, "  %s: %s,\n", literalKey(d.EnumNames[i]), g.literal(d, value))
	}
	return out.String() + "} as const;\n"
}

// literals returns the values of an enumeration as a union.
func (g *generator) literals(d *schema.Schema) string {
	var literals []string
	for _, value := range d.Enum {
		if literal := g.literal(d, value); !slices.Contains(literals, literal) {
			literals = append(literals, literal)
		}
	}
	return strings.Join(literals, " | ")
}

// literal returns a value of an enumeration. An object, a list, and an integer that a number would round have none.
func (g *generator) literal(d *schema.Schema, value any) string {
	if text, isText := value.(string); isText {
		return quote(text)
	}
	encoded, err := json.Marshal(value)
	text := string(encoded)
	switch {
	case err != nil || strings.ContainsAny(text, "[{"):
		return anyValue
	case isInt64(d) && g.int64 == BigInt && value != nil:
		return text + "n"
	case isInt64(d) && g.int64 == Text && value != nil:
		return quote(text)
	case isInt64(d) && value != nil && len(strings.TrimPrefix(text, "-")) > maxExactDigits:
		return string(Number)
	default:
		return text
	}
}

// maxExactDigits is how many digits an integer may have that a number surely has exactly.
const maxExactDigits = 15

// union returns the type of an object that is one of several. Each has a literal that says which.
func (g *generator) union(s *service, owner string, d *schema.Schema, indent string, input bool) string {
	var variants []string
	for _, one := range d.OneOf {
		variant := g.owned(s, owner, one, indent, input)
		if by := d.Discriminator; by != nil && one.Ref != "" && g.constant(one, by.PropertyName) == "" {
			for _, value := range slices.Sorted(maps.Keys(by.Mapping)) {
				if by.Mapping[value] == one.Ref {
					variant = "(" + variant + " & {" + key(by.PropertyName) + ": " + quote(value) + "})"
					break
				}
			}
		}
		if !slices.Contains(variants, variant) {
			variants = append(variants, variant)
		}
	}
	return strings.Join(variants, " | ")
}

// constant returns the only value of a member of a component, "" if it is not a text, or has other values.
func (g *generator) constant(variant *schema.Schema, member string) string {
	object := g.components[strings.TrimPrefix(variant.Ref, componentPrefix)]
	if object == nil || object.Properties[member] == nil || len(object.Properties[member].Enum) != 1 {
		return ""
	}
	value, _ := object.Properties[member].Enum[0].(string)
	return value
}
