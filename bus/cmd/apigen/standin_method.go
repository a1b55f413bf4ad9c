package main

import (
	"encoding"
	"encoding/json"
	"go/types"
	"reflect"
	"slices"
)

// Types with methods, which stand in for others with the same methods.
type (
	// textual marshals itself to text, and unmarshals itself.
	textual struct {
		encoding.TextMarshaler
		encoding.TextUnmarshaler
	}
	// textWriter marshals itself to text.
	textWriter struct{ encoding.TextMarshaler }
	// textReader marshals itself, and unmarshals itself from text.
	textReader struct {
		json.Marshaler
		encoding.TextUnmarshaler
	}
	// ownJSON marshals itself to JSON.
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
	// opaque is an interface with methods. Its type parameter makes several different ones.
	opaque[T any] interface{ method() T }
)

// opaques are distinct types.
func opaques() []reflect.Type {
	return []reflect.Type{
		reflect.TypeFor[opaque[int]](), reflect.TypeFor[opaque[int8]](), reflect.TypeFor[opaque[int16]](),
		reflect.TypeFor[opaque[int32]](),
		reflect.TypeFor[opaque[int64]](), reflect.TypeFor[opaque[uint]](), reflect.TypeFor[opaque[uint8]](),
		reflect.TypeFor[opaque[uint16]](),
	}
}

// opaque returns the stand-in for an interface, called t in the source. For a union it is any JSON.
func (s *standIns) opaque(under *types.Interface, t types.Type) reflect.Type {
	if under.Empty() || s.isUnion(t) {
		return reflect.TypeFor[any]()
	}
	all := opaques()
	stand := all[s.opaques%len(all)]
	s.opaques++
	s.call(stand, t)
	return stand
}

// failing returns the stand-in for an error of another type.
func (s *standIns) failing(t types.Type) reflect.Type {
	s.call(reflect.TypeFor[failing](), t)
	return reflect.TypeFor[failing]()
}

// marshaller returns the stand-in for a type with its own form in JSON or text, nil if it has none. For an integer or
// string type that is the basic type, because the difference does not matter here.
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

// methodsOf returns a function that reports whether a type, or its pointer, has a method. If no parameters and results
// are given, any signature matches.
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
		return ok && (params == nil && results == nil || areTypes(signature.Params(), params) &&
			areTypes(signature.Results(), results))
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
