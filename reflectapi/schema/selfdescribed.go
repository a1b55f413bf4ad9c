package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/invopop/jsonschema"

	"github.com/busline/busline/reflectapi/internal/gotype"
	"github.com/busline/busline/reflectapi/strictjson"
)

// schemaMethod is a method with which a type gives jsonschema its schema, or part of it. jsonschema looks for it at the
// type, never at its pointer.
type schemaMethod struct {
	name    string
	of      reflect.Type // the interface
	written string       // as it has to be declared
	whole   bool         // it provides the whole schema, so that the fields of the type do not count
}

// extendMethod is the method for a type whose schema jsonschema knows, but not its limits.
const extendMethod = "JSONSchemaExtend(*jsonschema.Schema), with jsonschema from github.com/invopop/jsonschema"

func schemaMethods() []schemaMethod {
	return []schemaMethod{
		{"JSONSchema", reflect.TypeFor[interface{ JSONSchema() *jsonschema.Schema }](),
			"JSONSchema() *jsonschema.Schema, with jsonschema from github.com/invopop/jsonschema", true},
		{"JSONSchemaExtend", reflect.TypeFor[interface{ JSONSchemaExtend(*jsonschema.Schema) }](), extendMethod, false},
		{"JSONSchemaAlias", reflect.TypeFor[interface{ JSONSchemaAlias() any }](), "JSONSchemaAlias() any", true},
		{"JSONSchemaProperty", reflect.TypeFor[interface{ JSONSchemaProperty(string) any }](),
			"JSONSchemaProperty(string) any", true},
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
		errs = append(errs, fmt.Errorf("type %v: its method %s is ignored, because %s: declare it as func (%s) %s", t, m.name,
			reason, gotype.PlainName(declarer), m.written))
	}
	return errors.Join(errs...)
}

// described are the schemas of types of other libraries, by the type.
var described sync.Map //nolint:gochecknoglobals // docs/decisions/0008

// Describe says what a type is in JSON, see reflectapi.RegisterSchema. It is safe for concurrent use.
func Describe(t reflect.Type, as *jsonschema.Schema) { described.Store(t, as) }

// isDescribed reports whether Describe was called for a type.
func isDescribed(t reflect.Type) bool {
	_, is := described.Load(t)
	return is
}

// opaque returns the schema of a type whose fields do not determine its JSON, nil for every other type. It is always a
// new one: jsonschema writes a field's tags into it.
func opaque(t reflect.Type) *jsonschema.Schema {
	if described, ok := described.Load(t); ok {
		copied := *described.(*jsonschema.Schema) //nolint:forcetypeassert // nothing else is stored
		return &copied
	}
	switch {
	case describesItself(t):
		return nil
	case t == reflect.TypeFor[time.Time]():
		return &jsonschema.Schema{Type: "string", Format: "date-time"}
	case t == reflect.TypeFor[json.Number]():
		return &jsonschema.Schema{Type: "number"} // its kind is string
	case t == reflect.TypeFor[url.URL]():
		return urlSchema()
	case t == reflect.TypeFor[big.Int]():
		return &jsonschema.Schema{Type: "integer"}
	case WritesJSON(t):
		return &jsonschema.Schema{}
	case WritesText(t):
		return &jsonschema.Schema{Type: "string"}
	}
	return nil
}

// urlSchema returns the schema of a url.URL, which is an object for encoding/json and a text for jsonschema.
func urlSchema() *jsonschema.Schema {
	schema := &jsonschema.Schema{Type: "object", Properties: jsonschema.NewProperties()}
	for f := range reflect.TypeFor[url.URL]().Fields() {
		property := &jsonschema.Schema{Type: "object"} // the user, whose members are not shown
		switch f.Type.Kind() {
		case reflect.String:
			property.Type = "string"
		case reflect.Bool:
			property.Type = "boolean"
		}
		schema.Properties.Set(f.Name, property)
	}
	return schema
}

// isComponent reports whether jsonschema makes a definition of a type.
func isComponent(t reflect.Type) bool {
	if describesItself(t) || strictjson.UnionOf(t) != nil {
		return true
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Slice, reflect.Array, reflect.Map:
		return opaque(t) == nil
	}
	return false
}

// isClosed reports whether a schema says nothing of what a type is made of.
func isClosed(t reflect.Type) bool { return replacesSchema(t) || opaque(t) != nil }
