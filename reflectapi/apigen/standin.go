package main

import (
	"context"
	"go/types"
	"net/http"
	"reflect"

	"github.com/busline/busline/reflectapi"
)

// standIns turns types of source into types of this program that are served alike: same kinds,
// same fields, same tags, as far as it matters to reflectapi and restmap. Reflection can make
// no type with a name or with methods, so that a few real ones stand in for those (standin_method.go).
//
// One is made for each method.
type standIns struct {
	qualifier types.Qualifier
	done      map[types.Type]reflect.Type
	whole     map[types.Type]reflect.Type // structs with all their fields
	trail     []types.Type                // named types on the way to the one at hand
	barrier   int                         // how long the trail was at the last field or element
	texts     map[string]string           // what this program calls a stand-in → what the source calls the type
	opaques   int                         // interfaces so far
	reached   []types.Object              // named types
	invalid   bool                        // there was a type that is not known
}

func newStandIns(qualifier types.Qualifier) *standIns {
	return &standIns{qualifier: qualifier, done: make(map[types.Type]reflect.Type), whole: make(map[types.Type]reflect.Type), texts: make(map[string]string)}
}

// of returns what stands in for a type.
func (s *standIns) of(t types.Type) reflect.Type {
	t = types.Unalias(t)
	if meant := realType(t); meant != nil {
		return meant
	}
	switch t := t.(type) {
	case *types.Basic:
		return s.basic(t)
	case *types.Named:
		return s.named(t)
	case *types.Struct:
		if stand := s.marshaller(t); stand != nil {
			return stand
		}
		return s.structOf(t, t)
	case *types.Interface:
		return s.opaque(t, t)
	case *types.Pointer:
		return reflect.PointerTo(s.of(t.Elem()))
	case *types.Chan:
		return s.chanOf(t)
	case *types.Signature:
		return s.funcOf(t)
	}
	return s.container(t)
}

// realType returns the types that mean something special in a signature.
func realType(t types.Type) reflect.Type {
	if types.Identical(t, types.Universe.Lookup("error").Type()) {
		return reflect.TypeFor[error]()
	}
	named, ok := t.(*types.Named)
	if !ok || named.Obj().Pkg() == nil {
		return nil
	}
	switch named.Obj().Pkg().Path() + "." + named.Obj().Name() {
	case "context.Context":
		return reflect.TypeFor[context.Context]()
	case "net/http.ResponseWriter":
		return reflect.TypeFor[http.ResponseWriter]()
	case "net/http.Request":
		return reflect.TypeFor[http.Request]()
	}
	return nil
}

// named returns what stands in for a type with a name. What leads back to itself is cut: what
// is wrong with the type is found the first time round.
func (s *standIns) named(t *types.Named) reflect.Type {
	if stand := s.done[t]; stand != nil {
		return stand
	}
	for i, outer := range s.trail {
		if types.Identical(outer, t) { // an instance of a generic type may be there twice
			return s.cut(t, i)
		}
	}
	s.reached = append(s.reached, t.Obj())
	s.trail = append(s.trail, t)
	stand := s.marshaller(t)
	if stand == nil {
		switch under := t.Underlying().(type) {
		case *types.Struct:
			s.whole[t] = s.structOf(under, t)
			stand = s.settled(t, s.whole[t])
		case *types.Interface:
			stand = s.opaque(under, t)
		default:
			stand = s.of(under)
		}
	}
	s.trail = s.trail[:len(s.trail)-1]
	s.done[t] = stand
	return stand
}

// cut ends a recursion: a type that embeds itself, or points to nothing but itself, is one that
// reflectapi knows as such.
func (s *standIns) cut(t *types.Named, start int) reflect.Type {
	if s.barrier > start {
		return reflect.TypeFor[any]()
	}
	stand := reflect.TypeFor[endless]()
	if _, isPointer := t.Underlying().(*types.Pointer); isPointer {
		stand = reflect.TypeFor[circle]()
	}
	s.call(stand, t)
	return stand
}

// behind returns what stands in for a type in a field or an element, where a type may lead back
// to itself.
func (s *standIns) behind(t types.Type) reflect.Type {
	defer func(before int) { s.barrier = before }(s.barrier)
	s.barrier = len(s.trail)
	return s.of(t)
}

// settled replaces a struct that nothing is wrong with by one that says no more than its name.
// What reflection calls a struct is all of its fields, those of its fields included, and would
// grow without limit.
func (s *standIns) settled(t *types.Named, stand reflect.Type) reflect.Type {
	probe := reflectapi.Signature{Name: "Probe", Func: reflect.FuncOf([]reflect.Type{stand}, nil, false), Params: []string{"of"}}
	if _, err := reflectapi.DescribeSignatures("", "", []reflectapi.Signature{probe}); err != nil || stand.NumField() == 0 {
		return stand
	}
	return s.structWith([]reflect.StructField{{Name: uniqueField(len(s.done)), Type: reflect.TypeFor[bool]()}}, t)
}

// embedded returns what stands in for an embedded type, which is there for its fields.
func (s *standIns) embedded(t types.Type) reflect.Type {
	stand, target := s.of(t), types.Unalias(t)
	pointer, isPointer := target.(*types.Pointer)
	if isPointer {
		target = types.Unalias(pointer.Elem())
	}
	switch whole := s.whole[target]; {
	case whole == nil:
		return stand
	case isPointer:
		return reflect.PointerTo(whole)
	default:
		return whole
	}
}

// call notes what the source calls the type that something stands in for. The first use counts:
// a few stand in for many.
func (s *standIns) call(stand reflect.Type, t types.Type) {
	if _, known := s.texts[stand.String()]; !known {
		s.texts[stand.String()] = types.TypeString(t, s.qualifier)
	}
}
