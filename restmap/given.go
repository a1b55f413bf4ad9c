package restmap

import (
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/busline/busline/restmap/strictjson"
)

// given adds the members of a filled struct that a form contains, and only those: a constraint may require the others.
// JSON texts are added as they were written, everything else as it was parsed.
func (f *form) given(members map[string]any, filled reflect.Value, text string) {
	values, err := url.ParseQuery(text)
	if err != nil {
		return // it has been parsed before
	}
	read := make(map[string]any) // of the arguments in the form
	for name := range namesGiven(text) {
		if field, known := f.fields[name]; known {
			read[name] = asJSON(filled.FieldByIndex(field.index))
			delete(members, name) // a later value replaces an earlier one
		}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) { // JSON before the parts that change it
		argument, behind, dotted := strings.Cut(name, ".")
		texts := values[name]
		switch _, known := read[argument]; {
		case !known || strings.Join(texts, "") == "":
		case dotted:
			members[argument] = withPart(members[argument], read[argument], strings.Split(behind, "."), f.fields[argument].formPart)
		default:
			members[argument] = read[argument]
			if written, ok := writtenAsJSON(texts); ok && !isText(f.fields[argument].typ) {
				members[argument] = written
			}
		}
	}
}

// writtenAsJSON parses texts that are a single object or array.
func writtenAsJSON(texts []string) (written any, ok bool) {
	if len(texts) != 1 || !strings.ContainsAny(texts[0][:1], "[{") {
		return nil, false
	}
	err := strictjson.Unmarshal([]byte(texts[0]), &written)
	return written, err == nil
}

// withPart copies one part of a parsed value into JSON; way holds the names and indexes that lead to it, and of is what has that
// part. The parsed value has all parts, whether or not the form mentions them, except those that its type omits if they are zero.
func withPart(into, read any, way []string, of formPart) any {
	if len(way) == 0 {
		return read
	}
	switch read := read.(type) {
	case map[string]any:
		object, ok := into.(map[string]any)
		if !ok {
			object = make(map[string]any)
		}
		name, rest := way[0], way[1:]
		if all := strings.Join(way, "."); read[all] != nil { // a key may contain dots
			name, rest = all, nil
		}
		part, there := read[name]
		inner, known := of.parts[name]
		if !there && known {
			part, there = asJSON(reflect.Zero(inner.typ)), true
		}
		if there {
			object[name] = withPart(object[name], part, rest, inner)
		}
		return object
	case []any:
		list, _ := into.([]any)
		index, err := strconv.Atoi(way[0])
		if err != nil || index >= len(read) {
			return list
		}
		for len(list) <= index {
			list = append(list, withoutMembers(read[len(list)]))
		}
		list[index] = withPart(list[index], read[index], way[1:], of)
		return list
	}
	return read
}

// withoutMembers returns what stands in a list for an element that the form does not mention.
func withoutMembers(element any) any {
	if _, isObject := element.(map[string]any); isObject {
		return make(map[string]any)
	}
	return element
}

// given returns the members of a whole body that a form contains.
func (b *formBody) given(body reflect.Value, text string) any {
	members := make(map[string]any)
	if b.object != nil {
		for body.Kind() == reflect.Pointer {
			body = body.Elem()
		}
		b.object.given(members, body, text)
		return members
	}
	values, err := url.ParseQuery(text)
	read, ok := asJSON(body).(map[string]any)
	if err != nil || !ok {
		return members
	}
	for name, texts := range values {
		if strings.Join(texts, "") != "" {
			members[name] = read[name]
		}
	}
	return members
}

// namesGiven yields the names in a query or a form that have a value, only the part before a dot. An empty value does
// not count: browsers send it for fields that were left blank.
func namesGiven(text string) map[string]bool {
	names := make(map[string]bool)
	values, err := url.ParseQuery(text)
	if err != nil {
		return names
	}
	for name, texts := range values {
		if strings.Join(texts, "") != "" {
			name, _, _ = strings.Cut(name, ".")
			names[name] = true
		}
	}
	return names
}

// asJSON returns a value as decoded JSON, nil if it has no JSON.
func asJSON(v reflect.Value) (read any) {
	data, err := strictjson.Marshal(v.Interface())
	if err != nil || strictjson.Unmarshal(data, &read) != nil {
		return nil
	}
	return read
}
