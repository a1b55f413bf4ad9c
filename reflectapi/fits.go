package reflectapi

import (
	"go/ast"
	"go/token"
	"reflect"
	"strconv"
	"strings"
)

// predeclared lists the types that every Go file can name without an import, except aliases.
const predeclared = " bool string int int8 int16 int32 int64 uint uint8 uint16 uint32 uint64 uintptr" +
	" float32 float64 complex64 complex128 error "

// fits reports whether a type expression in source may denote a type of the program. It is false only if it certainly
// does not: a name may be an alias or a type parameter, which the text alone does not show.
func fits(expression ast.Expr, t reflect.Type) bool {
	switch e := expression.(type) {
	case *ast.Ident:
		return fitsName(e.Name, t)
	case *ast.SelectorExpr, *ast.IndexExpr, *ast.IndexListExpr:
		return true
	case *ast.ParenExpr:
		return fits(e.X, t)
	}
	return t.Name() == "" && fitsLiteral(expression, t)
}

// fitsName compares an unqualified name with a type.
func fitsName(name string, t reflect.Type) bool {
	switch name {
	case "any":
		return t == reflect.TypeFor[any]()
	case "byte":
		name = "uint8"
	case "rune":
		name = "int32"
	}
	return !strings.Contains(predeclared, " "+name+" ") || t.PkgPath() == "" && t.Name() == name
}

// fitsLiteral compares a type literal with an unnamed type, part by part.
func fitsLiteral(expression ast.Expr, t reflect.Type) bool {
	switch e := expression.(type) {
	case *ast.StarExpr:
		return t.Kind() == reflect.Pointer && fits(e.X, t.Elem())
	case *ast.Ellipsis:
		return t.Kind() == reflect.Slice && fits(e.Elt, t.Elem())
	case *ast.ArrayType:
		return fitsArray(e, t)
	case *ast.MapType:
		return t.Kind() == reflect.Map && fits(e.Key, t.Key()) && fits(e.Value, t.Elem())
	case *ast.StructType:
		return t.Kind() == reflect.Struct && e.Fields.NumFields() == t.NumField()
	case *ast.InterfaceType:
		return t.Kind() == reflect.Interface
	case *ast.FuncType:
		return t.Kind() == reflect.Func
	case *ast.ChanType:
		return t.Kind() == reflect.Chan
	}
	return false
}

func fitsArray(e *ast.ArrayType, t reflect.Type) bool {
	if e.Len == nil {
		return t.Kind() == reflect.Slice && fits(e.Elt, t.Elem())
	}
	if t.Kind() != reflect.Array || !fits(e.Elt, t.Elem()) {
		return false
	}
	length, ok := e.Len.(*ast.BasicLit)
	if !ok || length.Kind != token.INT {
		return true // a constant, whose value is not known from this text
	}
	n, err := strconv.ParseInt(length.Value, 0, 0)
	return err == nil && int(n) == t.Len()
}
