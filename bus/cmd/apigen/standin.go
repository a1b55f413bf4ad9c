package main

import (
	"context"
	"go/types"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"reflect"

	"github.com/busline/busline/reflectapi"
)

// standIns converts types in source to types of this program that are served alike: same kinds, same fields, same tags,
// as far as reflectapi and restmap look at them. Reflection cannot make types with a name or with methods, so a few
// declared ones stand in for those (standin_method.go).
//
// Each method gets a new one.
type standIns struct {
	qualifier types.Qualifier
	isUnion   func(types.Type) bool
	done      map[types.Type]reflect.Type
	whole     map[types.Type]reflect.Type // structs with all fields
	trail     []*types.Named              // named types on the path to the current one
	barrier   int                         // length of the trail at the last field or element
	texts     map[string]string           // name of a stand-in in this program → name of the type, or field, in source
	opaques   int                         // interfaces so far
	fields    int                         // fields so far that were given names
	reached   []types.Object              // named types
	invalid   bool                        // an unknown type was found
}

func newStandIns(qualifier types.Qualifier, isUnion func(types.Type) bool) *standIns {
	return &standIns{qualifier: qualifier, isUnion: isUnion, done: make(map[types.Type]reflect.Type),
		whole: make(map[types.Type]reflect.Type), texts: make(map[string]string)}
}

// of returns the stand-in for a type.
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

// realType returns the types with a special meaning in a signature.
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
	case "mime/multipart.FileHeader":
		return reflect.TypeFor[multipart.FileHeader]()
	case "os.File":
		return reflect.TypeFor[os.File]()
	case "io.Reader":
		return reflect.TypeFor[io.Reader]()
	case "io.ReadCloser":
		return reflect.TypeFor[io.ReadCloser]()
	case "io.Writer":
		return reflect.TypeFor[io.Writer]()
	}
	return nil
}

// maxNested is how many instances of a generic type may be nested. One that leads to ever larger instances of itself
// does not compile.
const maxNested = 100

// named returns the stand-in for a named type. Recursion is cut off: diagnostics of the type are found on the first
// pass.
func (s *standIns) named(t *types.Named) reflect.Type {
	if stand := s.done[t]; stand != nil {
		return stand
	}
	nested := 0
	for i, outer := range s.trail {
		if types.Identical(outer, t) { // a generic type may have several identical instances
			return s.cut(t, i)
		}
		if outer.Origin() == t.Origin() {
			nested++
		}
	}
	if nested == maxNested {
		s.invalid = true
		return reflect.TypeFor[any]()
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

// cut ends a recursion: reflectapi has errors of its own for types that embed themselves, or point only to themselves.
func (s *standIns) cut(t *types.Named, start int) reflect.Type {
	switch {
	case s.barrier > start && isStruct(t):
		return s.nameOnly(t)
	case s.barrier > start:
		return reflect.TypeFor[any]()
	}
	stand := reflect.TypeFor[endless]()
	if _, isPointer := t.Underlying().(*types.Pointer); isPointer {
		stand = reflect.TypeFor[circle]()
	}
	s.call(stand, t)
	return stand
}

// behind returns the stand-in for a type in a field or an element, where a type may refer to itself.
func (s *standIns) behind(t types.Type) reflect.Type {
	defer func(before int) { s.barrier = before }(s.barrier)
	s.barrier = len(s.trail)
	return s.of(t)
}

// settled replaces a struct without diagnostics by one that carries only its name. Reflection names a struct by all of
// its fields, including those of nested structs, and that text would grow without limit.
func (s *standIns) settled(t *types.Named, stand reflect.Type) reflect.Type {
	probe := reflectapi.Signature{Name: "Probe", Func: reflect.FuncOf([]reflect.Type{stand}, nil, false),
		Params: []string{"of"}}
	if _, err := reflectapi.DescribeSignatures("", "", []reflectapi.Signature{probe}); err != nil ||
		stand.NumField() == 0 {
		return stand
	}
	return s.nameOnly(t)
}

// nameOnly returns the stand-in for a struct of which only the name matters.
func (s *standIns) nameOnly(t *types.Named) reflect.Type {
	return s.structWith([]reflect.StructField{{Name: s.unusedName("Standing_in"), Type: reflect.TypeFor[bool]()}}, t)
}

// embedded returns the stand-in for an embedded struct, of which only the fields matter.
func (s *standIns) embedded(t types.Type) reflect.Type {
	stand, target := s.of(t), pointedTo(t)
	whole := s.whole[target]
	switch {
	case whole == nil:
		return stand
	case target != types.Unalias(t):
		return reflect.PointerTo(whole)
	default:
		return whole
	}
}

// pointedTo returns the type that a pointer points to; any other type as it is.
func pointedTo(t types.Type) types.Type {
	t = types.Unalias(t)
	if pointer, ok := t.(*types.Pointer); ok {
		return types.Unalias(pointer.Elem())
	}
	return t
}

func isStruct(t types.Type) bool {
	_, is := t.Underlying().(*types.Struct)
	return is
}

// call records the source's name for a type with a stand-in. The first one is kept, because a few stand-ins serve for
// many types.
func (s *standIns) call(stand reflect.Type, t types.Type) {
	if _, known := s.texts[stand.String()]; !known {
		s.texts[stand.String()] = types.TypeString(t, s.qualifier)
	}
}
