package restmap

import (
	"errors"
	"reflect"
	"strings"
)

// setMember sets the member of a map by its key, as in m.a=1.
func (d *formDecoding) setMember(name string, field formField, key string, texts []string) {
	argument, _, _ := strings.Cut(name, ".")
	index, value, err := memberOf(pointed(field.typ), argument, key, texts)
	if err != nil {
		d.faults = append(d.faults, faultOf(name, d.place, err))
		return
	}
	object := d.dst.FieldByIndex(field.index)
	if !d.maps[argument] {
		object.SetZero() // the previous content did not come from this form
		d.begin(argument, field)
	}
	for object.Kind() == reflect.Pointer {
		if object.IsNil() {
			object.Set(reflect.New(object.Type().Elem()))
		}
		object = object.Elem()
	}
	if object.IsNil() {
		object.Set(reflect.MakeMap(object.Type()))
	}
	object.SetMapIndex(index, value)
}

// begin records that a map has content from this form.
func (d *formDecoding) begin(argument string, field formField) {
	if !field.keyed {
		return
	}
	if d.maps == nil {
		d.maps = make(map[string]bool)
	}
	d.maps[argument] = true
}

// memberOf parses a key and a value of a map.
func memberOf(t reflect.Type, argument, key string, texts []string) (index, value reflect.Value, err error) {
	plain := IsText(t.Elem()) || t.Elem().Kind() == reflect.Interface
	switch {
	case key == "":
		return index, value, errors.New("needs a key after the dot")
	case !plain && strings.Contains(key, "."):
		return index, value, errors.New("refers to a part of a map value; write " + argument + " as one JSON value")
	}
	if index, err = fromText(t.Key(), key); err != nil {
		return index, value, errors.New("has a key of the wrong type: it " + err.Error())
	}
	value, err = member(t.Elem(), texts)
	return index, value, err
}
