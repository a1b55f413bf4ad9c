// Package schema turns Go types into OpenAPI 3.0.0 schemas, and holds values to them.
//
// [Schemas] collects the schemas of a document, [Constraints] are what they say in a form that checks values quickly.
// Both go by the JSON that the codec writes and reads, by jsonschema tags, and by the methods with which a type
// describes itself.
package schema

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/busline/busline/reflectapi/internal/gotype"
)

// componentPrefix is where an OpenAPI document has its named schemas.
const componentPrefix = "#/components/schemas/"

// Schemas collects the schemas of one document. Structs, slices, arrays and maps with a name become components,
// including recursive ones; two types of the same name get different components. Use it from one goroutine at a time.
type Schemas struct {
	results    bool // of results: what is always written is required
	names      map[reflect.Type]string
	types      map[string]reflect.Type // the inverse of names; nil for a reserved name
	components map[string]*Schema
	members    []structMember
	variants   map[variantKey]string // names of the components of unions' variants
}

// structMember is a field of a struct, with the schemas of both.
type structMember struct {
	owner  reflect.Type
	object *Schema
	field  jsonField
	schema *Schema
}

// NewSchemas returns an empty collection. Types do not become components of a reserved name: the caller adds those
// schemas itself.
func NewSchemas(reserved ...string) *Schemas {
	s := &Schemas{
		names:      map[reflect.Type]string{},
		types:      map[string]reflect.Type{},
		components: map[string]*Schema{},
		variants:   map[variantKey]string{},
	}
	for _, name := range reserved {
		s.types[name] = nil
	}
	return s
}

// Results returns an empty collection with the names of s, for types of results: a member that is always written is
// required there.
func (s *Schemas) Results() *Schemas {
	return &Schemas{results: true, names: s.names, types: s.types, components: map[string]*Schema{}, variants: s.variants}
}

// Of returns the schema of a type's JSON: a reference to a component if the type has a name, otherwise the schema
// itself. A member of a struct is required if its tag says so, or if its zero value, which it has when it is missing,
// would violate its own schema. A type that JSON cannot represent and an invalid jsonschema tag are errors that say
// where; the collection cannot be used after an error.
func (s *Schemas) Of(t reflect.Type) (schema *Schema, err error) {
	if t == nil {
		return nil, errors.New("the type is nil, so there is no schema")
	}
	if obstacle := Unencodable(t); obstacle != "" {
		return nil, fmt.Errorf("%v cannot be encoded as JSON: %s", t, obstacle)
	}
	if err := checkTags(t); err != nil {
		return nil, err
	}
	defer func() {
		if problem := recover(); problem != nil {
			err = fmt.Errorf("schema of %v: %v", t, problem)
		}
	}()
	root := s.reflector().ReflectFromType(t)
	c := &converter{schemas: s, definitions: root.Definitions}
	root.Version, root.Definitions = "", nil
	schema = c.convert(root, t)
	c.finish()
	if c.err != nil && isArguments(t) { // which have no name, and the error names the argument
		return nil, c.err
	}
	if c.err != nil {
		return nil, fmt.Errorf("schema of %v: %w", t, c.err)
	}
	return schema, nil
}

// Components returns the named schemas collected so far, by name. The map belongs to the collection.
func (s *Schemas) Components() map[string]*Schema { return s.components }

// typeOf returns the type of a schema, also of one that is only annotated; "" for none.
func (s *Schemas) typeOf(schema *Schema) string {
	for range maxSchemaDepth {
		switch {
		case schema == nil:
			return ""
		case schema.Ref != "":
			schema = s.components[strings.TrimPrefix(schema.Ref, componentPrefix)]
		case schema.Type == "" && schema.Wrapped() != nil:
			schema = schema.Wrapped()
		default:
			return schema.Type
		}
	}
	return ""
}

// nameOf returns a unique name for a named type. Components share one namespace, in which the first type has first
// choice, unless the collection is [Schemas.Distinct]; other types only need to be distinct.
func (s *Schemas) nameOf(t reflect.Type) string {
	if t.PkgPath() == "" || t.Name() == "" {
		return ""
	}
	if !isComponent(t) {
		return t.PkgPath() + "." + t.Name()
	}
	name, known := s.names[t]
	if !known {
		name = s.freeName(t)
		s.names[t], s.types[name] = name, t
	}
	return name
}

// freeName tries "Point", "geo.Point", "geo.Point2" and so on.
func (s *Schemas) freeName(t reflect.Type) string {
	name := componentName(t.Name())
	qualified := componentName(gotype.PackageName(t)) + "." + name
	for i := 1; ; i++ {
		if _, ok := s.types[name]; !ok {
			return name
		}
		name = qualified
		if i > 1 {
			name += strconv.Itoa(i)
		}
	}
}

// Distinct returns an empty collection in which the types of s have names that do not depend on the order in which they
// came, nil if no two types share a name. If only one of these types is from the own packages, by import path, that one
// keeps the name. Distinct adds to the names of the others their package, and as much of its path as necessary.
func (s *Schemas) Distinct(own []string) *Schemas {
	byName := make(map[string][]reflect.Type)
	for t := range s.names {
		byName[componentName(t.Name())] = append(byName[componentName(t.Name())], t)
	}
	distinct, clashes := NewSchemas(), make(map[string][]reflect.Type)
	for name, t := range s.types {
		if t == nil && !slices.Contains(slices.Collect(maps.Values(s.variants)), name) {
			distinct.types[name] = nil
		}
	}
	for name, types := range byName {
		if i := onlyOwn(types, own); distinct.isFree(name) && i >= 0 {
			distinct.name(types[i], name)
			types = slices.Delete(types, i, i+1)
		}
		if len(types) > 0 {
			clashes[name] = types
		}
	}
	if len(clashes) == 0 {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(clashes)) {
		distinct.qualify(clashes[name])
	}
	return distinct
}

// onlyOwn returns the index of the only type, or else of the only one from the own packages; -1 if there is none.
func onlyOwn(types []reflect.Type, own []string) int {
	if len(types) == 1 {
		return 0
	}
	found := -1
	for i, t := range types {
		if slices.Contains(own, t.PkgPath()) {
			if found >= 0 {
				return -1
			}
			found = i
		}
	}
	return found
}

func (s *Schemas) isFree(name string) bool {
	_, ok := s.types[name]
	return !ok
}

func (s *Schemas) name(t reflect.Type, name string) { s.names[t], s.types[name] = name, t }

// qualify names types that share a name by the shortest ends of their packages' paths that distinguish them, or else by
// numbers.
func (s *Schemas) qualify(types []reflect.Type) {
	slices.SortFunc(types, func(a, b reflect.Type) int {
		return cmp.Or(cmp.Compare(a.PkgPath(), b.PkgPath()), cmp.Compare(a.Name(), b.Name()))
	})
	for elements, more := 1, true; more; elements++ {
		names := make(map[string]bool)
		more = false
		for _, t := range types {
			name, longer := qualifiedName(t, elements)
			if s.isFree(name) {
				names[name] = true
			}
			more = more || longer
		}
		if len(names) < len(types) {
			continue
		}
		for _, t := range types {
			name, _ := qualifiedName(t, elements)
			s.name(t, name)
		}
		return
	}
	for _, t := range types {
		s.name(t, s.freeName(t))
	}
}

// qualifiedName returns a type's name behind its package and, from 2 elements on, the elements of the path before it.
// The longest form also has the packages of the type's own arguments. longer reports that there is a longer one.
func qualifiedName(t reflect.Type, elements int) (name string, longer bool) {
	path := strings.Split(t.PkgPath(), "/")
	if elements == 1 {
		path[len(path)-1] = gotype.PackageName(t)
	}
	if elements > len(path) {
		return componentText(strings.Join(path, ".") + "." + t.Name()), false
	}
	return componentText(strings.Join(path[len(path)-elements:], ".") + "." + componentName(t.Name())), true
}

// componentName returns a type's name in the characters allowed for a component: "Page[github.com/acme/shop.Item]"
// becomes "Page_Item".
//
// https://spec.openapis.org/oas/v3.0.0#components-object
func componentName(typeName string) string {
	return componentText(strings.TrimRight(gotype.Unqualified(typeName), "]"))
}

// componentText replaces the characters that are not allowed in the name of a component.
func componentText(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '-', r == '.', r == '_':
			return r
		}
		return '_'
	}, name)
}

// variantKey identifies a variant of a union.
type variantKey struct {
	union   reflect.Type
	variant string
}

// variantName returns a unique name for the component of a variant: "Shape_circle".
func (s *Schemas) variantName(union reflect.Type, variant string) string {
	key := variantKey{union, variant}
	name, known := s.variants[key]
	if !known {
		wanted := componentText(s.nameOf(union) + "_" + variant)
		name = wanted
		for i := 2; !s.isFree(name); i++ {
			name = wanted + strconv.Itoa(i)
		}
		s.variants[key], s.types[name] = name, nil
	}
	return name
}

// Schema is an OpenAPI 3.0.0 Schema Object, as far as Go types need one. A Reference Object is a Schema in which only
// Ref is set.
//
// https://spec.openapis.org/oas/v3.0.0#schema-object
type Schema struct {
	Ref         string `json:"$ref,omitempty"` // "#/components/schemas/Point"
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Type        string `json:"type,omitempty"`   // string, number, integer, boolean, array, object
	Format      string `json:"format,omitempty"` // int64, double, date-time, byte, …
	// beside a type: also null; a schema without a type allows null unless another keyword forbids it
	Nullable bool  `json:"nullable,omitempty"`
	Default  any   `json:"default,omitempty"`
	Example  any   `json:"example,omitempty"`
	Enum     []any `json:"enum,omitempty"`

	// EnumNames name the values of Enum, in its order, where these are numbers: for generators of code.
	EnumNames []string `json:"x-enum-varnames,omitempty"`

	// EnumDescriptions describe values of Enum, by the value as text.
	EnumDescriptions map[string]string `json:"x-enumDescriptions,omitempty"`

	MultipleOf       Number `json:"multipleOf,omitzero"`
	Minimum          Number `json:"minimum,omitzero"`
	ExclusiveMinimum bool   `json:"exclusiveMinimum,omitempty"`
	Maximum          Number `json:"maximum,omitzero"`
	ExclusiveMaximum bool   `json:"exclusiveMaximum,omitempty"`

	MinLength *uint64 `json:"minLength,omitempty"`
	MaxLength *uint64 `json:"maxLength,omitempty"`
	Pattern   string  `json:"pattern,omitempty"`

	Items       *Schema `json:"items,omitempty"`
	MinItems    *uint64 `json:"minItems,omitempty"`
	MaxItems    *uint64 `json:"maxItems,omitempty"`
	UniqueItems bool    `json:"uniqueItems,omitempty"`

	Properties           map[string]*Schema `json:"properties,omitempty"`
	Required             []string           `json:"required,omitempty"`
	AdditionalProperties *Schema            `json:"additionalProperties,omitempty"` // if none are allowed: {"not": {}}
	MinProperties        *uint64            `json:"minProperties,omitempty"`
	MaxProperties        *uint64            `json:"maxProperties,omitempty"`

	AllOf []*Schema `json:"allOf,omitempty"`
	AnyOf []*Schema `json:"anyOf,omitempty"`
	OneOf []*Schema `json:"oneOf,omitempty"`
	Not   *Schema   `json:"not,omitempty"`

	Discriminator *Discriminator `json:"discriminator,omitempty"` // of OneOf

	ReadOnly   bool `json:"readOnly,omitempty"`
	WriteOnly  bool `json:"writeOnly,omitempty"`
	Deprecated bool `json:"deprecated,omitempty"`
}

// Discriminator says which of several alternatives, all of them references to components, an object is.
//
// https://spec.openapis.org/oas/v3.0.0#discriminator-object
type Discriminator struct {
	PropertyName string            `json:"propertyName"`      // a required text of each alternative: "kind"
	Mapping      map[string]string `json:"mapping,omitempty"` // references by that text
}

// Referring returns a discriminator with other references.
func (d *Discriminator) Referring(to func(ref string) string) *Discriminator {
	referring := &Discriminator{PropertyName: d.PropertyName, Mapping: make(map[string]string, len(d.Mapping))}
	for name, ref := range d.Mapping {
		referring.Mapping[name] = to(ref)
	}
	return referring
}

// UnmarshalJSON reads a Schema Object. In documents from elsewhere additionalProperties may also be true, which becomes
// a schema for any value, or false, which becomes one for none.
func (s *Schema) UnmarshalJSON(data []byte) error {
	switch string(bytes.TrimSpace(data)) {
	case "true":
		*s = *anything()
		return nil
	case "false":
		*s = *nothing()
		return nil
	}
	type plain Schema // without this method
	if err := unmarshalExact(data, (*plain)(s)); err != nil {
		return err
	}
	s.Default, s.Example = exact(s.Default), exact(s.Example)
	for i := range s.Enum {
		s.Enum[i] = exact(s.Enum[i])
	}
	return nil
}

// anything returns a schema for every value, including null: without a type, 3.0.0 has no nullable.
func anything() *Schema { return &Schema{} }

// nothing returns a schema that no value satisfies.
func nothing() *Schema { return &Schema{Not: anything()} }

// onlyNull returns a schema for null alone.
func onlyNull() *Schema { return &Schema{Type: "string", Nullable: true, Enum: []any{nil}} }

// Wrapped returns the schema that s only annotates or makes nullable, nil if s does more.
func (s *Schema) Wrapped() *Schema {
	if len(s.AllOf) != 1 {
		return nil
	}
	rest := *s
	rest.AllOf, rest.Title, rest.Description, rest.Default, rest.Example = nil, "", "", nil, nil
	rest.ReadOnly, rest.WriteOnly, rest.Deprecated = false, false, false
	if rest.Nullable {
		rest.Nullable, rest.Type = false, ""
	}
	if !reflect.DeepEqual(rest, Schema{}) {
		return nil
	}
	return s.AllOf[0]
}

// AllowsNull reports whether null satisfies the schema. The references in it refer to components, by name.
func (s *Schema) AllowsNull(components map[string]*Schema) bool {
	return s.allowsNull(components, maxSchemaDepth)
}

// allowsNull is AllowsNull with a limit of depth, for schemas from elsewhere that contain themselves.
func (s *Schema) allowsNull(components map[string]*Schema, depth int) bool {
	allowed := func(part *Schema) bool { return depth > 0 && part.allowsNull(components, depth-1) }
	switch {
	case s == nil:
		return true
	case s.Ref != "":
		return allowed(components[strings.TrimPrefix(s.Ref, componentPrefix)])
	case s.Nullable || s.Type != "":
		return s.Nullable
	case len(s.Enum) > 0 && !slices.Contains(s.Enum, nil):
		return false
	}
	return !slices.ContainsFunc(s.AllOf, func(part *Schema) bool { return !allowed(part) }) &&
		(s.AnyOf == nil || slices.ContainsFunc(s.AnyOf, allowed)) &&
		(s.OneOf == nil || slices.ContainsFunc(s.OneOf, allowed)) &&
		(s.Not == nil || !allowed(s.Not))
}

// reflector returns a jsonschema reflector for the JSON of the bus: only members whose tag says so are required,
// unknown members are ignored, and nameOf gives the names.
func (s *Schemas) reflector() *jsonschema.Reflector {
	return &jsonschema.Reflector{
		Anonymous:                  true,
		AllowAdditionalProperties:  true,
		RequiredFromJSONSchemaTags: true,
		Namer:                      s.nameOf,
		Mapper:                     opaque,
		AdditionalFields:           promotedFields,
	}
}

// promotedFields returns the members that JSON shows for a struct that embeds others, or has tags that jsonschema
// misreads. It reads them last, which corrects shadowed names: it takes the last field of a name, JSON the shallowest.
func promotedFields(t reflect.Type) []reflect.StructField {
	if !slices.ContainsFunc(slices.Collect(t.Fields()),
		func(f reflect.StructField) bool { return embeds(f) || isDash(f) || withChoices(f.Tag) != f.Tag }) {
		return nil
	}
	var fields []reflect.StructField
	for _, f := range jsonFields(t) {
		name := f.Name
		if name == "-" {
			name = dash
		}
		tag := strconv.Quote(name)
		if f.Quoted {
			tag = strconv.Quote(name + ",string")
		}
		fields = append(fields, reflect.StructField{
			Name: f.goName,
			Type: f.Type,
			Tag:  "json:" + reflect.StructTag(tag) + " " + withChoices(f.tag),
		})
	}
	return fields
}

// dash stands for the name "-": jsonschema would leave out a field of that name.
const dash = "\x00-"

// isDash reports whether a field has the name "-".
func isDash(f reflect.StructField) bool { return strings.HasPrefix(f.Tag.Get("json"), "-,") }
