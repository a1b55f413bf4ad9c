package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/constant"
	"go/types"
	"slices"
	"strings"
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

// enumConstant is a constant as the template writes it.
type enumConstant struct {
	Name, Doc string
	Numeric   bool
}

// commentOfConstant returns the text of the comment above a constant, or else of that behind it; "" for none.
func (s *sources) commentOfConstant(of *types.Const) string {
	for _, file := range s.files {
		for _, declaration := range file.Decls {
			general, isGeneral := declaration.(*ast.GenDecl)
			if !isGeneral || general.Pos() > of.Pos() || of.Pos() > general.End() {
				continue
			}
			for _, spec := range general.Specs {
				value, isValue := spec.(*ast.ValueSpec)
				if !isValue || value.Pos() > of.Pos() || of.Pos() > value.End() {
					continue
				}
				doc := value.Doc
				if doc == nil && !general.Lparen.IsValid() {
					doc = general.Doc
				}
				return strings.TrimSpace(cmp.Or(doc.Text(), value.Comment.Text()))
			}
		}
	}
	return ""
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
	var written []enumConstant
	for _, each := range constants {
		parts = append(parts, each)
		written = append(written, enumConstant{each.Name(), s.commentOfConstant(each), each.Val().Kind() == constant.Int})
	}
	constraint, err := s.constraint(parts)
	if err != nil {
		return nil, err
	}
	packages := newImports(s, at.Filename, nil)
	return &output{
		Command: wanted.command, Constraint: constraint, Package: s.pkg.Name(), Type: closed.Name(), Enum: written,
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

// isClosed reports whether the only values of a type are its constants, as apigen is run for it, or those of variants.
func (s *sources) isClosed(t types.Type) bool {
	named, isNamed := types.Unalias(t).(*types.Named)
	if !isNamed {
		return false
	}
	_, isBasic := named.Underlying().(*types.Basic)
	return isBasic && s.isAskedFor(named.Obj()) || s.isUnion(named)
}
