package schema

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/busline/busline/reflectapi/internal/gotype"
	"github.com/busline/busline/reflectapi/similar"
	"github.com/busline/busline/reflectapi/strictjson"
)

// checkTags returns an error for jsonschema tags, and methods for jsonschema, that it silently ignores: their author
// would expect them to be enforced, and they would not be.
func checkTags(t reflect.Type) error {
	var errs []error
	eachType(t, map[reflect.Type]bool{}, func(t reflect.Type) {
		errs = append(errs, ignoredMethods(t))
		if readsTags(t) {
			errs = append(errs, tagErrors(t)...)
		}
	})
	return errors.Join(errs...)
}

// tagErrors returns what is wrong with the tags of one struct.
func tagErrors(t reflect.Type) (errs []error) {
	for f := range t.Fields() {
		tag := f.Tag.Get("jsonschema")
		if tag == "" || tag == "-" || f.Tag.Get("json") == "-" {
			continue
		}
		parts := tagParts(tag)
		for i, part := range parts {
			problem := tagProblem(part, f)
			if problem == "" && overrides(part, parts[:i]) {
				problem = "overrides an earlier one: keep one of them"
			}
			if problem != "" {
				errs = append(errs, fmt.Errorf("field %v.%s: jsonschema %q: %s", t, f.Name, part, problem))
			}
		}
	}
	return errs
}

// eachType visits the types in a type that its schema is made of.
func eachType(t reflect.Type, seen map[reflect.Type]bool, visit func(reflect.Type)) {
	if seen[t] {
		return
	}
	seen[t] = true
	visit(t)
	if isClosed(t) {
		return
	}
	for _, variant := range strictjson.UnionOf(t).Structs() {
		eachType(variant, seen, visit)
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		eachType(t.Elem(), seen, visit)
	case reflect.Struct:
		for f := range t.Fields() {
			if !isLeftOut(f) {
				eachType(f.Type, seen, visit)
			}
		}
	}
}

// readsTags reports whether jsonschema reads the tags of a type's fields.
func readsTags(t reflect.Type) bool { return t.Kind() == reflect.Struct && !isClosed(t) }

// isLeftOut reports whether a field is not a part of its struct's JSON.
func isLeftOut(f reflect.StructField) bool {
	return !f.IsExported() && !f.Anonymous || f.Tag.Get("json") == "-"
}

// tagParts splits a jsonschema tag at its commas. A comma after a backslash belongs to the value. The values of an enum
// may be separated by commas: enum=a,b becomes enum=a and enum=b.
func tagParts(tag string) []string {
	const comma = "\x00"
	parts := strings.Split(strings.ReplaceAll(tag, `\,`, comma), ",")
	for i := range parts {
		parts[i] = strings.ReplaceAll(parts[i], comma, ",")
		if i > 0 && strings.HasPrefix(parts[i-1], "enum=") && isChoice(parts[i]) {
			parts[i] = "enum=" + parts[i]
		}
	}
	return parts
}

// isChoice reports whether a part of a tag after an enum is one more of its values: it is not a keyword, nor like one.
func isChoice(part string) bool {
	flags := []string{"required", "nullable", "omitempty"}
	return part != "" && part == strings.TrimSpace(part) && !strings.Contains(part, "=") && KeywordLike(part) == "" &&
		similar.DidYouMean(part, flags) == ""
}

// withChoices returns the tag of a field with its enum as jsonschema reads it: enum=a,enum=b.
func withChoices(tag reflect.StructTag) reflect.StructTag {
	text := tag.Get("jsonschema")
	parts := tagParts(text)
	for i := range parts {
		parts[i] = strings.ReplaceAll(parts[i], ",", `\,`)
	}
	if joined := strings.Join(parts, ","); joined != text {
		return reflect.StructTag("jsonschema:"+strconv.Quote(joined)+" ") + tag
	}
	return tag
}

// overrides reports whether an earlier part of a tag sets the same keyword, of which only the last one counts.
func overrides(part string, earlier []string) bool {
	key, _, assigned := strings.Cut(part, "=")
	isList := slices.Contains([]string{"enum", "example", "default"}, key) || strings.HasPrefix(key, "oneof_") ||
		strings.HasPrefix(key, "anyof_")
	return assigned && !isList && slices.ContainsFunc(earlier,
		func(other string) bool { return strings.HasPrefix(other, key+"=") })
}

// tagProblem says what is wrong with one part of a tag, and what to do; "" if it is fine.
func tagProblem(part string, f reflect.StructField) string {
	key, value, assigned := strings.Cut(part, "=")
	if strictjson.UnionOf(f.Type) != nil {
		return unionTagProblem(key, f.Type)
	}
	if !assigned {
		switch {
		case key == "required" || key == "nullable" || key == "omitempty":
			return ""
		case key == "uniqueItems" || key == "readOnly" || key == "writeOnly":
			return "write " + key + "=true"
		}
		return "is not a keyword; write a comma inside a value as \\\\, and one more value of an enum as enum=" + key
	}
	if key == "readOnly" {
		return valueProblem(key, value, "")
	}
	class := classOf(f)
	if key == "type" && class != "" && class != value && opaque(gotype.Base(f.Type)) == nil {
		return "contradicts the Go type, which is " + article(class) + " in JSON: remove it"
	}
	if slices.Contains(anywhere(), key) {
		return ""
	}
	known := keywords(class)
	if of := elementClass(f.Type); class == "array" && slices.Contains(keywords(of), key) && !slices.Contains(known, key) {
		class, known = of, keywords(of)
	}
	switch {
	case !slices.Contains(known, key):
		return misplaced(key, class, f.Type)
	case class == "array" && strings.Contains(value, "="):
		return "a value with = is ignored on a list: give the elements a type of their own"
	}
	return valueProblem(key, value, class)
}

// anywhere returns the keywords that every type may have.
func anywhere() []string {
	return []string{"title", "description", "readOnly", "type", "anchor", "oneof_required", "anyof_required", "oneof_ref",
		"oneof_type", "anyof_ref", "anyof_type"}
}

// keywords returns the keywords that jsonschema reads for a JSON type.
func keywords(class string) []string {
	switch class {
	case "string":
		return []string{"minLength", "maxLength", "pattern", "format", "writeOnly", "default", "example", "enum"}
	case "number", "integer":
		return []string{"multipleOf", "minimum", "maximum", "exclusiveMaximum", "exclusiveMinimum", "default",
			"example", "enum"}
	case "array":
		return []string{"minItems", "maxItems", "uniqueItems", "default", "format", "pattern"}
	case "boolean":
		return []string{"default"}
	}
	return nil
}

// misplaced says why a keyword has no effect on a field, and which keyword would.
func misplaced(key, class string, t reflect.Type) string {
	what := article(class)
	if class == "" {
		what = fmt.Sprintf("a %v", t)
	}
	problem := "has no effect on " + what
	if meant := KeywordLike(key); meant != key {
		problem = "is not a keyword"
		if meant != "" {
			return problem + ": write " + meant
		}
	}
	if class == "" {
		return problem + "; declare a type of its own with a method " + extendMethod
	}
	known := strings.Join(keywords(class), ", ")
	if of := keywords(elementClass(t)); class == "array" && of != nil {
		known += ", and those of its elements: " + strings.Join(of, ", ")
	}
	return fmt.Sprintf("%s; use one of required, nullable, title, description, %s", problem, known)
}

// KeywordLike returns the keyword of any type that is written like this one, but perhaps in another case; "" if there
// is none.
func KeywordLike(key string) string {
	all := slices.Concat(anywhere(), []string{"required", "nullable", "omitempty", "minProperties", "maxProperties"})
	for _, class := range []string{"string", "number", "array", "boolean"} {
		all = append(all, keywords(class)...)
	}
	if i := slices.IndexFunc(all, func(known string) bool { return strings.EqualFold(known, key) }); i >= 0 {
		return all[i]
	}
	return ""
}

// classOf returns the JSON type of a field, as far as its tag can restrict it; otherwise "".
func classOf(f reflect.StructField) string {
	class := class(f.Type)
	quoted := slices.Contains(strings.Split(f.Tag.Get("json"), ",")[1:], "string")
	if quoted && (class == "number" || class == "integer" || class == "boolean") {
		return "string"
	}
	return class
}

// class returns the JSON type of a Go type; "" for a component, or for any value.
func class(t reflect.Type) string {
	t = gotype.Base(t)
	if known := opaque(t); known != nil {
		return known.Type
	}
	if describesItself(t) || t.Name() != "" && isComponent(t) {
		return ""
	}
	switch t.Kind() {
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Float32, reflect.Float64:
		return "number"
	case reflect.Slice, reflect.Array:
		if t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 {
			return "string"
		}
		return "array"
	case reflect.Map, reflect.Struct, reflect.Interface:
		return ""
	}
	return "integer"
}

// elementClass returns the JSON type of a list's elements; "" if it is not a list, or if tags do not apply to its
// elements.
func elementClass(t reflect.Type) string {
	t = gotype.Base(t)
	if t.Kind() != reflect.Slice && t.Kind() != reflect.Array {
		return ""
	}
	if of := class(t.Elem()); of != "array" {
		return of
	}
	return ""
}

// valueProblem says what is wrong with the value of a keyword.
func valueProblem(key, value, class string) string {
	var err error
	switch key {
	case "minLength", "maxLength", "minItems", "maxItems":
		if _, err = strconv.ParseUint(value, 10, 64); err != nil {
			return "expects a whole number"
		}
	case "multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		if !isFinite(value) {
			return "expects a number"
		}
	case "uniqueItems", "readOnly", "writeOnly":
		if value != "true" {
			return "expects true; leave it out otherwise"
		}
	case "format":
		if !isFormat(value) && !isHint(value) {
			return "is a format that is not checked; use pattern, or one of date, date-time, byte, email, uuid, ipv4, ipv6, uri"
		}
	case "pattern":
		if err = CheckPattern(value); err != nil {
			return err.Error()
		}
	case "default", "example", "enum":
		return literalProblem(value, class)
	}
	return ""
}

// literalProblem says why a value does not have the type of its field.
func literalProblem(value, class string) string {
	fits := true
	switch class {
	case "integer", "number":
		fits = isFinite(value)
	case "boolean":
		fits = value == "true" || value == "false"
	}
	if !fits {
		return "expects " + article(class)
	}
	return ""
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
	return slices.ContainsFunc(tagParts(tag.Get("jsonschema")),
		func(part string) bool { return strings.HasPrefix(part, "default=") })
}
