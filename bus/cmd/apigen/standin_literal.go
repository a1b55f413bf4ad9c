package main

import (
	"fmt"
	"go/types"
	"reflect"
	"strconv"
	"strings"
	"unsafe"
)

// basic returns the predeclared type itself.
func (s *standIns) basic(t *types.Basic) reflect.Type {
	for _, stand := range []reflect.Type{
		reflect.TypeFor[bool](), reflect.TypeFor[string](),
		reflect.TypeFor[int](), reflect.TypeFor[int8](), reflect.TypeFor[int16](), reflect.TypeFor[int32](),
		reflect.TypeFor[int64](),
		reflect.TypeFor[uint](), reflect.TypeFor[uint8](), reflect.TypeFor[uint16](), reflect.TypeFor[uint32](),
		reflect.TypeFor[uint64](),
		reflect.TypeFor[float32](), reflect.TypeFor[float64](), reflect.TypeFor[complex64](), reflect.TypeFor[complex128](),
		reflect.TypeFor[uintptr](),
	} {
		if types.Typ[t.Kind()].Name() == stand.String() {
			return stand
		}
	}
	if t.Kind() == types.UnsafePointer {
		return reflect.TypeFor[unsafe.Pointer]()
	}
	s.invalid = true
	return reflect.TypeFor[any]()
}

// maxLength is the length of the longest array that is made; reflection does not allow much longer ones.
const maxLength = 64

// container returns the stand-in for a slice, an array or a map.
func (s *standIns) container(t types.Type) reflect.Type {
	switch t := t.(type) {
	case *types.Slice:
		return reflect.SliceOf(s.behind(t.Elem()))
	case *types.Array:
		return reflect.ArrayOf(int(min(max(t.Len(), 0), maxLength)), s.behind(t.Elem()))
	case *types.Map:
		key := s.behind(t.Key())
		if !key.Comparable() {
			return reflect.TypeFor[any]() // such a map does not compile
		}
		return reflect.MapOf(key, s.behind(t.Elem()))
	}
	s.invalid = true
	return reflect.TypeFor[any]()
}

// maxElement is the largest element of a channel in reflection, in bytes.
const maxElement = 1 << 16

func (s *standIns) chanOf(t *types.Chan) reflect.Type {
	direction := map[types.ChanDir]reflect.ChanDir{
		types.SendRecv: reflect.BothDir, types.SendOnly: reflect.SendDir, types.RecvOnly: reflect.RecvDir,
	}[t.Dir()]
	element := s.behind(t.Elem())
	if element.Size() >= maxElement {
		element = reflect.TypeFor[any]()
	}
	return reflect.ChanOf(direction, element)
}

// maxValues is the largest number of parameters and results of a function in reflection.
const maxValues = 128

func (s *standIns) funcOf(t *types.Signature) reflect.Type {
	if t.Params().Len()+t.Results().Len() > maxValues {
		return reflect.TypeFor[func()]()
	}
	return reflect.FuncOf(s.tuple(t.Params()), s.tuple(t.Results()), t.Variadic())
}

func (s *standIns) tuple(values *types.Tuple) []reflect.Type {
	var stands []reflect.Type
	for v := range values.Variables() {
		stands = append(stands, s.behind(v.Type()))
	}
	return stands
}

// structOf returns a struct with the same JSON members, called t in the source.
func (s *standIns) structOf(of *types.Struct, t types.Type) reflect.Type {
	var fields []reflect.StructField
	for i := range of.NumFields() {
		if field, counts := s.field(of.Field(i), reflect.StructTag(of.Tag(i))); counts {
			fields = append(fields, field)
		}
	}
	return s.structWith(fields, t)
}

// field returns the stand-in for a field. Reflection refuses some: so an embedded field gets an exported name, which
// makes a difference only for a pointer to a struct that is not exported, which bus.Serve refuses in an argument.
// counts is false for an embedded type with methods, which has no members.
func (s *standIns) field(v *types.Var, tag reflect.StructTag) (field reflect.StructField, counts bool) {
	member, _, _ := strings.Cut(tag.Get("json"), ",")
	switch {
	case v.Embedded() && member == "" && isStruct(pointedTo(v.Type())):
		t := s.embedded(v.Type())
		hasMethods := t.NumMethod() > 0 || reflect.PointerTo(t).NumMethod() > 0
		return reflect.StructField{Name: s.nameFor(v, "Standing_in"), Type: t, Tag: tag, Anonymous: true}, !hasMethods
	case v.Exported():
		return reflect.StructField{Name: v.Name(), Type: s.behind(v.Type()), Tag: tag}, true
	case v.Embedded() && isStruct(pointedTo(v.Type())): // has exported members
		return reflect.StructField{Name: s.nameFor(v, "Standing_in"), Type: s.behind(v.Type()), Tag: tag}, true
	}
	return reflect.StructField{Name: s.nameFor(v, "standing_in"), PkgPath: "main", Type: reflect.TypeFor[bool](),
		Tag: tag}, true
}

// nameFor returns an unused name for a field, which messages replace by the one in source.
func (s *standIns) nameFor(v *types.Var, prefix string) string {
	name := s.unusedName(prefix)
	s.texts[name] = v.Name()
	return name
}

// unusedName returns a name that no other field has.
func (s *standIns) unusedName(prefix string) string {
	s.fields++
	return fmt.Sprintf("%s_%d", prefix, s.fields)
}

// structWith makes a struct with its name in a tag, so that all are different types.
func (s *standIns) structWith(fields []reflect.StructField, t types.Type) reflect.Type {
	if len(fields) > 0 {
		fields[0].Tag += reflect.StructTag(" apigen:" + strconv.Quote(types.TypeString(t, nil)))
	}
	stand := reflect.StructOf(fields)
	if len(fields) > 0 {
		s.call(stand, t)
	}
	return stand
}
