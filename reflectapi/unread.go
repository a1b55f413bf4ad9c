package reflectapi

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/busline/busline/restmap/strictjson"
)

// unreadTags warns of tags that look like others that are read, and are not: they are easily written, change nothing and
// break nothing. Tags of other libraries are nobody's business, except for rules that a reader would take for enforced.
func (s *survey) unreadTags() (warnings []string) {
	seen := map[reflect.Type]bool{}
	warn := func(types []reflect.Type, checked bool) {
		for _, t := range types {
			eachType(t, seen, func(t reflect.Type) {
				if readsTags(t) {
					warnings = append(warnings, unreadIn(t, checked)...)
				}
			})
		}
	}
	for _, c := range s.candidates {
		warn(c.shape.args, true)
	}
	for _, c := range s.candidates {
		warn(c.shape.results, false) // which are not checked in any case
	}
	return warnings
}

// unreadIn warns of the tags of one struct.
func unreadIn(t reflect.Type, checked bool) (warnings []string) {
	var rules []string // fields with some that nothing enforces
	for f := range t.Fields() {
		if isLeftOut(f) {
			continue
		}
		for _, option := range unknownOptions(f) {
			warnings = append(warnings, fmt.Sprintf("field %v.%s: the json option %q is ignored: use one of omitempty, omitzero, string, %s, or remove it", t, f.Name, option, strictjson.EmbedOption))
		}
		keys := tagKeys(f.Tag)
		for _, key := range keys {
			for _, read := range []string{"json", "jsonschema"} {
				if key != read && strings.EqualFold(key, read) {
					warnings = append(warnings, fmt.Sprintf("field %v.%s: the tag %s is ignored: write %s, in lower case", t, f.Name, key, read))
				}
			}
		}
		if checked && slices.Contains(keys, "validate") && !slices.Contains(keys, "jsonschema") {
			rules = append(rules, f.Name)
		}
	}
	if len(rules) > 0 {
		warnings = append(warnings, fmt.Sprintf("type %v: the validate tag of %s is ignored: write the rules in jsonschema tags, such as jsonschema:\"minLength=1\"", t, strings.Join(rules, ", ")))
	}
	return warnings
}

// unknownOptions returns the options in a json tag that the codec ignores. Some others it refuses by itself.
func unknownOptions(f reflect.StructField) (unknown []string) {
	_, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	for option := range strings.SplitSeq(options, ",") {
		switch {
		case option == "", strings.HasPrefix(option, "case:"), slices.Contains([]string{"omitempty", "omitzero", "string", strictjson.EmbedOption}, option):
		case option == "inline" && f.Anonymous: // says what is so in any case
		default:
			unknown = append(unknown, option)
		}
	}
	return unknown
}

// tagKeys returns the keys of a field's tag, as far as it has the usual form: key:"value", with blanks in between.
func tagKeys(tag reflect.StructTag) (keys []string) {
	rest := string(tag)
	for {
		key, value, found := strings.Cut(strings.TrimLeft(rest, " "), ":")
		quoted, err := strconv.QuotedPrefix(value)
		if !found || err != nil {
			return keys
		}
		keys, rest = append(keys, key), value[len(quoted):]
	}
}
