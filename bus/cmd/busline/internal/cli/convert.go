package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/busline/busline/reflectapi/schema"
	"github.com/busline/busline/reflectapi/similar"
)

// filledParameter is an argument with its value.
type filledParameter struct {
	parameter
	value *value
}

// fill finds the places of each named argument, and converts it to its type.
func (p *plan) fill(args arguments) (filled []filledParameter, err error) {
	d := schemas{p.operation.document}
	for _, one := range args.named {
		places, rest, err := p.placesOf(one.name, args.body != nil)
		if err != nil {
			return nil, err
		}
		for _, to := range places {
			i := slices.IndexFunc(filled, func(f filledParameter) bool { return f.name == to.name && f.in == to.in })
			if i < 0 {
				i, filled = len(filled), append(filled, filledParameter{to, new(value)})
			}
			if to.in == inBody && p.operation.form() != "" {
				if err := p.checkFile(to, one); err != nil {
					return nil, err
				}
			}
			if err := d.put(filled[i].value, to.schema, to.name, rest, one); err != nil {
				return nil, err
			}
		}
	}
	return filled, nil
}

// placesOf returns the parameters with a name, and the names after it: "x" in "p1.x". There are several if the path or
// the query and the body share the name: one value is for all that are still free.
func (p *plan) placesOf(spelling string, wholeBody bool) (places []parameter, rest []string, err error) {
	known := p.operation.parameters()
	for _, k := range known { // both spellings of a member are accepted
		if k.partOf != "" && spelling == k.partOf+"."+k.name {
			spelling = k.name
		}
	}
	name, rest := longestName(strings.Split(spelling, "."), parameterNames(known))
	all := slices.DeleteFunc(slices.Clone(known), func(k parameter) bool { return k.name != name })
	places = p.free(all, len(rest) > 0)
	if member, ok := p.operation.member(name); ok && len(places) == 0 {
		places = append(places, member)
	}
	outside := slices.DeleteFunc(slices.Clone(places), func(k parameter) bool { return k.in == inBody })
	switch {
	case wholeBody && len(outside) > 0:
		return outside, rest, nil
	case wholeBody && len(places) > 0:
		return nil, nil, misuse("argument %s is part of the body, which is already given as a whole", name)
	case len(places) > 0:
		return places, rest, nil
	case len(all) > 0:
		return nil, nil, misuse("argument %s: its value is already in the path", name)
	case len(known) == 0 && p.operation.isUnlisted(p.operation.body()):
		return nil, nil, misuse("there is no argument %s: %s", name, p.asksForBody())
	}
	return nil, nil, unknownArgument(p.to, name, parameterNames(known))
}

// longestName divides the parts of "p1.x" into a name and those after it. A name may have dots itself: the longest one
// that is known counts, else the first part.
func longestName(parts, known []string) (name string, rest []string) {
	for end := len(parts); end > 1; end-- {
		if name = strings.Join(parts[:end], "."); slices.Contains(known, name) {
			return name, parts[end:]
		}
	}
	return parts[0], parts[1:]
}

// free returns those of the parameters of one name that the address does not set. Arguments replace values in its
// query, unless a member of the body has the same name. A path parameter has no parts.
func (p *plan) free(all []parameter, parts bool) (free []parameter) {
	query, _ := url.ParseQuery(p.to.query) // its error is reported when the request is made
	shared := len(all) > 1
	for _, each := range all {
		_, ok := p.inPath[each.name]
		switch {
		case each.in == inPath && (ok || shared && parts):
		case each.in == inQuery && shared && query.Has(each.name):
		default:
			free = append(free, each)
		}
	}
	return free
}

// maxItems bounds the index in line.3.n=2: a larger one is probably a typing error.
const maxItems = 1000

// value is a JSON value under construction: a text, or items, or members. One in a form may be a file, or have files as
// items.
type value struct {
	text    json.RawMessage
	file    *argument // of a form
	items   []*value
	members map[string]*value
}

// put sets an argument in a value of the schema. name is the path to that value, "p1"; rest are the names after it,
// "x".
func (d schemas) put(into *value, schema *schema.Schema, name string, rest []string, arg argument) error {
	if into.text != nil || into.file != nil {
		return misuse("argument %s is given more than once", name)
	}
	if len(rest) > 0 {
		return d.putInside(into, schema, name, rest, arg)
	}
	if arg.file && d.takesFile(schema) {
		into.file = &arg
		return nil
	}
	if arg.file && d.kind(schema) == typeArray && d.takesFile(d.resolve(schema).Items) {
		into.items = append(into.items, &value{file: &arg})
		return nil
	}
	if d.isItem(schema, arg) {
		item, err := d.convert(d.resolve(schema).Items, name, arg)
		into.items = append(into.items, &value{text: item})
		return err
	}
	if into.items != nil || into.members != nil {
		return misuse("argument %s is given as a whole and in parts", name)
	}
	var err error
	if arg.json {
		into.text, err = d.checkJSON(schema, name, arg.value)
	} else {
		into.text, err = d.convert(schema, name, arg)
	}
	return err
}

// isItem reports whether an argument is one item of an array, rather than the whole array.
func (d schemas) isItem(schema *schema.Schema, arg argument) bool {
	switch {
	case d.kind(schema) != typeArray || arg.json:
		return false
	case arg.file && d.takesBytes(d.resolve(schema).Items): // they may begin with any character
		return true
	default:
		return !strings.HasPrefix(arg.value, "[")
	}
}

// putInside sets an argument in a part of a value.
func (d schemas) putInside(into *value, schema *schema.Schema, name string, rest []string, arg argument) error {
	member, deeper := longestName(rest, d.propertyNames(schema))
	inner := name + "." + member
	switch d.kind(schema) {
	case typeArray:
		at, err := strconv.Atoi(member)
		if err != nil || at < 0 || at >= maxItems {
			return misuse("argument %s: %s is an array: repeat it, write %s.0=…, or %s:='[…]'", inner, name, name, name)
		}
		for len(into.items) <= at {
			into.items = append(into.items, new(value))
		}
		return d.put(into.items[at], d.resolve(schema).Items, inner, deeper, arg)
	case typeObject, "":
		property, known := d.property(schema, member)
		if !known {
			names := d.propertyNames(schema)
			return misuse("there is no argument %s: %s has %s%s", inner, name, orNothing(names),
				similar.DidYouMean(member, names))
		}
		if into.members == nil {
			into.members = make(map[string]*value)
		}
		if into.members[member] == nil {
			into.members[member] = new(value)
		}
		return d.put(into.members[member], property, inner, deeper, arg)
	default:
		return misuse("argument %s: %s is %s and has no parts", inner, name, withArticle(d.text(schema)))
	}
}

// json returns the value as JSON. Parts that were not given are null.
func (v *value) json() json.RawMessage {
	switch {
	case v.text != nil:
		return v.text
	case v.items != nil:
		texts := make([]string, len(v.items))
		for i, item := range v.items {
			texts[i] = string(item.json())
		}
		return json.RawMessage("[" + strings.Join(texts, ",") + "]")
	case v.members != nil:
		var texts []string
		for _, name := range slices.Sorted(maps.Keys(v.members)) {
			texts = append(texts, string(jsonOf(name))+":"+string(v.members[name].json()))
		}
		return json.RawMessage("{" + strings.Join(texts, ",") + "}")
	default:
		return json.RawMessage("null")
	}
}

// texts returns the value as in a query or a path: a text as itself, an array item by item, null as nothing, anything
// else as JSON.
func (v *value) texts() (all []string) {
	var (
		text  string
		items []json.RawMessage
	)
	whole := v.json()
	switch {
	case string(whole) == "null":
	case json.Unmarshal(whole, &text) == nil:
		all = append(all, text)
	case json.Unmarshal(whole, &items) == nil:
		for _, item := range items {
			all = append(all, (&value{text: item}).texts()...)
		}
	default:
		all = append(all, string(whole))
	}
	return all
}

// convert converts the text after = to JSON of the schema's type.
func (d schemas) convert(schema *schema.Schema, name string, arg argument) (json.RawMessage, error) {
	text, err := d.textOf(schema, name, arg)
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
		return nil, d.mismatch(schema, name, text)
	}
	return converted, nil
}

// checkJSON returns the JSON after :=, if it has the schema's type.
func (d schemas) checkJSON(schema *schema.Schema, name, text string) (json.RawMessage, error) {
	var compact bytes.Buffer
	if err := json.Compact(&compact, []byte(text)); err != nil {
		return nil, misuse("argument %s: %w", name, err)
	}
	if !d.fits(schema, compact.Bytes()) {
		return nil, d.mismatch(schema, name, text)
	}
	return compact.Bytes(), nil
}

// fits reports whether a JSON value, including everything in it, has the type of a schema. Other conditions, such as a
// range, are left to the service.
func (d schemas) fits(schema *schema.Schema, text json.RawMessage) bool {
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

func (d schemas) fitsObject(schema *schema.Schema, text json.RawMessage) bool {
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

// mismatch returns the error for a value of the wrong type.
func (d schemas) mismatch(schema *schema.Schema, name, text string) error {
	expected := withArticle(d.text(schema))
	hint := ""
	if choices := choicesOf(d.resolve(schema)); choices != "" {
		expected = choices
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

// isDuration reports whether an integer is a duration in nanoseconds, which is the JSON of a time.Duration. In
// documents the first word of its description says so.
func (d schemas) isDuration(schema *schema.Schema) bool {
	return d.kind(schema) == typeInteger && strings.HasPrefix(strings.ToLower(d.description(schema)), "nanoseconds")
}

// nanoseconds converts a text such as 1.5s to the integer in JSON; any other text, including a plain number, stays as
// it is.
func nanoseconds(text string) string {
	if _, err := strconv.ParseInt(text, 10, 64); err == nil { // time.ParseDuration would accept 0
		return text
	}
	if duration, err := time.ParseDuration(text); err == nil {
		return strconv.FormatInt(int64(duration), 10)
	}
	return text
}
