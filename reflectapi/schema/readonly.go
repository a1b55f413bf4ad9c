package schema

import (
	"reflect"
	"slices"

	"github.com/busline/busline/reflectapi/strictjson"
)

// isReadOnly reports whether the jsonschema tag of a field says that it is only in results.
func isReadOnly(tag reflect.StructTag) bool {
	return slices.Contains(tagParts(tag.Get("jsonschema")), "readOnly=true")
}

// ReadOnlyEraser returns a function that sets the members of a settable value to zero that are only in results
// (readOnly=true): what a caller sends for them is not an input. It is nil for a type without such members. It is safe
// for concurrent use, but not for concurrent use with one value.
func ReadOnlyEraser(t reflect.Type) func(reflect.Value) {
	e := eraser{}
	for found := -1; found < len(e); { // for types that contain themselves one round does not find all
		found = len(e)
		e.visit(t, map[reflect.Type]bool{})
	}
	if !e[t] {
		return nil
	}
	return e.erase
}

// eraser holds the types that have read-only members.
type eraser map[reflect.Type]bool

// visit adds a type, and those in it, as far as they have read-only members. met are those of this round.
func (e eraser) visit(t reflect.Type, met map[reflect.Type]bool) bool {
	if met[t] {
		return e[t]
	}
	met[t] = true
	found := false
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		found = e.visit(t.Elem(), met)
	case reflect.Interface:
		for _, variant := range strictjson.UnionOf(t).Structs() {
			inside := e.visit(variant, met)
			found = found || inside
		}
	case reflect.Struct:
		for f := range t.Fields() {
			inside := f.IsExported() && (isReadOnly(f.Tag) || e.visit(f.Type, met))
			found = found || inside
		}
	}
	if found {
		e[t] = true
	}
	return found
}

// erase erases the read-only members of a value, and everywhere in it.
func (e eraser) erase(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			e.erase(v.Elem())
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			e.erase(v.Index(i))
		}
	case reflect.Interface: // a union
		if v.IsNil() {
			return
		}
		held := reflect.New(v.Elem().Type()).Elem()
		held.Set(v.Elem())
		e.erase(held)
		v.Set(held)
	case reflect.Map:
		for _, key := range v.MapKeys() {
			value := reflect.New(v.Type().Elem()).Elem()
			value.Set(v.MapIndex(key))
			e.erase(value)
			v.SetMapIndex(key, value)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			switch f := v.Type().Field(i); {
			case !f.IsExported():
			case isReadOnly(f.Tag):
				v.Field(i).SetZero()
			case e[f.Type]:
				e.erase(v.Field(i))
			}
		}
	}
}
