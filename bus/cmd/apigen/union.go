package main

import (
	"fmt"
	"go/ast"
	"go/doc"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"github.com/busline/busline/reflectapi"
)

// unionType returns the interface of that name whose comment declares its variants, with these, and what is wrong with
// the comment. It is nil for any other type.
func (s *sources) unionType(name string) (*types.TypeName, reflectapi.Declared, error) {
	object, isType := s.pkg.Scope().Lookup(name).(*types.TypeName)
	if !isType || object.IsAlias() {
		return nil, reflectapi.Declared{}, nil
	}
	declared, err := reflectapi.DirectivesIn(s.commentOf(object))
	if declared.OneOf == nil && (err == nil || !strings.HasPrefix(err.Error(), reflectapi.OneOfDirective)) {
		return nil, declared, nil
	}
	if err == nil {
		if err = declared.CheckScope(reflectapi.OfUnion); err != nil {
			err = fmt.Errorf("its comment %w", err)
		}
	}
	return object, declared, err
}

// isUnion reports whether the values of an interface are those of variants: apigen is run for it, or this package
// registers them.
func (s *sources) isUnion(t types.Type) bool {
	named, isNamed := types.Unalias(t).(*types.Named)
	if !isNamed || !types.IsInterface(named) {
		return false
	}
	declared, err := reflectapi.DirectivesIn(s.commentOf(named.Obj()))
	return err == nil && declared.OneOf != nil && s.isAskedFor(named.Obj()) || s.registers(named)
}

// registers reports whether this package calls reflectapi.RegisterUnion for a type.
func (s *sources) registers(named *types.Named) bool {
	name, found := types.TypeString(named, s.qualifier), false
	for _, file := range s.files {
		ast.Inspect(file, func(n ast.Node) bool {
			call, isCall := n.(*ast.CallExpr)
			if isCall && strings.Contains(types.ExprString(call.Fun), "RegisterUnion") {
				found = found || slices.ContainsFunc(call.Args, func(argument ast.Expr) bool {
					return strings.Contains(types.ExprString(argument), "Variant["+name+"]")
				})
			}
			return !found
		})
	}
	return found
}

// unionVariant is a variant as the template writes it.
type unionVariant struct {
	Name, Value, Doc string // in Go
}

// union is what the template writes for a union.
type union struct {
	Discriminator, Doc string // in Go
	Variants           []unionVariant
}

// planUnion determines what to write for an interface whose values are those of variants.
func (s *sources) planUnion(of *types.TypeName, declared reflectapi.Declared, wanted request) (*output, error) {
	at := s.position(of.Pos())
	refuse := func(format string, arguments ...any) (*output, error) {
		return nil, diagnostic{at, of.Name() + " " + fmt.Sprintf(format, arguments...)}
	}
	iface, isInterface := of.Type().Underlying().(*types.Interface)
	switch {
	case wanted.events || wanted.host != "" || wanted.client != "Client":
		return refuse("is a union, which has no client: leave out -client, -events and -host")
	case !isInterface || !iface.IsMethodSet():
		return refuse("is no interface that a type can implement, so it has no variants: leave out %s, "+
			"or declare an interface with a method that the variants have", reflectapi.OneOfDirective)
	case isGeneric(of.Type()):
		return refuse("has type parameters, so that it is many unions: declare one without them, and register it with " +
			"reflectapi.RegisterUnion for each")
	}
	packages := newImports(s, at.Filename, nil)
	written := &union{Discriminator: strconv.Quote(declared.OneOf.Discriminator),
		Doc: strconv.Quote(strings.TrimSpace(s.commentOf(of).Text()))}
	parts := []types.Object{of}
	for i, name := range declared.OneOf.Names {
		variant, err := s.variant(iface, declared.OneOf.Types[i])
		if err != nil {
			return refuse("%s %s=%s: %s", reflectapi.OneOfDirective, name, declared.OneOf.Types[i], err)
		}
		if variant.of.Pkg() == s.pkg {
			parts = append(parts, variant.of)
		}
		value := types.TypeString(variant.of.Type(), packages.inCode) + "{}"
		if variant.isPointer {
			value = "&" + value
		}
		about := strings.TrimSpace(s.commentOf(variant.of).Text())
		if variant.of.Pkg() != s.pkg {
			about = new(doc.Package).Synopsis(about)
		}
		written.Variants = append(written.Variants, unionVariant{strconv.Quote(name), value, strconv.Quote(about)})
	}
	constraint, err := s.constraint(parts)
	if err != nil {
		return nil, err
	}
	return &output{
		Command: wanted.command, Constraint: constraint, Package: s.pkg.Name(), Type: of.Name(), Union: written,
		Imports: packages, Reflectapi: packages.need(reflectapiPath, "reflectapi"),
	}, nil
}

// variantType is a type that implements a union, or to which a pointer does.
type variantType struct {
	of        *types.TypeName
	isPointer bool
}

// variant finds the type of a variant. The error says why it cannot be one, in words that follow its name.
func (s *sources) variant(union *types.Interface, typeName string) (variantType, error) {
	scope := s.pkg
	if qualifier, rest, qualified := strings.Cut(strings.TrimPrefix(typeName, "*"), "."); qualified {
		if scope = importOf(s.pkg, qualifier); scope == nil {
			return variantType{}, fmt.Errorf("this package imports no package %s", qualifier)
		}
		typeName = rest
	}
	found, isType := scope.Scope().Lookup(strings.TrimPrefix(typeName, "*")).(*types.TypeName)
	switch {
	case strings.Contains(typeName, "["):
		return variantType{}, fmt.Errorf("it has type arguments: give it a name, as in type IntPage = %s", typeName)
	case !isType:
		return variantType{}, fmt.Errorf("there is no type %s in package %s", typeName, scope.Name())
	case scope != s.pkg && !found.Exported():
		return variantType{}, fmt.Errorf("%s is not exported", typeName)
	case !isStruct(found.Type()):
		return variantType{}, fmt.Errorf("%s is no struct: use a struct that has it as a field", typeName)
	case isGeneric(found.Type()):
		return variantType{}, fmt.Errorf("%s has type parameters: declare a type without them, as in type %sOfInt %s[int]",
			typeName, found.Name(), found.Name())
	case types.Implements(found.Type(), union):
		return variantType{of: found}, nil
	case types.Implements(types.NewPointer(found.Type()), union):
		return variantType{found, true}, nil
	}
	missing, _ := types.MissingMethod(found.Type(), union, true)
	return variantType{}, fmt.Errorf("%s does not implement it: it has no method %s like that of the interface", typeName,
		missing.Name())
}
