package restmap

import (
	"errors"
	"maps"
	"net/url"
	"reflect"
	"slices"
)

// formBody is the plan for turning a form into the value that is a whole body: a struct, a map with string keys, or
// any, which becomes a map.
type formBody struct {
	object  *form        // for a struct
	element reflect.Type // of a map
}

// newFormBody plans bodies of type t; nil if no form can represent them.
func newFormBody(t reflect.Type) *formBody {
	t = pointed(t)
	switch {
	case t.Kind() == reflect.Interface:
		return &formBody{element: t}
	case readsText(t) || readsJSON(t):
		return nil
	case t.Kind() == reflect.Struct:
		return &formBody{object: newForm(targetsOf(t))}
	case t.Kind() == reflect.Map && t.Key() == reflect.TypeFor[string]():
		return &formBody{element: t.Elem()}
	default:
		return nil
	}
}

// decode sets dst, an addressable value of the planned type.
func (b *formBody) decode(dst reflect.Value, values url.Values) []ArgumentError {
	dst = allocated(dst)
	if b.object != nil {
		return b.object.decode(dst, values, inBody)
	}
	members := dst.Type()
	if members.Kind() == reflect.Interface {
		members = reflect.TypeFor[map[string]any]()
	}
	object := reflect.MakeMap(members)
	var faults []ArgumentError
	for _, name := range slices.Sorted(maps.Keys(values)) {
		value, err := member(b.element, values[name])
		if err != nil {
			faults = append(faults, faultOf(name, inBody, err))
			continue
		}
		object.SetMapIndex(reflect.ValueOf(name), value)
	}
	dst.Set(object)
	return faults
}

// member returns one member of a map from the texts of its name. For a map of any it is a string, or a list of strings
// if the name is repeated.
func member(t reflect.Type, texts []string) (value reflect.Value, err error) {
	switch {
	case t.Kind() == reflect.Interface && len(texts) == 1:
		return fromText(reflect.TypeFor[string](), texts[0])
	case t.Kind() == reflect.Interface:
		return fromTexts(reflect.TypeFor[[]string](), texts)
	case len(texts) > 1 && !isTextList(t):
		return value, errors.New("is given more than once")
	default:
		return fromTexts(t, texts)
	}
}
