package schema

import (
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/invopop/jsonschema"

	"github.com/busline/busline/reflectapi/internal/gotype"
	"github.com/busline/busline/reflectapi/similar"
)

// Values are the types of one method's arguments and results.
type Values struct{ Args, Results []reflect.Type }

// Warnings returns what is probably wrong with the types of methods, and is not an error: tags that are read by
// nothing, types that write what they cannot read, keywords that nothing checks, and fields that JSON leaves out.
func Warnings(methods []Values) []string {
	return slices.Concat(ignoredTags(methods), asymmetricTypes(methods), unenforcedKeywords(methods), lostFields(methods))
}

// visited are the types that a walk over those of methods has met.
type visited struct{ all, judged map[reflect.Type]bool }

func newVisited() visited {
	return visited{map[reflect.Type]bool{}, map[reflect.Type]bool{}}
}

// each calls check once for each type that the types are made of. For a pointer it calls check with what it points to:
// that has the methods, too.
func (v visited) each(types []reflect.Type, check func(reflect.Type)) {
	for _, t := range types {
		eachType(t, v.all, func(t reflect.Type) {
			if t = gotype.Base(t); !v.judged[t] {
				v.judged[t] = true
				check(t)
			}
		})
	}
}

func argsOf(methods []Values) (types []reflect.Type) {
	for _, m := range methods {
		types = append(types, m.Args...)
	}
	return types
}

func allOf(methods []Values) (types []reflect.Type) {
	for _, m := range methods {
		types = append(append(types, m.Args...), m.Results...)
	}
	return types
}

// MisspelledTags returns an error for each tag whose key is nearly one that is read: what it says would not hold.
func MisspelledTags(methods []Values) (errs []error) {
	newVisited().each(allOf(methods), func(t reflect.Type) {
		if readsTags(t) {
			errs = append(errs, misspelledTagsOf(t)...)
		}
	})
	return errs
}

// ignoredTags warns of tags that look like others that are read, and are not: they are easily written, change nothing
// and break nothing. Tags of other libraries are ignored, except for rules that a reader would take for enforced.
func ignoredTags(methods []Values) (warnings []string) {
	visited := newVisited()
	warn := func(checked bool) func(reflect.Type) {
		return func(t reflect.Type) {
			if readsTags(t) {
				warnings = append(warnings, ignoredTagsOf(t, checked)...)
			}
		}
	}
	visited.each(argsOf(methods), warn(true))
	visited.each(allOf(methods), warn(false)) // results are not checked in any case
	return warnings
}

// asymmetricTypes warns of types in arguments that write their JSON themselves but do not read it, or read it but do
// not write it. The document has what is written, or else the kind of the type, so that callers who do as it says are
// refused.
func asymmetricTypes(methods []Values) (warnings []string) {
	newVisited().each(argsOf(methods), func(t reflect.Type) {
		if missing, does := missingMethod(t); missing != "" {
			warnings = append(warnings, fmt.Sprintf("type %v: it %s itself without a method %sText or %sJSON, "+
				"so that callers who send what the document says get 400: add one", t, does, missing, missing))
		}
	})
	return warnings
}

// unenforcedKeywords warns of types in arguments that say with a method of their own more than a document of OpenAPI
// 3.0.0 can, so that nothing checks it. A type that reads itself may do so.
func unenforcedKeywords(methods []Values) (warnings []string) {
	newVisited().each(argsOf(methods), func(t reflect.Type) {
		if checksItself(t) {
			return
		}
		keywords := map[string]bool{}
		collectUnenforced(ownSchema(t), keywords, map[*jsonschema.Schema]bool{nil: true})
		if len(keywords) > 0 {
			warnings = append(warnings,
				fmt.Sprintf("type %v: its schema has %s, which OpenAPI 3.0.0 cannot say and nothing checks: "+
					"check it in an UnmarshalJSON of the type, or say it in other keywords", t,
					strings.Join(slices.Sorted(maps.Keys(keywords)), ", ")))
		}
	})
	return warnings
}

// lostFields warns of structs that embed a type with its own JSON, such as a time.Time: its methods are promoted, so
// that the struct is written and read as that type is, without the fields beside it.
func lostFields(methods []Values) (warnings []string) {
	newVisited().each(allOf(methods), func(t reflect.Type) {
		if writer, lost := fieldsBeside(t); len(lost) > 0 {
			warnings = append(warnings, fmt.Sprintf("type %v: its JSON is that of the embedded %v, without %s: "+
				"declare the %[2]v as a field with a name, or write a MarshalJSON and an UnmarshalJSON",
				t, writer, strings.Join(lost, ", ")))
		}
	})
	return warnings
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
	below := slices.Concat(s.AllOf, s.AnyOf, s.OneOf, []*jsonschema.Schema{s.Not, s.Items, s.AdditionalProperties},
		slices.Collect(maps.Values(s.Definitions)))
	if s.Properties != nil {
		below = slices.AppendSeq(below, s.Properties.ValuesFromOldest())
	}
	for _, each := range below {
		collectUnenforced(each, keywords, seen)
	}
}

func misspelledTagsOf(t reflect.Type) (errs []error) {
	for f := range t.Fields() {
		keys, rest := tagKeys(f.Tag)
		if rest != "" && strings.Contains(strings.ToLower(rest), "json") && !isLeftOut(f) {
			errs = append(errs, fmt.Errorf("field %v.%s: the tag %s is read by nothing: "+
				"write `json:\"name\" jsonschema:\"minLength=1\"`, with quotes and without blanks", t, f.Name, rest))
		}
		for _, key := range keys {
			if meant := meantKey(key); meant != "" && !isLeftOut(f) {
				errs = append(errs, fmt.Errorf("field %v.%s: the tag %s is read by nothing: write %s", t, f.Name, key, meant))
			}
		}
	}
	return errs
}

// meantKey returns the key of a tag that a misspelled one stands for, "" if it is another library's.
func meantKey(key string) string {
	const schema = "jsonschema"
	plain := strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(key))
	letters := []byte(plain)
	slices.Sort(letters)
	switch {
	case key == "json", key == schema, strings.HasPrefix(key, schema+"_"): // which jsonschema reads, too
		return ""
	case string(letters) == "jnos", plain == "son", // the letters of json, or those without the first one
		// jason and jsonn; json5 and bson exist
		strings.HasPrefix(plain, "j") && strings.HasSuffix(plain, "n") && similar.Name(plain, []string{"json"}) != "":
		return "json"
	case len(plain) >= len(schema)-2 && similar.Name(plain, []string{schema}) != "":
		return schema
	default:
		return ""
	}
}

// ignoredTagsOf warns of the tags of one struct.
func ignoredTagsOf(t reflect.Type, checked bool) (warnings []string) {
	var rules []string // fields with some that nothing enforces
	for f := range t.Fields() {
		if isLeftOut(f) {
			continue
		}
		for _, option := range unknownOptions(f) {
			warnings = append(warnings,
				fmt.Sprintf("field %v.%s: the json option %q is ignored: use one of omitempty, omitzero, string, embed, or remove it",
					t, f.Name, option))
		}
		if hasString := slices.Contains(strings.Split(f.Tag.Get("json"), ",")[1:], "string"); hasString &&
			!mayBeQuoted(f.Type) {
			warnings = append(warnings, fmt.Sprintf("field %v.%s: the json option string is ignored on a %v: remove it", t,
				f.Name, f.Type))
		}
		keys, _ := tagKeys(f.Tag)
		others := slices.Contains(keys, "validate") || slices.Contains(keys, "binding") // of gin
		if checked && others && !slices.Contains(keys, "jsonschema") {
			rules = append(rules, f.Name)
		}
	}
	if len(rules) > 0 {
		warnings = append(warnings, fmt.Sprintf("type %v: the validate or binding tag of %s is ignored: "+
			"write the rules in jsonschema tags, such as jsonschema:\"minLength=1\"", t, strings.Join(rules, ", ")))
	}
	return warnings
}

// unknownOptions returns the options in a json tag that the codec ignores. Some others it refuses by itself.
func unknownOptions(f reflect.StructField) (unknown []string) {
	_, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	for option := range strings.SplitSeq(options, ",") {
		switch {
		case option == "", strings.HasPrefix(option, "case:"),
			slices.Contains([]string{"omitempty", "omitzero", "string", "embed"}, option):
		case option == "inline" && f.Anonymous: // says what is so in any case
		default:
			unknown = append(unknown, option)
		}
	}
	return unknown
}

// tagKeys returns the keys of a field's tag, as far as it has the usual form: key:"value", with blanks in between.
// Nothing reads the rest.
func tagKeys(tag reflect.StructTag) (keys []string, rest string) {
	rest = string(tag)
	for {
		rest = strings.TrimLeft(rest, " ")
		key, value, found := strings.Cut(rest, ":")
		quoted, err := strconv.QuotedPrefix(value)
		if !found || err != nil || value[0] != '"' || strings.ContainsAny(key, " \"") {
			return keys, rest
		}
		keys, rest = append(keys, key), value[len(quoted):]
	}
}

// missingMethod says which half of the methods a type lacks, and what the other half does. A type that describes itself
// knows what it does.
func missingMethod(t reflect.Type) (missing, does string) {
	writes, reads := WritesJSON(t) || WritesText(t), readsItself(t)
	switch {
	case describesItself(t) || writes == reads:
		return "", ""
	case writes:
		return "Unmarshal", "writes"
	}
	return "Marshal", "reads"
}

// fieldsBeside returns the type from which a struct has its JSON by promotion, and the fields that JSON would show
// otherwise. A type that describes itself knows what it does.
func fieldsBeside(t reflect.Type) (writer reflect.Type, lost []string) {
	method := writingMethod(t)
	if t.Kind() != reflect.Struct || method == "" || describesItself(t) {
		return nil, nil
	}
	if writer, _ = gotype.DeclaredIn(t, method); writer == t {
		return nil, nil
	}
	for f := range t.Fields() {
		if f.IsExported() && f.Tag.Get("json") != "-" && !(f.Anonymous && writingMethod(gotype.Base(f.Type)) == method) {
			lost = append(lost, f.Name)
		}
	}
	return writer, lost
}

// writingMethod returns the method with which a type writes itself, "" if it has none. The codec prefers them in this
// order.
func writingMethod(t reflect.Type) string {
	switch {
	case implements[jsonv2.MarshalerTo](t):
		return "MarshalJSONTo"
	case implements[json.Marshaler](t):
		return "MarshalJSON"
	case implements[encoding.TextAppender](t):
		return "AppendText"
	case implements[encoding.TextMarshaler](t):
		return "MarshalText"
	}
	return ""
}
