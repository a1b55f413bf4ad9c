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

// given adds what a form gives of a struct that it has filled, and nothing that it does not give: what is missing may be
// asked for. JSON in it is taken as it is written, all else as it was read.
func (f *form) given(members map[string]any, filled reflect.Value, text string) {
	values, err := url.ParseQuery(text)
	if err != nil {
		return // it has been read before
	}
	read := make(map[string]any) // of what is given
	for name := range namesGiven(text) {
		if field, known := f.fields[name]; known {
			read[name] = asJSON(filled.FieldByIndex(field.index))
			delete(members, name) // what was given elsewhere is replaced
		}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) { // JSON before the parts that mend it
		argument, behind, dotted := strings.Cut(name, ".")
		texts := values[name]
		switch _, known := read[argument]; {
		case !known || strings.Join(texts, "") == "":
		case dotted:
			members[argument] = withPart(members[argument], read[argument], strings.Split(behind, "."))
		default:
			members[argument] = read[argument]
			if written, ok := writtenAsJSON(texts); ok && !isText(f.fields[argument].typ) {
				members[argument] = written
			}
		}
	}
}

// writtenAsJSON reads texts that are one object or array.
func writtenAsJSON(texts []string) (written any, ok bool) {
	if len(texts) != 1 || !strings.ContainsAny(texts[0][:1], "[{") {
		return nil, false
	}
	err := strictjson.Unmarshal([]byte(texts[0]), &written)
	return written, err == nil
}

// withPart adds to JSON one part of what was read, given the names and indexes on the way there. What was read has all
// parts, mentioned or not.
func withPart(into, read any, way []string) any {
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
		if all := strings.Join(way, "."); read[all] != nil { // a key may have dots
			name, rest = all, nil
		}
		if part, there := read[name]; there {
			object[name] = withPart(object[name], part, rest)
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
		list[index] = withPart(list[index], read[index], way[1:])
		return list
	}
	return read
}

// withoutMembers is what stands in a list for an element that is not mentioned.
func withoutMembers(element any) any {
	if _, isObject := element.(map[string]any); isObject {
		return make(map[string]any)
	}
	return element
}

// given is what a form gives of the whole body that it has become.
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

// namesGiven are the names in a query or a form that have a value, those in front of a dot alone. An empty value is
// none: it is what a browser sends for a field that nobody filled in.
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

// asJSON is a value as JSON, read as any; nil when it has none.
func asJSON(v reflect.Value) (read any) {
	data, err := strictjson.Marshal(v.Interface())
	if err != nil || strictjson.Unmarshal(data, &read) != nil {
		return nil
	}
	return read
}
