package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/invopop/jsonschema"

	"github.com/busline/busline/reflectapi/internal/gotype"
)

// schemaMethod is a method with which a type tells jsonschema its schema, or part of it. jsonschema looks for it at the
// type, never at its pointer.
type schemaMethod struct {
	name    string
	of      reflect.Type // the interface
	written string       // as it has to be declared
	whole   bool         // it provides the whole schema, so that the fields of the type do not count
}

// extendMethod is the method for a type of which jsonschema knows the schema, but not its limits.
const extendMethod = "JSONSchemaExtend(*jsonschema.Schema), with jsonschema from github.com/invopop/jsonschema"

func schemaMethods() []schemaMethod {
	return []schemaMethod{
		{"JSONSchema", reflect.TypeFor[interface{ JSONSchema() *jsonschema.Schema }](), "JSONSchema() *jsonschema.Schema, with jsonschema from github.com/invopop/jsonschema", true},
		{"JSONSchemaExtend", reflect.TypeFor[interface{ JSONSchemaExtend(*jsonschema.Schema) }](), extendMethod, false},
		{"JSONSchemaAlias", reflect.TypeFor[interface{ JSONSchemaAlias() any }](), "JSONSchemaAlias() any", true},
		{"JSONSchemaProperty", reflect.TypeFor[interface{ JSONSchemaProperty(string) any }](), "JSONSchemaProperty(string) any", true},
	}
}

// describesItself reports whether a type provides its schema, or part of it, to jsonschema.
func describesItself(t reflect.Type) bool { return replacesSchema(t) || extendsSchema(t) }

// replacesSchema reports whether a type provides its whole schema, so that its fields do not count.
func replacesSchema(t reflect.Type) bool {
	return hasSchemaMethod(t, func(m schemaMethod) bool { return m.whole })
}

// extendsSchema reports whether a type modifies the schema that jsonschema made.
func extendsSchema(t reflect.Type) bool {
	return hasSchemaMethod(t, func(m schemaMethod) bool { return !m.whole })
}

func hasSchemaMethod(t reflect.Type, wanted func(schemaMethod) bool) bool {
	return t.Kind() != reflect.Interface &&
		slices.ContainsFunc(schemaMethods(), func(m schemaMethod) bool { return wanted(m) && t.Implements(m.of) })
}

// ignoredMethods returns an error for methods of a type that jsonschema would call if they were declared in another
// way: their author expects what they say to be enforced. A method of an embedded type is reported there, unless what
// the type is made of does not count.
func ignoredMethods(t reflect.Type) error {
	if t.Kind() == reflect.Pointer || t.Kind() == reflect.Interface {
		return nil
	}
	var errs []error
	for _, m := range schemaMethods() {
		declared := reflect.New(t).MethodByName(m.name)
		if !declared.IsValid() || t.Implements(m.of) {
			continue
		}
		declarer, _ := gotype.DeclaredIn(t, m.name)
		if declarer != t && !isClosed(t) {
			continue
		}
		reason := "it has a pointer receiver"
		if !reflect.PointerTo(t).Implements(m.of) {
			reason = "it is a " + declared.Type().String()
		}
		errs = append(errs, fmt.Errorf("type %v: its method %s is ignored, because %s: declare it as func (%s) %s", t, m.name, reason, gotype.PlainName(declarer), m.written))
	}
	return errors.Join(errs...)
}

// checksItself reports whether a type can refuse a value. A [json.RawMessage] takes any.
func checksItself(t reflect.Type) bool {
	method := readingMethod(t)
	if method == "" {
		return false
	}
	reader, _ := gotype.DeclaredIn(t, method)
	return reader != reflect.TypeFor[json.RawMessage]()
}

// ownSchema returns what the method of a type says of its schema, nil if it has none or the method panics. That is an
// error where the schema is made.
func ownSchema(t reflect.Type) (schema *jsonschema.Schema) {
	defer func() {
		if recover() != nil {
			schema = nil
		}
	}()
	if !describesItself(t) {
		return nil
	}
	switch value := reflect.Zero(t).Interface().(type) {
	case interface{ JSONSchema() *jsonschema.Schema }:
		return value.JSONSchema()
	case interface{ JSONSchemaExtend(*jsonschema.Schema) }:
		schema = &jsonschema.Schema{}
		value.JSONSchemaExtend(schema)
		return schema
	}
	return nil
}

// collectUnenforced adds the keywords of a schema, and of those in it, that a [converter] leaves out.
func collectUnenforced(s *jsonschema.Schema, keywords map[string]bool, seen map[*jsonschema.Schema]bool) {
	if seen[s] {
		return
	}
	seen[s] = true
	_, isLocal := localDefinition(s.Ref)
	for keyword, found := range map[string]bool{
		"if":                s.If != nil,
		"dependentSchemas":  len(s.DependentSchemas) > 0,
		"dependentRequired": len(s.DependentRequired) > 0,
		"prefixItems":       len(s.PrefixItems) > 0,
		"contains":          s.Contains != nil,
		"propertyNames":     s.PropertyNames != nil,
		"patternProperties": len(s.PatternProperties) > 0,
		"$dynamicRef":       s.DynamicRef != "",
		"a $ref elsewhere":  s.Ref != "" && !isLocal,
	} {
		if found {
			keywords[keyword] = true
		}
	}
	below := slices.Concat(s.AllOf, s.AnyOf, s.OneOf, []*jsonschema.Schema{s.Not, s.Items, s.AdditionalProperties}, slices.Collect(maps.Values(s.Definitions)))
	if s.Properties != nil {
		below = slices.AppendSeq(below, s.Properties.ValuesFromOldest())
	}
	for _, each := range below {
		collectUnenforced(each, keywords, seen)
	}
}
