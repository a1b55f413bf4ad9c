package main

import (
	"fmt"
	"go/types"
	"slices"
	"strings"
)

// unnameable returns what is in a type, such as a signature, that the package of the interface cannot name, or "". This
// happens for methods of interfaces of other packages.
func (s *sources) unnameable(t types.Type) string {
	for _, object := range mentions(t) {
		switch {
		case object.Pkg() == nil || object.Pkg() == s.pkg:
		case !object.Exported():
			return fmt.Sprintf("%s.%s, which is not exported", object.Pkg().Name(), object.Name())
		case slices.Contains(strings.Split(object.Pkg().Path(), "/"), "internal") &&
			!slices.Contains(s.imports(), object.Pkg().Path()):
			return fmt.Sprintf("%s.%s, which is internal to another package", object.Pkg().Name(), object.Name())
		}
	}
	return ""
}

// mentions returns the names in the text of a type.
func mentions(t types.Type) []*types.TypeName {
	switch t := t.(type) {
	case *types.Alias:
		return append(mentionsIn(t.TypeArgs()), t.Obj())
	case *types.Named:
		return append(mentionsIn(t.TypeArgs()), t.Obj())
	case *types.Map:
		return append(mentions(t.Key()), mentions(t.Elem())...)
	case interface{ Elem() types.Type }: // a pointer, a slice, an array, a channel
		return mentions(t.Elem())
	case *types.Signature:
		return append(mentionsOf(t.Params().Variables()), mentionsOf(t.Results().Variables())...)
	case *types.Struct:
		return mentionsOf(t.Fields())
	case *types.Interface:
		var all []*types.TypeName
		for method := range t.Methods() {
			all = append(all, mentions(method.Type())...)
		}
		return all
	}
	return nil
}

func mentionsIn(arguments *types.TypeList) []*types.TypeName {
	var all []*types.TypeName
	for t := range arguments.Types() {
		all = append(all, mentions(t)...)
	}
	return all
}

func mentionsOf(variables func(yield func(*types.Var) bool)) []*types.TypeName {
	var all []*types.TypeName
	for v := range variables {
		all = append(all, mentions(v.Type())...)
	}
	return all
}
