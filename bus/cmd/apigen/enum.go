package main

import (
	"cmp"
	"fmt"
	"go/constant"
	"go/types"
	"slices"
)

// enumType returns the type of that name if its constants can be its only values: a string or an integer, declared in
// this package. It is nil otherwise.
func (s *sources) enumType(name string) *types.TypeName {
	object, isType := s.pkg.Scope().Lookup(name).(*types.TypeName)
	if !isType || object.IsAlias() {
		return nil
	}
	basic, isBasic := object.Type().Underlying().(*types.Basic)
	if !isBasic || basic.Info()&(types.IsString|types.IsInteger) == 0 || basic.Kind() == types.Uintptr {
		return nil
	}
	return object
}

// planEnum determines what to write for a type whose constants are its only values.
func (s *sources) planEnum(closed *types.TypeName, wanted request) (*output, error) {
	at := s.position(closed.Pos())
	if wanted.events || wanted.host != "" || wanted.client != "Client" {
		return nil, diagnostic{at, closed.Name() + " is no interface: leave out -client, -events and -host"}
	}
	constants, err := s.constantsOf(closed)
	if err != nil {
		return nil, err
	}
	if len(constants) == 0 {
		return nil, diagnostic{at,
			fmt.Sprintf("%s has no constants in this package, which would be its values: declare them, "+
				"as in const First %[1]s = …", closed.Name())}
	}
	parts := []types.Object{closed}
	var names []string
	for _, each := range constants {
		parts, names = append(parts, each), append(names, each.Name())
	}
	constraint, err := s.constraint(parts)
	if err != nil {
		return nil, err
	}
	packages := newImports(s, at.Filename, nil)
	return &output{
		Command: wanted.command, Constraint: constraint, Package: s.pkg.Name(), Type: closed.Name(), Enum: names,
		Imports: packages, Reflectapi: packages.need(reflectapiPath, "reflectapi"),
	}, nil
}

// constantsOf returns the constants of a type in the order of the source, one for each value. A constant that may be of
// the type, but cannot be evaluated, is an error.
func (s *sources) constantsOf(closed *types.TypeName) (constants []*types.Const, err error) {
	if len(s.syntax) > 0 { // constants may be in a file that does not parse
		return nil, joined(s.syntax)
	}
	for _, name := range s.pkg.Scope().Names() {
		found, isConstant := s.pkg.Scope().Lookup(name).(*types.Const)
		switch {
		case !isConstant:
		case isInvalid(found.Type()) || types.Identical(found.Type(), closed.Type()) &&
			found.Val().Kind() == constant.Unknown:
			return nil, diagnostic{s.position(found.Pos()),
				fmt.Sprintf("the constant %s cannot be evaluated, and may be one of %s: run go vet, and correct it", name,
					closed.Name())}
		case types.Identical(found.Type(), closed.Type()):
			constants = append(constants, found)
		}
	}
	slices.SortFunc(constants, func(a, b *types.Const) int { return cmp.Compare(a.Pos(), b.Pos()) })
	values := make(map[string]bool)
	return slices.DeleteFunc(constants, func(c *types.Const) bool {
		value := c.Val().ExactString()
		defer func() { values[value] = true }()
		return values[value]
	}), nil
}

// isClosed reports whether apigen is run for a type, so that its constants are its only values.
func (s *sources) isClosed(t types.Type) bool {
	named, isNamed := types.Unalias(t).(*types.Named)
	if !isNamed {
		return false
	}
	_, isBasic := named.Underlying().(*types.Basic)
	return isBasic && s.isAskedFor(named.Obj())
}
