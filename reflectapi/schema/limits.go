package schema

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"

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
	if err := CheckPattern(in.Pattern); err != nil {
		c.failf("the pattern %q %v", in.Pattern, err)
	}
	out.Minimum, out.Maximum = number(in.Minimum), number(in.Maximum)
	if limit := number(in.ExclusiveMinimum); limit != "" &&
		(out.Minimum == "" || limit.Rational().Cmp(out.Minimum.Rational()) >= 0) {
		out.Minimum, out.ExclusiveMinimum = limit, true
	}
	if limit := number(in.ExclusiveMaximum); limit != "" &&
		(out.Maximum == "" || limit.Rational().Cmp(out.Maximum.Rational()) <= 0) {
		out.Maximum, out.ExclusiveMaximum = limit, true
	}
	if out.MultipleOf = number(in.MultipleOf); out.MultipleOf != "" && out.MultipleOf.Rational().Sign() <= 0 {
		c.failf("multipleOf is %v, but has to be above 0", out.MultipleOf)
	}
}

// values converts the values in a schema: enum, also that of a closed type, default, example. jsonschema leaves many of
// them as the text of the tag, and a document that violates its own schema is invalid.
func (c *converter) values(in *jsonschema.Schema, out *Schema, t reflect.Type) {
	for _, value := range in.Enum {
		out.Enum = append(out.Enum, typed(value, out))
	}
	if in.Const != nil {
		out.Enum = []any{typed(in.Const, out)}
	}
	if out.Enum == nil {
		c.enum(t, out)
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

// checkHeld finds whole numbers in limits that a float type does not hold: a value is rounded before it is compared,
// and could pass a limit that it breaks. Other decimals are compared as they are written.
func (c *converter) checkHeld(in *jsonschema.Schema, out *Schema, t reflect.Type) {
	if t == nil || t.Kind() != reflect.Float32 && t.Kind() != reflect.Float64 {
		return
	}
	check := func(limit string, n Number) {
		if near, held := nearest(n.Rational(), t); !held {
			c.failf("%s: a %v does not hold this number: the nearest is %s", limit, t, near)
		}
	}
	check(limitText("minimum", out.Minimum, out.ExclusiveMinimum), out.Minimum)
	check(limitText("maximum", out.Maximum, out.ExclusiveMaximum), out.Maximum)
	check("multipleOf="+string(out.MultipleOf), out.MultipleOf)
	for _, value := range append(slices.Clone(in.Enum), in.Const) {
		check(fmt.Sprintf("enum=%v", value), Number(fmt.Sprint(value)))
	}
}

// nearest returns the number of a float type that is nearest to another one, and whether it is that number. A decimal
// counts as held, and so does what a float of the type is written as: 1e23.
func nearest(number *big.Rat, t reflect.Type) (near string, held bool) {
	f, held := number.Float64()
	if t.Kind() == reflect.Float32 {
		var single float32
		single, held = number.Float32()
		f = min(max(float64(single), -math.MaxFloat32), math.MaxFloat32)
	}
	written, _ := new(big.Rat).SetString(strconv.FormatFloat(f, 'g', -1, t.Bits()))
	return strconv.FormatFloat(f, 'f', 0, t.Bits()), held || !number.IsInt() || number.Cmp(written) == 0
}

// checkSatisfiable finds limits that leave no value at all, which is a mistake: every call would be answered 422. The
// schema has what the width of its Go type implies, too.
func (c *converter) checkSatisfiable(out *Schema, t reflect.Type) {
	c.checkOrder("minLength", out.MinLength, "maxLength", out.MaxLength)
	c.checkOrder("minItems", out.MinItems, "maxItems", out.MaxItems)
	c.checkOrder("minProperties", out.MinProperties, "maxProperties", out.MaxProperties)
	if out.Minimum == "" || out.Maximum == "" || holdsNumber(out) {
		return
	}
	low, high := limitText("minimum", out.Minimum, out.ExclusiveMinimum), limitText("maximum", out.Maximum,
		out.ExclusiveMaximum)
	if t != nil {
		lowest, highest := rangeOf(t)
		if lowest == out.Minimum {
			low = fmt.Sprintf("the lowest %v, %s,", t, lowest)
		}
		if highest == out.Maximum {
			high = fmt.Sprintf("the highest %v, %s,", t, highest)
		}
	}
	c.failRange(low, high)
}

// checkOrder compares limits of a length or a number of elements.
func (c *converter) checkOrder(least string, low *uint64, most string, high *uint64) {
	if low != nil && high != nil && *low > *high {
		c.failRange(fmt.Sprintf("%s=%d", least, *low), fmt.Sprintf("%s=%d", most, *high))
	}
}

func (c *converter) failRange(low, high string) {
	c.failf("%s and %s leave no value that fits: change one of them", low, high)
}

// holdsNumber reports whether there is a number, or with the type integer a whole one, between the limits.
func holdsNumber(s *Schema) bool {
	low, high := s.Minimum.Rational(), s.Maximum.Rational()
	if s.Type != "integer" {
		order := low.Cmp(high)
		return order < 0 || order == 0 && !s.ExclusiveMinimum && !s.ExclusiveMaximum
	}
	first, last := ceiling(low), floor(high)
	if s.ExclusiveMinimum {
		first = floor(low)
		first.Add(first, big.NewInt(1))
	}
	if s.ExclusiveMaximum {
		last = ceiling(high)
		last.Sub(last, big.NewInt(1))
	}
	return first.Cmp(last) <= 0
}

func floor(r *big.Rat) *big.Int { return new(big.Int).Div(r.Num(), r.Denom()) }

func ceiling(r *big.Rat) *big.Int {
	below := floor(new(big.Rat).Neg(r))
	return below.Neg(below)
}

// limitText writes a limit as in a tag.
func limitText(keyword string, limit Number, exclusive bool) string {
	switch {
	case exclusive && keyword == "minimum":
		keyword = "exclusiveMinimum"
	case exclusive:
		keyword = "exclusiveMaximum"
	}
	return keyword + "=" + string(limit)
}

// mentioned is a default or an example, and where it was found.
type mentioned struct {
	what, where string
	value       any
	schema      *Schema
}

// enumerated is a schema with an enum, and where it was found. values are those of its author: a nullable schema has
// null, too.
type enumerated struct {
	where  string
	values []any
	schema *Schema
}

// mention returns a default or an example in the form its schema requires. finish validates it once the schemas are
// complete.
func (c *converter) mention(what string, value any, s *Schema) any {
	value = typed(value, s)
	c.mentioned = append(c.mentioned, mentioned{what, c.where(), value, s})
	return value
}

// finish does what needs complete schemas: it validates defaults, examples and enums, and determines which members are
// required.
func (c *converter) finish() {
	if c.err != nil || len(c.mentioned)+len(c.enums)+len(c.members)+len(c.untyped) == 0 {
		return
	}
	if name, found := cyclicComponent(c.schemas.components); found {
		c.err = fmt.Errorf("%s: its schema refers only to itself, so it can never be checked", name)
		return
	}
	c.typeNullable()
	if !c.schemas.results {
		c.requireGiven()
	}
	rules := newCompiler(c.schemas.components)
	for _, m := range c.mentioned {
		if breach := rules.generic(m.schema).violation(m.value); breach != "" && c.err == nil {
			c.err = fmt.Errorf("%sthe %s %v breaks its own schema: it %s", m.where, m.what, m.value, breach)
		}
	}
	for _, e := range c.enums {
		if rule := rules.generic(e.schema); c.err == nil && !slices.ContainsFunc(e.values, rule.fitsValue) {
			c.err = fmt.Errorf("%sno value of its enum fits its own schema: change one of them", e.where)
		}
	}
	if rules.err != nil && c.err == nil {
		c.err = rules.err
	}
	if c.schemas.results { // defaults and examples need not be whole results
		c.requireWritten()
	}
	c.schemas.members = append(c.schemas.members, c.members...)
}

// requireGiven requires the members of arguments whose zero value is not valid.
func (c *converter) requireGiven() {
	rules := newCompiler(c.schemas.components)
	for i := range c.members {
		m := &c.members[i]
		if m.field.optional() || m.field.behindPointer(m.owner) || slices.Contains(m.object.Required, m.field.Name) {
			continue
		}
		if rules.restricts(m.schema, m.field.Type, map[*Schema]bool{}) && !rules.generic(m.schema).fitsZero(m.field.Type) {
			m.object.Required = append(m.object.Required, m.field.Name)
		}
	}
}

// requireWritten requires the members of results that are always written.
func (c *converter) requireWritten() {
	for i := range c.members {
		m := &c.members[i]
		if m.field.written(m.owner) && !slices.Contains(m.object.Required, m.field.Name) {
			m.object.Required = append(m.object.Required, m.field.Name)
		}
	}
}

// fitsValue reports whether decoded JSON satisfies a rule.
func (r *rule) fitsValue(value any) bool { return r.violation(value) == "" }

// violation returns how a value violates a rule, or "".
func (r *rule) violation(value any) string {
	var found validation
	r.check(&found, reflect.ValueOf(value))
	if len(found.found) == 0 {
		return ""
	}
	first := found.found[0]
	if first.Path != "" {
		return "has " + first.Path + ", which " + first.Detail
	}
	return first.Detail
}

// Required reports whether an argument has to be given. t is its type and schema the schema that the collection has
// returned for it. A missing argument has the zero value, which may violate the schema.
func (s *Schemas) Required(t reflect.Type, schema *Schema) bool {
	rules := newCompiler(s.components)
	return rules.restricts(schema, t, map[*Schema]bool{}) && !rules.generic(schema).fitsZero(t)
}

// cyclicComponent finds a component that refers back to itself without going through a member or an element, so that
// checking a value against it would never end. A component that contains itself in a member or an element is fine.
func cyclicComponent(components map[string]*Schema) (name string, found bool) {
	done := map[string]bool{}
	for name := range components {
		if name, found := findCycle(components, &Schema{Ref: componentPrefix + name}, nil, done); found {
			return name, true
		}
	}
	return "", false
}

// findCycle follows the schemas that apply to the same value.
func findCycle(components map[string]*Schema, s *Schema, within []string,
	done map[string]bool) (name string, found bool) {
	if s.Ref != "" {
		name = strings.TrimPrefix(s.Ref, componentPrefix)
		if slices.Contains(within, name) {
			return name, true
		}
		s = components[name]
		if s == nil || done[name] {
			return "", false
		}
		done[name] = true
		within = append(slices.Clone(within), name)
	}
	same := slices.Concat(s.AllOf, s.AnyOf, s.OneOf)
	if s.Not != nil {
		same = append(same, s.Not)
	}
	for _, each := range same {
		if name, found := findCycle(components, each, within, done); found {
			return name, true
		}
	}
	return "", false
}
