package main

import (
	"encoding"
	"encoding/json"
	"go/types"
	"reflect"
	"slices"
)

// Types with methods, which stand in for others that have them.
type (
	// textual marshals itself as text, and reads it back.
	textual struct {
		encoding.TextMarshaler
		encoding.TextUnmarshaler
	}
	// textWriter marshals itself as text.
	textWriter struct{ encoding.TextMarshaler }
	// textReader marshals itself, and is made from text.
	textReader struct {
		json.Marshaler
		encoding.TextUnmarshaler
	}
	// ownJSON marshals itself.
	ownJSON struct {
		json.Marshaler
		json.Unmarshaler
	}
	// failing is an error, and marshals itself.
	failing struct {
		error
		json.Marshaler
	}
	// endless embeds itself.
	endless struct{ *endless }
	// circle points to itself.
	circle *circle
	// opaque is an interface with methods. Its parameter makes several of it.
	opaque[T any] interface{ method() T }
)

// opaques are all different.
func opaques() []reflect.Type {
	return []reflect.Type{
		reflect.TypeFor[opaque[int]](), reflect.TypeFor[opaque[int8]](), reflect.TypeFor[opaque[int16]](), reflect.TypeFor[opaque[int32]](),
		reflect.TypeFor[opaque[int64]](), reflect.TypeFor[opaque[uint]](), reflect.TypeFor[opaque[uint8]](), reflect.TypeFor[opaque[uint16]](),
	}
}

// opaque returns what stands in for an interface, which the source calls t.
func (s *standIns) opaque(under *types.Interface, t types.Type) reflect.Type {
	if under.Empty() {
		return reflect.TypeFor[any]()
	}
	all := opaques()
	stand := all[s.opaques%len(all)]
	s.opaques++
	s.call(stand, t)
	return stand
}

// failing returns what stands in for a type that is an error by another name.
func (s *standIns) failing(t types.Type) reflect.Type {
	s.call(reflect.TypeFor[failing](), t)
	return reflect.TypeFor[failing]()
}

// marshaller returns what stands in for a type with a form of its own in JSON or text, nil when
// it has none. That of an integer or a string is one itself in all that matters.
func (s *standIns) marshaller(t types.Type) reflect.Type {
	has := methodsOf(t)
	writesText := has("MarshalText", nil, bytesAndError()) || has("AppendText", oneBytes(), bytesAndError())
	writesJSON := has("MarshalJSON", nil, bytesAndError()) || has("MarshalJSONTo", nil, nil)
	readsText := has("UnmarshalText", oneBytes(), oneError())
	if !writesText && !writesJSON && !readsText {
		return nil
	}
	var stand reflect.Type
	basic, isBasic := t.Underlying().(*types.Basic)
	fitsPath := readsText || isBasic || isBytes(t) && !has("UnmarshalJSON", oneBytes(), oneError())
	switch {
	case isBasic && basic.Info()&(types.IsInteger|types.IsString) != 0 && basic.Kind() != types.Uintptr:
		return s.basic(basic)
	case writesText && fitsPath:
		stand = reflect.TypeFor[textual]()
	case writesText:
		stand = reflect.TypeFor[textWriter]()
	case fitsPath:
		stand = reflect.TypeFor[textReader]()
	default:
		stand = reflect.TypeFor[ownJSON]()
	}
	s.call(stand, t)
	return stand
}

// methodsOf returns a function that tells whether a type, or its pointer, has a method. Without
// parameters and results any do.
func methodsOf(t types.Type) func(name string, params, results []types.Type) bool {
	if types.IsInterface(t) {
		return func(string, []types.Type, []types.Type) bool { return false }
	}
	set := types.NewMethodSet(types.NewPointer(t))
	return func(name string, params, results []types.Type) bool {
		selection := set.Lookup(nil, name)
		if selection == nil {
			return false
		}
		signature, ok := selection.Type().(*types.Signature)
		return ok && (params == nil && results == nil || areTypes(signature.Params(), params) && areTypes(signature.Results(), results))
	}
}

func areTypes(values *types.Tuple, want []types.Type) bool {
	return slices.EqualFunc(slices.Collect(values.Variables()), want, func(v *types.Var, t types.Type) bool {
		return types.Identical(v.Type(), t)
	})
}

func oneBytes() []types.Type { return []types.Type{types.NewSlice(types.Typ[types.Byte])} }

func oneError() []types.Type { return []types.Type{types.Universe.Lookup("error").Type()} }

func bytesAndError() []types.Type { return append(oneBytes(), oneError()...) }

func isBytes(t types.Type) bool { return types.Identical(t.Underlying(), oneBytes()[0]) }
