package reflectapi

import (
	"encoding/base64"
	"math"
	"reflect"
	"regexp"
	"slices"
	"time"
	"unicode/utf8"
)

// violation says how a value breaks its schema, "" when it does not. simple is false for
// what is not checked: objects, schemas that depend on others, and what holds them.
func violation(value any, s *Schema) (reason string, simple bool) {
	if s.Ref != "" || len(s.AllOf)+len(s.AnyOf)+len(s.OneOf) > 0 || s.Not != nil {
		return "", false
	}
	if len(s.Enum) > 0 && !slices.ContainsFunc(s.Enum, func(e any) bool { return reflect.DeepEqual(e, value) }) {
		return "is none of the enum's values", true
	}
	switch v := value.(type) {
	case bool:
		return typeViolation(s, "boolean"), true
	case string:
		return textViolation(v, s), true
	case int64:
		return numberViolation(float64(v), s), true
	case float64:
		return numberViolation(v, s), true
	case []any:
		return listViolation(v, s)
	}
	return "", false
}

func typeViolation(s *Schema, fitting ...string) string {
	if s.Type != "" && !slices.Contains(fitting, s.Type) {
		return "is no " + s.Type
	}
	return ""
}

func textViolation(text string, s *Schema) string {
	length := uint64(utf8.RuneCountInString(text))
	switch pattern, err := regexp.Compile(s.Pattern); {
	case s.MinLength != nil && length < *s.MinLength:
		return "is too short"
	case s.MaxLength != nil && length > *s.MaxLength:
		return "is too long"
	case err == nil && !pattern.MatchString(text):
		return "does not match the pattern"
	case !hasFormat(text, s.Format):
		return "is no " + s.Format
	}
	return typeViolation(s, "string")
}

// hasFormat checks the formats that OpenAPI 3.0.0 itself defines for text.
func hasFormat(text, format string) bool {
	var err error
	switch format {
	case "date":
		_, err = time.Parse(time.DateOnly, text)
	case "date-time":
		_, err = time.Parse(time.RFC3339, text)
	case "byte":
		_, err = base64.StdEncoding.DecodeString(text)
	}
	return err == nil
}

func numberViolation(n float64, s *Schema) string {
	low := s.Minimum != nil && (n < *s.Minimum || n == *s.Minimum && s.ExclusiveMinimum)
	high := s.Maximum != nil && (n > *s.Maximum || n == *s.Maximum && s.ExclusiveMaximum)
	switch {
	case low || high, s.Format == "int32" && n != float64(int32(n)):
		return "is beyond the limits"
	case s.Type == "integer" && n != math.Trunc(n):
		return "is no integer"
	case s.MultipleOf != nil && math.Abs(math.Remainder(n, *s.MultipleOf)) > math.Abs(n)*0x1p-51:
		return "is no multiple"
	}
	return typeViolation(s, "integer", "number")
}

func listViolation(list []any, s *Schema) (reason string, simple bool) {
	length := uint64(len(list))
	switch {
	case s.MinItems != nil && length < *s.MinItems:
		return "is too short", true
	case s.MaxItems != nil && length > *s.MaxItems:
		return "is too long", true
	case s.UniqueItems && repeats(list):
		return "repeats an item", true
	case s.Items == nil:
		return typeViolation(s, "array"), true
	}
	for _, item := range list {
		if reason, simple := violation(item, s.Items); reason != "" || !simple {
			return reason, simple
		}
	}
	return typeViolation(s, "array"), true
}

func repeats(list []any) bool {
	for i, item := range list {
		if slices.ContainsFunc(list[:i], func(other any) bool { return reflect.DeepEqual(other, item) }) {
			return true
		}
	}
	return false
}
