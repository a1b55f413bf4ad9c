package strictjson

import (
	"encoding"
	stdjson "encoding/json"
	"reflect"
	"time"

	"github.com/go-json-experiment/json"
)

// compiler makes the nodes of a type and of all types in it. It remembers finished ones, and treats those in progress
// as not plain: the depth of a recursive type's values is unknown.
type compiler map[reflect.Type]*node

func (c compiler) node(t reflect.Type) *node {
	if known, ok := c[t]; ok {
		return known
	}
	c[t] = new(node)
	made := c.make(t)
	if made.height > maxHeight {
		made = node{}
	}
	c[t] = &made
	return &made
}

// maxHeight is how deep the values of a plain type may nest: far below [MaxDepth], which plans do not check.
const maxHeight = 16

// The texts of bounded length: digits, sign, exponent.
const (
	boolSize  = len("false")
	intSize   = len("-9223372036854775808")
	floatSize = len("-2.2250738585072014e-308")
	timeSize  = len(`"2006-01-02T15:04:05.999999999+07:00"`)
	nullSize  = len("null")
)

func (c compiler) make(t reflect.Type) node {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return node{kind: plainTime, writable: true, fixed: timeSize}
	case t == reflect.TypeFor[stdjson.Number]():
		return node{} // a number, although its kind is string
	case t.Kind() != reflect.Pointer && t.Kind() != reflect.Interface && hasMethods(t):
		return node{} // it marshals or unmarshals itself; for a pointer the type behind it decides
	}
	switch t.Kind() {
	case reflect.Bool:
		return node{kind: plainBool, writable: true, fixed: boolSize}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return node{kind: plainInt, writable: true, bits: t.Bits(), fixed: intSize}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return node{kind: plainUint, writable: true, bits: t.Bits(), fixed: intSize}
	case reflect.Float32, reflect.Float64:
		return node{kind: plainFloat, writable: true, bits: t.Bits(), fixed: floatSize}
	case reflect.String:
		return node{kind: plainString, writable: true}
	case reflect.Pointer:
		elem := c.node(t.Elem())
		return node{kind: plainPointer, writable: elem.writable, elem: elem, height: elem.height + 1}
	case reflect.Slice:
		return c.list(t)
	case reflect.Struct:
		return c.structure(t)
	case reflect.Interface:
		return node{kind: plainAny, writable: t.NumMethod() == 0}
	case reflect.Map:
		same := t.ConvertibleTo(reflect.TypeFor[map[string]any]())
		return node{kind: plainMap, writable: same}
	default:
		return node{}
	}
}

// hasMethods says whether a type has a method to marshal or unmarshal itself.
func hasMethods(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return readsItself(t) ||
		p.Implements(reflect.TypeFor[json.MarshalerTo]()) ||
		p.Implements(reflect.TypeFor[stdjson.Marshaler]()) ||
		p.Implements(reflect.TypeFor[encoding.TextAppender]()) ||
		p.Implements(reflect.TypeFor[encoding.TextMarshaler]())
}

// list plans a slice. Slices of a named byte type are left to the library, which does not treat them as bytes.
func (c compiler) list(t reflect.Type) node {
	switch {
	case t.Elem() == reflect.TypeFor[byte]():
		return node{kind: plainBytes, writable: true}
	case t.Elem().Kind() == reflect.Uint8:
		return node{}
	}
	elem := c.node(t.Elem())
	return node{kind: plainList, writable: elem.writable, elem: elem, height: elem.height + 1, none: reflect.MakeSlice(t, 0, 0)}
}

// structure plans a struct.
func (c compiler) structure(t reflect.Type) node {
	fields, plain := c.fields(t)
	if !plain {
		return node{}
	}
	n := node{kind: plainStruct, writable: true, fields: fields, folds: true, fixed: len("{}")}
	for place := range fields {
		f := &fields[place]
		n.writable = n.writable && f.writable
		n.height = max(n.height, f.height+1)
		n.folds = n.folds && n.fold([]byte(f.name)) == place
		n.fixed += len(f.quoted) + f.fixed + len(",")
		if f.fixed == 0 || len(f.variable) > 0 {
			n.variable = append(n.variable, place)
			n.fixed -= f.fixed // already included
		}
	}
	if len(fields) > manyFields {
		n.places = make(map[string]int, len(fields))
		for place := range fields {
			n.places[fields[place].name] = place
		}
	}
	return n
}
