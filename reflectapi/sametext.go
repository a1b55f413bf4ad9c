package reflectapi

import "go/ast"

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
