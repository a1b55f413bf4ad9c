package strictjson

import (
	"reflect"
	"strings"
)

// maxFields is the number of fields for which the set of seen fields has room.
const maxFields = 64

// fields plans the fields of a struct that JSON shows; it returns false if any of them is not plain.
func (c compiler) fields(t reflect.Type) ([]field, bool) {
	var fields []field
	names := make(map[string]bool)
	for source := range t.Fields() {
		made, shown, plain := c.field(source)
		if !plain || names[made.name] {
			return nil, false
		}
		if shown {
			names[made.name] = true
			fields = append(fields, made)
		}
	}
	hidden := len(fields) == 0 && t.NumField() > 0 // the library treats that as a mistake, unless there are tags
	return fields, !hidden && len(fields) <= maxFields
}

// field plans one field. The field is shown if it has a name in JSON.
func (c compiler) field(source reflect.StructField) (made field, shown, plain bool) {
	tag, tagged := source.Tag.Lookup("json")
	switch {
	case tag == "-":
		return field{}, false, true
	case source.Anonymous:
		return field{}, false, false
	case !source.IsExported():
		return field{}, false, !tagged
	}
	name, option, more := strings.Cut(tag, ",")
	if name == "" {
		name = source.Name
	}
	if !isPlainName(name) || more && option != "omitempty" && option != "omitzero" {
		return field{}, false, false
	}
	n := *c.node(source.Type)
	n.writable = n.writable && option != "omitzero"
	return field{&n, source.Index[0], name, `"` + name + `":`, option == "omitempty"}, true, true
}

// isPlainName says whether a name is written without escapes in tags and in JSON, and all its letters fold only to
// their own upper and lower case.
func isPlainName(name string) bool {
	for i := range len(name) {
		c := lower(name[i])
		if (c < 'a' || 'z' < c) && (c < '0' || '9' < c) && c != '_' && c != '-' && c != '.' {
			return false
		}
	}
	return name != "-"
}
