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

// opaque returns the schema of a type whose fields do not determine its JSON, nil for every other type. It is always a
// new one: jsonschema writes a field's tags into it.
func opaque(t reflect.Type) *jsonschema.Schema {
	switch {
	case describesItself(t):
		return nil
	case t == reflect.TypeFor[time.Time]():
		return &jsonschema.Schema{Type: "string", Format: "date-time"}
	case t == reflect.TypeFor[json.Number]():
		return &jsonschema.Schema{Type: "number"} // its kind is string
	case writesJSON(t):
		return &jsonschema.Schema{}
	case writesText(t):
		return &jsonschema.Schema{Type: "string"}
	}
	return nil
}

// promotedFields returns the members that JSON shows for a struct that embeds others. jsonschema reads them last, which
// corrects shadowed names: it takes the last field of a name, JSON the shallowest.
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

// embeds reports whether a field's own fields take its place, for JSON or for jsonschema, which do not always agree.
func embeds(f reflect.StructField) bool {
	options := strings.Split(f.Tag.Get("json"), ",")
	return f.Anonymous && options[0] == "" || slices.Contains(options[1:], "inline") || slices.Contains(options[1:], "embed")
}
