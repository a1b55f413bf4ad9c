package reflectapi

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"path"
	"reflect"
	"regexp"
	"strings"
)

// qualifier matches a package path and the dot after it, e.g. "github.com/acme/shop.".
var qualifier = regexp.MustCompile(`[\pL\pN_][\pL\pN_.~%/+-]*\.`)

// typeText writes a type as Go source does, with types of the package home unqualified.
func typeText(t reflect.Type, home string) string {
	if t.Name() != "" {
		return namedText(t, home)
	}
	switch t.Kind() {
	case reflect.Pointer:
		return "*" + typeText(t.Elem(), home)
	case reflect.Slice:
		return "[]" + elementText(t, home)
	case reflect.Array:
		return fmt.Sprintf("[%d]%s", t.Len(), elementText(t, home))
	case reflect.Map:
		return "map[" + typeText(t.Key(), home) + "]" + typeText(t.Elem(), home)
	case reflect.Interface:
		if t.NumMethod() == 0 {
			return "any"
		}
	}
	return t.String()
}

// elementText writes uint8 elements as byte, which most source does.
func elementText(t reflect.Type, home string) string {
	if t.Elem() == reflect.TypeFor[byte]() {
		return "byte"
	}
	return typeText(t.Elem(), home)
}

func namedText(t reflect.Type, home string) string {
	if t == reflect.TypeFor[json.RawMessage]() {
		return "json.RawMessage" // an alias of jsontext.Value from Go 1.27 on
	}
	name, arguments := splitGeneric(t.Name())
	arguments = strings.NewReplacer("interface {}", "any", ",", ", ").Replace(arguments)
	name += qualifier.ReplaceAllStringFunc(arguments, func(found string) string {
		importPath := strings.TrimSuffix(found, ".")
		if importPath == home {
			return ""
		}
		return path.Base(importPath) + "."
	})
	if t.PkgPath() == "" || t.PkgPath() == home {
		return name
	}
	return packageName(t) + "." + name
}

// splitGeneric splits "Page[int]" into "Page" and "[int]".
func splitGeneric(name string) (base, arguments string) {
	if i := strings.IndexByte(name, '['); i >= 0 {
		return name[:i], name[i:]
	}
	return name, ""
}

// plainName returns the name of a type without type arguments.
func plainName(t reflect.Type) string {
	name, _ := splitGeneric(t.Name())
	return name
}

// packageName returns the package name of a named type, as in the package clause. It may differ from the last element
// of the import path.
func packageName(t reflect.Type) string {
	name, _, _ := strings.Cut(t.String(), ".")
	return name
}

// sameText reports whether two type expressions are written alike, apart from package names: a copy may be in another
// file, with other imports. Of structs, functions and interfaces only the number of members is compared.
func sameText(a, b ast.Expr) bool {
	a, b = spelledOut(a), spelledOut(b)
	switch a := a.(type) {
	case *ast.Ident:
		b, ok := b.(*ast.Ident)
		return ok && a.Name == b.Name
	case *ast.StarExpr:
		b, ok := b.(*ast.StarExpr)
		return ok && sameText(a.X, b.X)
	case *ast.Ellipsis:
		b, ok := b.(*ast.Ellipsis)
		return ok && sameText(a.Elt, b.Elt)
	case *ast.ArrayType:
		b, ok := b.(*ast.ArrayType)
		return ok && (a.Len == nil) == (b.Len == nil) && sameText(a.Elt, b.Elt)
	case *ast.MapType:
		b, ok := b.(*ast.MapType)
		return ok && sameText(a.Key, b.Key) && sameText(a.Value, b.Value)
	case *ast.StructType:
		b, ok := b.(*ast.StructType)
		return ok && a.Fields.NumFields() == b.Fields.NumFields()
	case *ast.InterfaceType:
		b, ok := b.(*ast.InterfaceType)
		return ok && a.Methods.NumFields() == b.Methods.NumFields()
	}
	return true // types that callers cannot be given, or that only generic types contain
}

// spelledOut normalises what may be written in two ways.
func spelledOut(e ast.Expr) ast.Expr {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return spelledOut(e.X)
	case *ast.SelectorExpr:
		return e.Sel
	case *ast.Ident:
		switch e.Name {
		case "byte":
			return ast.NewIdent("uint8")
		case "rune":
			return ast.NewIdent("int32")
		case "any":
			return &ast.InterfaceType{Methods: &ast.FieldList{}}
		}
	}
	return e
}
