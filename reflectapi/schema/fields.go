package schema

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/busline/busline/reflectapi/internal/gotype"
)

// jsonField is one member of the JSON object that represents a struct.
type jsonField struct {
	Name   string // of the member, e.g. "sortBy"
	Type   reflect.Type
	Quoted bool // `json:",string"`: a number, a boolean or a text written as a JSON string

	goName string
	tag    reflect.StructTag
	index  []int // path through embedded structs
	tagged bool  // the tag gives the name
	repeat bool  // an embedded struct that also occurs further up: only its own fields count

	omitted  bool // omitted from JSON if it is zero
	readOnly bool // by its jsonschema tag: only in responses
}

// jsonFields returns the members of a struct by the rules of encoding/json: fields of embedded structs are promoted; of
// several fields with one name the shallowest wins, among equals the one whose tag gives the name, otherwise none.
func jsonFields(root reflect.Type) []jsonField {
	fields, _ := dominant(allFields(root))
	return fields
}

// allFields returns the fields that may be members of a struct.
func allFields(root reflect.Type) []jsonField {
	var all []jsonField
	level, seen := []jsonField{{Type: root}}, map[reflect.Type]bool{root: true}
	for len(level) > 0 {
		var next []jsonField
		for _, outer := range level {
			for i := range outer.Type.NumField() {
				field, promotes := readField(outer, i)
				switch {
				case promotes && !outer.repeat:
					field.repeat = seen[field.Type]
					seen[field.Type] = true
					next = append(next, field)
				case !promotes && field.Name != "":
					all = append(all, field)
				}
			}
		}
		level = next
	}
	return all
}

// JSONMember is a member of the JSON object that represents a struct.
type JSONMember struct {
	Name  string
	Type  reflect.Type
	Index []int // of the field, through embedded structs and pointers to them

	Quoted bool // it is written in quotes, as its tag has the option string
}

// JSONMembers returns the members of the JSON object that represents a struct, by the rules of encoding/json, in the
// order of their declaration.
func JSONMembers(t reflect.Type) (members []JSONMember) {
	for _, f := range jsonFields(t) {
		members = append(members, JSONMember{f.Name, f.Type, f.index, f.Quoted})
	}
	return members
}

// HiddenMember names two fields of embedded structs that have one name in JSON with equal right, so that JSON has
// neither, and the remedy; "" if there are none. The codec would lose their values without an error.
func HiddenMember(t reflect.Type) string {
	_, rivals := dominant(allFields(t))
	if len(rivals) == 0 {
		return ""
	}
	one, other := rivals[0], rivals[1]
	return fmt.Sprintf("fields %s and %s of %v hide each other, as both are %q in JSON: give one of them another json "+
		"tag, or give the embedded %v a json tag",
		one.path(t), other.path(t), t, one.Name, gotype.Base(t.Field(other.index[0]).Type))
}

// path returns the Go name of a field with those of the embedded structs that it is in: "Paging.Limit".
func (f *jsonField) path(t reflect.Type) string {
	var names []string
	for _, i := range f.index {
		field := gotype.Base(t).Field(i)
		names, t = append(names, field.Name), field.Type
	}
	return strings.Join(names, ".")
}

// readField reads field i of a struct. Its Name is "" if it is not a member. promotes reports that the fields of its
// Type, a struct, take its place.
func readField(outer jsonField, i int) (field jsonField, promotes bool) {
	f := outer.Type.Field(i)
	tag := f.Tag.Get("json")
	if tag == "-" {
		return jsonField{}, false
	}
	tag, options, _ := strings.Cut(tag, ",")
	has := func(option string) bool { return slices.Contains(strings.Split(options, ","), option) }
	field = jsonField{
		Name:   cmp.Or(tag, f.Name),
		Type:   f.Type,
		Quoted: has("string") && mayBeQuoted(f.Type),
		goName: f.Name,
		tag:    f.Tag,
		index:  append(slices.Clone(outer.index), i),
		tagged: tag != "",

		omitted:  has("omitempty") || has("omitzero"),
		readOnly: isReadOnly(f.Tag),
	}
	if (f.Anonymous && tag == "") || has("embed") {
		if f.Type.Kind() == reflect.Pointer {
			field.Type = f.Type.Elem()
		}
		if field.Type.Kind() == reflect.Struct {
			return field, true
		}
		if has("embed") {
			return jsonField{}, false
		}
		field.Type = f.Type // an embedded type that is not a struct is a member like any other
	}
	if !f.IsExported() {
		return jsonField{}, false
	}
	return field, false
}

// dominant returns the one field for each name that JSON shows, in order of declaration, and the first two of a name
// for which there is none.
func dominant(all []jsonField) (kept, rivals []jsonField) {
	byName := map[string][]jsonField{}
	for _, f := range all {
		byName[f.Name] = append(byName[f.Name], f)
	}
	for _, same := range byName {
		slices.SortStableFunc(same, stronger)
		if len(same) == 1 || stronger(same[0], same[1]) < 0 {
			kept = append(kept, same[0])
		} else if len(rivals) == 0 || same[0].Name < rivals[0].Name {
			rivals = same[:2]
		}
	}
	slices.SortFunc(kept, func(a, b jsonField) int { return slices.Compare(a.index, b.index) })
	return kept, rivals
}

// stronger orders fields of the same name: shallower ones first, then those whose tag gives the name.
func stronger(a, b jsonField) int {
	if order := cmp.Compare(len(a.index), len(b.index)); order != 0 || a.tagged == b.tagged {
		return order
	}
	if a.tagged {
		return -1
	}
	return 1
}

// embeds reports whether a field's own fields take its place, for JSON or for jsonschema, which do not always agree.
func embeds(f reflect.StructField) bool {
	options := strings.Split(f.Tag.Get("json"), ",")
	return f.Anonymous && options[0] == "" || slices.Contains(options[1:], "inline") ||
		slices.Contains(options[1:], "embed")
}

// Argument returns the field of a struct of arguments, or of results, that holds the value at an index. tag is what is
// declared of the value. One that may be missing is left out of the JSON when it is zero.
func Argument(i int, name string, t reflect.Type, tag reflect.StructTag, mayBeMissing bool) reflect.StructField {
	options := ""
	if mayBeMissing {
		options = ",omitempty"
	}
	return reflect.StructField{
		Name: "Field" + strconv.Itoa(i),
		Type: t,
		Tag: reflect.StructTag(strings.TrimSpace("json:" + strconv.Quote(name+options) + " schema:" + strconv.Quote(name) +
			" " + string(tag))),
	}
}

// isArguments reports whether a type is made of the fields that [Argument] returns.
func isArguments(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t.Name() == "" && t.NumField() > 0 && t.Field(0).Tag.Get("schema") != "" &&
		t.Field(0).Name == "Field0"
}
