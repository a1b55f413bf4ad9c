package strictjson

import (
	stdjson "encoding/json"
	"errors"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	legacy "github.com/go-json-experiment/json/v1"
)

// Some structs that encoding/json takes are refused by its successor. They are read and written as encoding/json does:
// with the name "-" of the tag `json:"-,"`, the option string on booleans and texts, embedded types that are no
// structs, and tags of unexported fields, which mean nothing. A struct without exported fields is an empty object only
// as the user in a url.URL.

// legacyTags are the options for types with such a struct.
func legacyTags() json.Options {
	return json.JoinOptions(legacy.ReportErrorsWithLegacySemantics(true), legacy.StringifyWithLegacySemantics(true))
}

// translateLegacy is translate for a type with such a struct, whose errors are those of encoding/json.
func translateLegacy(err error, data []byte) error {
	var text jsontext.Value
	if wrong := json.Unmarshal(data, &text); wrong != nil {
		return translate(wrong, data)
	}
	if typeErr, ok := errors.AsType[*legacy.UnmarshalTypeError](err); ok {
		kind, literal, _ := strings.Cut(typeErr.Value, " ")
		var cause error
		if _, isInteger := Integer(literal); isInteger {
			cause = strconv.ErrRange
		}
		detail := "expects " + Expected(typeErr.Type, cause)
		if literal == "" && typeErr.Field != "" && isUnquoted(kind, typeErr.Type.Kind()) {
			detail += " in quotes"
		}
		return &Error{Pointer: pointerOf(strings.Split(typeErr.Field, ".")), Detail: detail}
	}
	if _, name, isUnknown := strings.Cut(err.Error(), "unknown field "); isUnknown {
		name, _ = strconv.Unquote(name)
		return &Error{Pointer: pointerOf([]string{name}), Detail: "is unknown", unknown: true}
	}
	return &Error{Detail: "does not fit"}
}

// isUnquoted reports whether JSON of a kind would fit in quotation marks.
func isUnquoted(found string, kind reflect.Kind) bool {
	return found == "number" && isNumberKind(kind) || found == "bool" && kind == reflect.Bool
}

// pointerOf returns the JSON Pointer of a path.
func pointerOf(path []string) string {
	var pointer jsontext.Pointer
	for _, name := range path {
		if name != "" {
			pointer = pointer.AppendToken(name)
		}
	}
	return string(pointer)
}

// HasLegacyTags reports whether a struct has a tag that only encoding/json takes.
func HasLegacyTags(t reflect.Type) bool {
	if t == reflect.TypeFor[url.Userinfo]() {
		return true
	}
	for f := range t.Fields() {
		tag, tagged := f.Tag.Lookup("json")
		name, options, hasOptions := strings.Cut(tag, ",")
		kind := pointedTo(f.Type).Kind()
		switch {
		case tag == "-":
		case !f.IsExported() && !f.Anonymous:
			if tagged {
				return true
			}
		case hasOptions && options == "":
			return true
		case f.Anonymous && name == "" && kind != reflect.Struct:
			return true
		case slices.Contains(strings.Split(options, ","), "string") && !isNumberKind(kind) &&
			pointedTo(f.Type) != reflect.TypeFor[stdjson.Number]():
			return true
		}
	}
	return false
}

// pointedTo returns the type that a pointer points to; any other type as it is.
func pointedTo(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

func isNumberKind(kind reflect.Kind) bool {
	return reflect.Int <= kind && kind <= reflect.Float64 && kind != reflect.Uintptr
}

// walkLegacyTags reports whether a type contains a struct with such tags.
func walkLegacyTags(t reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[t] || t.Kind() != reflect.Pointer && t.Kind() != reflect.Interface && hasMethods(t) {
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return walkLegacyTags(t.Elem(), seen)
	case reflect.Interface:
		return slices.ContainsFunc(UnionOf(t).Structs(),
			func(variant reflect.Type) bool { return walkLegacyTags(variant, seen) })
	case reflect.Struct:
		found := HasLegacyTags(t)
		for f := range t.Fields() {
			found = found || walkLegacyTags(f.Type, seen)
		}
		return found
	default:
		return false
	}
}
