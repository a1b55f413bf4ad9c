package reflectapi

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/invopop/jsonschema"
)

// reflector is jsonschema, set up for what the bus's JSON is: nothing is required unless
// its tag says so, unknown members are ignored, and names are told apart by nameOf.
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

// opaque gives the schema of a type whose inside is not its JSON, nil for every other.
// Always a fresh one: jsonschema writes a field's tags into it.
func opaque(t reflect.Type) *jsonschema.Schema {
	switch {
	case describesItself(t):
		return nil
	case t == reflect.TypeFor[time.Time]():
		return &jsonschema.Schema{Type: "string", Format: "date-time"}
	case t == reflect.TypeFor[json.Number]():
		return &jsonschema.Schema{Type: "number"} // its kind is that of text
	case writesJSON(t):
		return &jsonschema.Schema{}
	case writesText(t):
		return &jsonschema.Schema{Type: "string"}
	}
	return nil
}

// promotedFields lists, for a struct that embeds others, the members that JSON shows.
// jsonschema reads them last and so corrects what it made of shadowed names, of which it
// takes the last and JSON the shallowest.
func promotedFields(t reflect.Type) []reflect.StructField {
	if !slices.ContainsFunc(slices.Collect(t.Fields()), embeds) {
		return nil
	}
	var fields []reflect.StructField
	for _, f := range jsonFields(t) {
		tag := strconv.Quote(f.Name)
		if f.Quoted {
			tag = strconv.Quote(f.Name + ",string")
		}
		fields = append(fields, reflect.StructField{
			Name: f.goName,
			Type: f.Type,
			Tag:  "json:" + reflect.StructTag(tag) + " " + f.tag,
		})
	}
	return fields
}

// embeds tells a field whose own fields take its place, for JSON or for jsonschema, which do
// not always agree.
func embeds(f reflect.StructField) bool {
	options := strings.Split(f.Tag.Get("json"), ",")
	return f.Anonymous && options[0] == "" || slices.Contains(options[1:], "inline") || slices.Contains(options[1:], "embed")
}

// describesItself tells a type that gives jsonschema its schema, or part of it.
func describesItself(t reflect.Type) bool { return replacesSchema(t) || extendsSchema(t) }

// replacesSchema tells a type whose schema says nothing about its fields. jsonschema asks
// the type, never its pointer.
func replacesSchema(t reflect.Type) bool {
	return t.Kind() != reflect.Interface &&
		(t.Implements(reflect.TypeFor[interface{ JSONSchema() *jsonschema.Schema }]()) ||
			t.Implements(reflect.TypeFor[interface{ JSONSchemaAlias() any }]()) ||
			t.Implements(reflect.TypeFor[interface{ JSONSchemaProperty(string) any }]()))
}

// extendsSchema tells a type that changes what jsonschema has made of it.
func extendsSchema(t reflect.Type) bool {
	return t.Kind() != reflect.Interface &&
		t.Implements(reflect.TypeFor[interface{ JSONSchemaExtend(*jsonschema.Schema) }]())
}
