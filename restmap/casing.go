package restmap

import (
	"bytes"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/busline/busline/reflectapi"
	"github.com/busline/busline/restmap/strictjson"
)

// A name that differs from a known one only in case is a mistake: like any unknown name it would be ignored, and what it was meant for
// would be zero.

// miscased returns what is wrong with a name that differs from a known one only in case, "" if it does not.
func miscased[V any](name string, known map[string]V) string {
	for _, right := range slices.Sorted(maps.Keys(known)) {
		if right != name && strings.EqualFold(right, name) {
			return unknownName + ": write " + right
		}
	}
	return ""
}

// checkCasing returns an error for the first member in a JSON text whose name differs only in case from that of a field of t. The text
// has been read, and has unknown members.
func checkCasing(body []byte, t reflect.Type) error {
	decoder := jsontext.NewDecoder(bytes.NewReader(body))
	if detail := findMiscased(decoder, t); detail != "" {
		return &strictjson.Error{Pointer: string(decoder.StackPointer()), Detail: detail}
	}
	return nil
}

// findMiscased reads a value of a type, up to the first name that is wrong.
func findMiscased(decoder *jsontext.Decoder, t reflect.Type) (detail string) {
	t = pointed(t)
	kind, own := decoder.PeekKind(), readsJSON(t) || readsText(t)
	isStruct := kind == jsontext.KindBeginObject && t.Kind() == reflect.Struct
	isMap := kind == jsontext.KindBeginObject && t.Kind() == reflect.Map
	isList := kind == jsontext.KindBeginArray && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array)
	if own || !isStruct && !isMap && !isList {
		_ = decoder.SkipValue()
		return ""
	}
	var members map[string]reflect.Type
	if isStruct {
		members = make(map[string]reflect.Type)
		all, _ := reflectapi.JSONMembers(t)
		for _, member := range all {
			members[member.Name] = member.Type
		}
	}
	_, _ = decoder.ReadToken()
	for decoder.PeekKind() != jsontext.KindEndObject && decoder.PeekKind() != jsontext.KindEndArray {
		inner, known := reflect.Type(nil), true
		if isList || isMap {
			inner = t.Elem()
		}
		if !isList {
			name, err := decoder.ReadToken()
			if err != nil {
				return "" // cannot happen: it has been read before
			}
			if isStruct {
				inner, known = members[name.String()]
				if detail = miscased(name.String(), members); !known && detail != "" {
					return detail
				}
			}
		}
		if !known {
			_ = decoder.SkipValue()
		} else if detail = findMiscased(decoder, inner); detail != "" {
			return detail
		}
	}
	_, _ = decoder.ReadToken()
	return ""
}
