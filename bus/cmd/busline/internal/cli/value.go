package cli

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/busline/busline/reflectapi"
)

// maxItems bounds the index in line.3.n=2: a larger one is probably a typing error.
const maxItems = 1000

// value is a JSON value under construction: a text, or items, or members.
type value struct {
	text    json.RawMessage
	items   []*value
	members map[string]*value
}

// put sets an argument in a value of the schema. name is the path to that value, "p1"; rest are the names after it,
// "x".
func (d schemas) put(into *value, schema *reflectapi.Schema, name string, rest []string, given argument) error {
	if into.text != nil {
		return misuse("argument %s is given more than once", name)
	}
	if len(rest) > 0 {
		return d.putInside(into, schema, name, rest, given)
	}
	if d.isItem(schema, given) {
		item, err := d.convert(d.resolve(schema).Items, name, given)
		into.items = append(into.items, &value{text: item})
		return err
	}
	if into.items != nil || into.members != nil {
		return misuse("argument %s is given as a whole and in parts", name)
	}
	var err error
	if given.json {
		into.text, err = d.checkJSON(schema, name, given.value)
	} else {
		into.text, err = d.convert(schema, name, given)
	}
	return err
}

// isItem reports whether an argument is one item of an array, rather than the whole array.
func (d schemas) isItem(schema *reflectapi.Schema, given argument) bool {
	switch {
	case d.kind(schema) != typeArray || given.json:
		return false
	case given.file && d.takesBytes(d.resolve(schema).Items): // they may begin with any character
		return true
	default:
		return !strings.HasPrefix(given.value, "[")
	}
}

// putInside sets an argument in a part of a value.
func (d schemas) putInside(into *value, schema *reflectapi.Schema, name string, rest []string, given argument) error {
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
		return d.put(into.items[at], d.resolve(schema).Items, inner, deeper, given)
	case typeObject, "":
		property, known := d.property(schema, member)
		if !known {
			names := d.propertyNames(schema)
			return misuse("there is no argument %s: %s has %s%s", inner, name, orNothing(names), didYouMean(member, names))
		}
		if into.members == nil {
			into.members = make(map[string]*value)
		}
		if into.members[member] == nil {
			into.members[member] = new(value)
		}
		return d.put(into.members[member], property, inner, deeper, given)
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
