package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/busline/busline/reflectapi"
)

// convert converts the text after = to JSON of the schema's type.
func (d schemas) convert(schema *reflectapi.Schema, name string, given argument) (json.RawMessage, error) {
	text, err := d.textOf(schema, name, given)
	if err != nil {
		return nil, err
	}
	if d.isDuration(schema) {
		text = nanoseconds(text)
	}
	var converted json.RawMessage
	switch d.kind(schema) {
	case typeInteger, typeNumber, typeBoolean:
		if json.Valid([]byte(text)) {
			converted = json.RawMessage(strings.TrimSpace(text))
		}
	case typeObject, typeArray:
		if json.Valid([]byte(text)) {
			return d.checkJSON(schema, name, text)
		}
	default:
		converted = jsonOf(text)
	}
	if converted == nil || !d.fits(schema, converted) {
		return nil, d.misfit(schema, name, text)
	}
	return converted, nil
}

// checkJSON returns the JSON after :=, if it has the schema's type.
func (d schemas) checkJSON(schema *reflectapi.Schema, name, text string) (json.RawMessage, error) {
	var compact bytes.Buffer
	if err := json.Compact(&compact, []byte(text)); err != nil {
		return nil, misuse("argument %s: %w", name, err)
	}
	if !d.fits(schema, compact.Bytes()) {
		return nil, d.misfit(schema, name, text)
	}
	return compact.Bytes(), nil
}

// fits reports whether a JSON value, including everything in it, has the type of a schema. Other conditions, such as a
// range, are left to the service.
func (d schemas) fits(schema *reflectapi.Schema, text json.RawMessage) bool {
	resolved := d.resolve(schema)
	if string(text) == "null" {
		return d.nullable(schema)
	}
	switch d.kind(schema) {
	case typeInteger:
		return isNumber(text) && !strings.ContainsAny(string(text), ".eE")
	case typeNumber:
		return isNumber(text)
	case typeBoolean:
		return text[0] == 't' || text[0] == 'f'
	case typeString:
		return text[0] == '"' && d.isAmong(resolved.Enum, text)
	case typeArray:
		var items []json.RawMessage
		return json.Unmarshal(text, &items) == nil &&
			!slices.ContainsFunc(items, func(item json.RawMessage) bool { return !d.fits(resolved.Items, item) })
	case typeObject:
		return d.fitsObject(schema, text)
	default:
		return true
	}
}

func (d schemas) fitsObject(schema *reflectapi.Schema, text json.RawMessage) bool {
	var members map[string]json.RawMessage
	if json.Unmarshal(text, &members) != nil {
		return false
	}
	for name, member := range members {
		if property, known := d.property(schema, name); known && !d.fits(property, member) {
			return false
		}
	}
	return true
}

// isAmong reports whether a text is in an enumeration; every text is if there is none.
func (d schemas) isAmong(enum []any, text json.RawMessage) bool {
	var said string
	return len(enum) == 0 || json.Unmarshal(text, &said) == nil && slices.Contains(enum, any(said))
}

func isNumber(text json.RawMessage) bool { return text[0] == '-' || '0' <= text[0] && text[0] <= '9' }

// misfit returns the error for a value of the wrong type.
func (d schemas) misfit(schema *reflectapi.Schema, name, text string) error {
	expected := withArticle(d.text(schema))
	hint := ""
	if enum := d.resolve(schema).Enum; len(enum) > 0 {
		expected = "one of " + strings.Trim(fmt.Sprint(enum), "[]")
	}
	switch d.kind(schema) {
	case typeInteger:
		if d.isDuration(schema) {
			expected = "a time such as 1.5s or a number of nanoseconds"
		}
	case typeObject:
		part := "name"
		if names := d.propertyNames(schema); len(names) > 0 {
			part = names[0]
		}
		hint = fmt.Sprintf("; write its parts as %s.%s=…, or all of it as %s:='{…}'", name, part, name)
	case typeArray:
		hint = fmt.Sprintf("; repeat %s=…, or write %s:='[…]'", name, name)
	}
	return misuse("argument %s is %s, not %.40q%s", name, expected, text, hint)
}

func withArticle(noun string) string {
	if noun != "" && strings.ContainsAny(noun[:1], "aeiouAEIOU") {
		return "an " + noun
	}
	return "a " + noun
}
