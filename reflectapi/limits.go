package reflectapi

import (
	"encoding/json"
	"regexp"
	"strconv"

	"github.com/invopop/jsonschema"
)

// limits converts the keywords that restrict a scalar. 2020-12 has separate numbers for exclusive limits, 3.0.0 a flag
// beside the inclusive one: the tighter of the two is kept.
func (c *converter) limits(in *jsonschema.Schema, out *Schema) {
	out.MinLength, out.MaxLength = in.MinLength, in.MaxLength
	out.Format, out.Pattern = in.Format, in.Pattern
	if in.ContentEncoding == "base64" {
		out.Format = "byte"
	}
	if _, err := regexp.Compile(in.Pattern); err != nil {
		c.failf("the pattern %q is not a regular expression that Go accepts: see package regexp/syntax", in.Pattern)
	}
	out.Minimum, out.Maximum = number(in.Minimum), number(in.Maximum)
	if limit := number(in.ExclusiveMinimum); limit != nil && (out.Minimum == nil || *limit >= *out.Minimum) {
		out.Minimum, out.ExclusiveMinimum = limit, true
	}
	if limit := number(in.ExclusiveMaximum); limit != nil && (out.Maximum == nil || *limit <= *out.Maximum) {
		out.Maximum, out.ExclusiveMaximum = limit, true
	}
	if out.MultipleOf = number(in.MultipleOf); out.MultipleOf != nil && *out.MultipleOf <= 0 {
		c.failf("multipleOf is %v, but has to be above 0", *out.MultipleOf)
	}
}

// number returns a JSON number, nil if it is not one.
func number(n json.Number) *float64 {
	f, err := n.Float64()
	if err != nil {
		return nil
	}
	return &f
}

// values converts the values in a schema: enum, default, example. jsonschema leaves many of them as the text of the
// tag, and a document that violates its own schema is invalid.
func (c *converter) values(in *jsonschema.Schema, out *Schema) {
	for _, value := range in.Enum {
		out.Enum = append(out.Enum, typed(value, out))
	}
	if in.Const != nil {
		out.Enum = []any{typed(in.Const, out)}
	}
	if len(out.Enum) > 0 {
		c.enums = append(c.enums, enumerated{c.where(), out.Enum, out})
	}
	if in.Default != nil {
		out.Default = c.mention("default", in.Default, out)
	}
	if len(in.Examples) > 0 {
		out.Example = c.mention("example", in.Examples[0], out)
	}
}

// typed converts a value given as text to the type in its schema. Text that cannot be parsed stays as it is.
func typed(value any, s *Schema) any {
	if list, ok := value.([]any); ok && s.Items != nil {
		values := make([]any, len(list))
		for i := range list {
			values[i] = typed(list[i], s.Items)
		}
		return values
	}
	var text string
	switch v := value.(type) {
	case json.Number:
		text = v.String()
	case string:
		text = v
	default:
		return plainJSON(value)
	}
	switch s.Type {
	case "integer", "number":
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n
		}
		if n, err := strconv.ParseUint(text, 10, 64); err == nil {
			return n
		}
		if f, err := strconv.ParseFloat(text, 64); err == nil {
			return f
		}
	case "boolean":
		if b, err := strconv.ParseBool(text); err == nil {
			return b
		}
	}
	return text
}

// plainJSON returns a value after a round trip through JSON, or the value itself if that fails.
func plainJSON(value any) (plain any) {
	data, err := json.Marshal(value)
	if err != nil || unmarshalExact(data, &plain) != nil {
		return value
	}
	return exact(plain)
}
