package bus

import (
	"encoding/json"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/busline/busline/restmap"
	"github.com/busline/busline/restmap/strictjson"
)

// inQuery says how arguments travel in a query. There 5 and "5" are one text, and what is empty counts as absent, so their
// types matter; the zero value stands for types that are not known.
type inQuery struct {
	vague bool            // text does not tell all values of some argument apart
	json  map[string]bool // arguments that are read as JSON
}

// inQueryOf returns how the fields of a struct travel.
func inQueryOf(arguments reflect.Type) (in inQuery) {
	if arguments.Kind() != reflect.Struct {
		return in
	}
	in.json = make(map[string]bool)
	for field := range arguments.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		in.json[name] = !restmap.IsText(field.Type)
		in.vague = in.vague || isVague(field.Type)
	}
	return in
}

// isVague says whether values of a type may have one text: 5 and "5" of any, nil and "" of a *string.
func isVague(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		return t.Elem().Kind() == reflect.String || t.Elem().Kind() == reflect.Slice
	}
	return t.Kind() == reflect.Interface
}

// holds says whether a query can hold all members as they are: plain texts, numbers and booleans, or none.
func (in inQuery) holds(members map[string]json.RawMessage) bool {
	if in.vague {
		return false
	}
	for _, value := range members {
		if isContainer(value) {
			return false
		}
	}
	return true
}

// add writes members into a query, instead of what that says of them. It returns the name of one that would lose something,
// "" if there is none.
func (in inQuery) add(query url.Values, members map[string]json.RawMessage) (lossy string) {
	for name, value := range members {
		texts, whole := in.texts(name, value)
		if !whole {
			return name
		}
		query.Del(name)
		for _, text := range texts {
			query.Add(name, text)
		}
	}
	return ""
}

// texts returns how a JSON value is written in a query: null is left out, a text stands for itself, a list of texts and numbers
// is repeated value by value, and anything else stays JSON, so that no number loses a digit. whole is false if the list would be
// shorter then.
func (in inQuery) texts(name string, value json.RawMessage) (texts []string, whole bool) {
	var (
		text  string
		items []json.RawMessage
	)
	switch {
	case string(value) == "null":
		return nil, true
	case in.json[name]:
		return []string{string(value)}, true
	case strictjson.Unmarshal(value, &text) == nil:
		return []string{text}, true
	case strictjson.Unmarshal(value, &items) != nil || slices.ContainsFunc(items, isContainer):
		return []string{string(value)}, true
	}
	for _, item := range items {
		if strictjson.Unmarshal(item, &text) != nil {
			text = string(item)
		}
		if text == "" { // or null
			return nil, false
		}
		texts = append(texts, text)
	}
	return texts, true
}

func isContainer(value json.RawMessage) bool { return value[0] == '{' || value[0] == '[' }
