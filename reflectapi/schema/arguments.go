package schema

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Argument returns the field of a struct of arguments, or of results, that holds the value at an index. tag is what is declared of the value.
// One that may be missing is left out of the JSON when it is zero.
func Argument(i int, name string, t reflect.Type, tag reflect.StructTag, mayBeMissing bool) reflect.StructField {
	options := ""
	if mayBeMissing {
		options = ",omitempty"
	}
	return reflect.StructField{
		Name: "Field" + strconv.Itoa(i),
		Type: t,
		Tag:  reflect.StructTag(strings.TrimSpace("json:" + strconv.Quote(name+options) + " schema:" + strconv.Quote(name) + " " + string(tag))),
	}
}

// TagProblem returns what is wrong with the jsonschema tag of a field, "" if nothing is.
func TagProblem(field reflect.StructField) string {
	errs := tagErrors(reflect.StructOf([]reflect.StructField{field}))
	if len(errs) == 0 {
		return ""
	}
	_, reason, _ := strings.Cut(errs[0].Error(), ": jsonschema ")
	return reason
}

// HasDefault reports whether a jsonschema tag declares a default.
func HasDefault(tag reflect.StructTag) bool {
	return slices.ContainsFunc(tagParts(tag.Get("jsonschema")), func(part string) bool { return strings.HasPrefix(part, "default=") })
}

// isArguments reports whether a type is made of the fields that [Argument] returns.
func isArguments(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t.Name() == "" && t.NumField() > 0 && t.Field(0).Tag.Get("schema") != "" && t.Field(0).Name == "Field0"
}
