package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"github.com/busline/busline/reflectapi"
)

// api is an interface with all its methods, in the order of its declaration.
type api struct {
	name  string          // as this package calls it: "Calculator"
	named *types.TypeName // its type; an alias in this package has another name
	doc   string          // of the type
	at    token.Position

	declared reflectapi.Declared // by the comment of the type
	methods  []method
	reached  []types.Object // the types of which it consists, as far as they are known
	parts    []types.Object // the declarations that determine its methods, including aliases
	invalid  bool           // one of them is unknown
}

// method is one method of an interface, wherever it is declared.
type method struct {
	name      string
	doc       string
	declared  reflectapi.Declared // by its comment
	misread   error               // what is wrong with that
	at        token.Position
	signature *types.Signature
}

// api finds the interface of that name and flattens it, or returns why it cannot be served.
func (s *sources) api(name string) (*api, error) {
	object := s.pkg.Scope().Lookup(name)
	if object == nil {
		return nil, s.absent(name)
	}
	found := &api{name: name, at: s.position(object.Pos()), reached: []types.Object{object}, parts: []types.Object{object}}
	refuse := func(format string, arguments ...any) (*api, error) {
		return nil, diagnostic{found.at, fmt.Sprintf(format, arguments...)}
	}
	if _, isType := object.(*types.TypeName); !isType {
		return refuse("%s is not a type; -type needs an interface", name)
	}
	t := types.Unalias(object.Type())
	if isInvalid(t) || s.isBroken(object) {
		return nil, joined(s.touching(found.reached, true))
	}
	iface, isInterface := t.Underlying().(*types.Interface)
	_, isBasic := t.Underlying().(*types.Basic)
	switch {
	case isBasic && t != object.Type():
		return refuse("%s is an alias: run apigen for the type itself, %s", name, types.TypeString(t, s.qualifier))
	case isGeneric(object.Type()):
		return refuse("%s has type parameters, which callers cannot choose: declare an interface without them, "+
			"as in type %sOfInt interface { %s[int] }", name, name, name)
	case !isInterface:
		return refuse("%s is not an interface, nor a string or an integer with constants; to serve a struct no client is "+
			"needed: embed its source and pass it with bus.SourceFS", name)
	case !iface.IsMethodSet():
		return refuse("%s is a type constraint, so no value of it can be served: use an interface with methods only", name)
	}
	named, isNamed := t.(*types.Named)
	if !isNamed {
		return refuse("%s is an alias for an interface without a name: declare it as a type of its own, without the =", name)
	}
	found.named = named.Obj()
	comment := s.commentOf(named.Obj())
	found.doc = strings.TrimSpace(comment.Text())
	declared, err := reflectapi.TypeDirectivesIn(comment)
	switch {
	case err != nil:
		return refuse("%s: %s", name, err)
	case declared.Client != "":
		return refuse("%s: its comment has %s, which apigen writes: leave it out", name, reflectapi.ClientDirective)
	}
	found.declared = declared
	s.flatten(found, named)
	for _, part := range found.parts {
		if part == object || part == named.Obj() {
			continue
		}
		if err := declared.CheckEmbedded(name, part.Name(), s.commentOf(part)); err != nil {
			return refuse("%s: %s", name, err)
		}
	}
	switch {
	case len(found.methods) > 0:
	case found.invalid:
		return nil, joined(s.touching(found.reached, true))
	default:
		return refuse("%s has no methods", name)
	}
	return found, nil
}

func isInvalid(t types.Type) bool { return t.Underlying() == types.Typ[types.Invalid] }

// isGeneric reports whether a type, or an alias, has type parameters without arguments.
func isGeneric(t types.Type) bool {
	switch t := t.(type) {
	case *types.Alias:
		return t.TypeParams().Len() > t.TypeArgs().Len() || isGeneric(t.Rhs())
	case *types.Named:
		return t.TypeParams().Len() > t.TypeArgs().Len()
	}
	return false
}

// commentOf returns the comment of a type, nil if it has none.
func (s *sources) commentOf(object types.Object) *ast.CommentGroup {
	for _, file := range s.sourceOf(object.Pkg()) {
		if spec, declaration := typeSpec(file, object.Name()); spec != nil {
			return docOf(spec, declaration)
		}
	}
	return nil
}

// typeSpec returns the declaration of a type, nil if it is not in the file.
func typeSpec(file *ast.File, name string) (*ast.TypeSpec, *ast.GenDecl) {
	for _, declaration := range file.Decls {
		general, ok := declaration.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range general.Specs {
			if spec, ok := spec.(*ast.TypeSpec); ok && spec.Name.Name == name {
				return spec, general
			}
		}
	}
	return nil, nil
}

func (s *sources) position(pos token.Pos) token.Position { return s.set.Position(pos) }
