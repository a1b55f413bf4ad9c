package schema

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/busline/busline/reflectapi/internal/gotype"
)

// Values are the types of one method's arguments and results.
type Values struct{ Args, Results []reflect.Type }

// Warnings returns what is probably wrong with the types of methods, and is no error: tags that are read by nothing, types that write what
// they cannot read, keywords that nothing checks, and fields that JSON leaves out.
func Warnings(methods []Values) []string {
	return slices.Concat(ignoredTags(methods), asymmetricTypes(methods), unenforcedKeywords(methods), lostFields(methods))
}

// MisspelledTags returns an error for each tag whose key is nearly one that is read: what it says would not hold.
func MisspelledTags(methods []Values) (errs []error) {
	seen := map[reflect.Type]bool{}
	for _, m := range methods {
		for _, each := range slices.Concat(m.Args, m.Results) {
			eachType(each, seen, func(t reflect.Type) {
				if readsTags(t) {
					errs = append(errs, misspelledTagsOf(t)...)
				}
			})
		}
	}
	return errs
}

// ignoredTags warns of tags that look like others that are read, and are not: they are easily written, change nothing and
// break nothing. Tags of other libraries are ignored, except for rules that a reader would take for enforced.
func ignoredTags(methods []Values) (warnings []string) {
	seen := map[reflect.Type]bool{}
	warn := func(types []reflect.Type, checked bool) {
		for _, t := range types {
			eachType(t, seen, func(t reflect.Type) {
				if readsTags(t) {
					warnings = append(warnings, ignoredTagsOf(t, checked)...)
				}
			})
		}
	}
	for _, m := range methods {
		warn(m.Args, true)
	}
	for _, m := range methods {
		warn(m.Results, false) // which are not checked in any case
	}
	return warnings
}

// asymmetricTypes warns of types in arguments that write their JSON themselves but do not read it, or read it but do not write it. The
// document has what is written, or else the kind of the type, so that callers who do as it says are refused.
func asymmetricTypes(methods []Values) (warnings []string) {
	seen, judged := map[reflect.Type]bool{}, map[reflect.Type]bool{}
	for _, m := range methods {
		for _, t := range m.Args {
			eachType(t, seen, func(t reflect.Type) {
				t = gotype.Base(t) // a pointer has the methods, too
				if missing, does := missingMethod(t); missing != "" && !judged[t] {
					judged[t] = true
					warnings = append(warnings, fmt.Sprintf("type %v: it %s itself without a method %sText or %sJSON, so that callers who send what the document says get 400: add one", t, does, missing, missing))
				}
			})
		}
	}
	return warnings
}

// unenforcedKeywords warns of types in arguments that say with a method of their own more than a document of OpenAPI
// 3.0.0 can, so that nothing checks it. A type that reads itself may do so.
func unenforcedKeywords(methods []Values) (warnings []string) {
	seen, judged := map[reflect.Type]bool{}, map[reflect.Type]bool{}
	for _, m := range methods {
		for _, t := range m.Args {
			eachType(t, seen, func(t reflect.Type) {
				if judged[t] || checksItself(t) {
					return
				}
				judged[t] = true
				keywords := map[string]bool{}
				collectUnenforced(ownSchema(t), keywords, map[*jsonschema.Schema]bool{nil: true})
				if len(keywords) > 0 {
					warnings = append(warnings, fmt.Sprintf("type %v: its schema has %s, which OpenAPI 3.0.0 cannot say and nothing checks: "+
						"check it in an UnmarshalJSON of the type, or say it in other keywords", t, strings.Join(slices.Sorted(maps.Keys(keywords)), ", ")))
				}
			})
		}
	}
	return warnings
}

// lostFields warns of structs that embed a type with its own JSON, such as a time.Time: its methods are promoted, so that the
// struct is written and read as that type is, without the fields beside it.
func lostFields(methods []Values) (warnings []string) {
	seen, judged := map[reflect.Type]bool{}, map[reflect.Type]bool{}
	for _, m := range methods {
		for _, t := range slices.Concat(m.Args, m.Results) {
			eachType(t, seen, func(t reflect.Type) {
				t = gotype.Base(t) // a pointer has the methods, too
				if writer, lost := fieldsBeside(t); len(lost) > 0 && !judged[t] {
					judged[t] = true
					warnings = append(warnings, fmt.Sprintf("type %v: its JSON is that of the embedded %v, without %s: declare the %[2]v as a field with a name, or write a MarshalJSON and an UnmarshalJSON",
						t, writer, strings.Join(lost, ", ")))
				}
			})
		}
	}
	return warnings
}
