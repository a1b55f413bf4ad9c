package reflectapi

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"reflect"
	"strconv"
	"strings"
)

// goFile is one Go source file, parsed at most once and only on demand.
type goFile struct {
	files  fs.FS
	path   string // within files; "" if the text is not from a file
	text   []byte // nil until it is read, and if it cannot be read
	parsed bool
	set    *token.FileSet
	syntax *ast.File // nil if it does not parse

	// packageAt returns the files of another package, none if they are not available.
	packageAt func(importPath string) []*goFile
}

// goFilesIn returns the Go files of one folder, none if it cannot be read.
func goFilesIn(files fs.FS, folder string) []*goFile {
	entries, err := fs.ReadDir(files, folder)
	if err != nil {
		return nil
	}
	var found []*goFile
	for _, entry := range entries {
		if !entry.IsDir() && path.Ext(entry.Name()) == ".go" {
			found = append(found, &goFile{files: files, path: path.Join(folder, entry.Name())})
		}
	}
	return found
}

// parseText makes a file of a text that the program contains.
func parseText(text string) (*goFile, error) {
	f := &goFile{parsed: true, set: token.NewFileSet()}
	tree, err := parser.ParseFile(f.set, "", text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	f.syntax = tree
	return f, nil
}

func (f *goFile) base() string { return path.Base(f.path) }

func (f *goFile) isTest() bool { return strings.HasSuffix(f.path, "_test.go") }

// tree returns the parsed file, nil if it cannot be read or does not parse. A file that is just being edited is no
// reason to fail: another source may have the names.
func (f *goFile) tree() *ast.File {
	if !f.parsed {
		f.parsed = true
		f.set = token.NewFileSet()
		text := f.read()
		if text == nil {
			return nil
		}
		tree, err := parser.ParseFile(f.set, f.path, text, parser.ParseComments|parser.SkipObjectResolution)
		if err == nil {
			f.syntax = tree
		}
	}
	return f.syntax
}

// read returns the contents of the file, nil if it cannot be read.
func (f *goFile) read() []byte {
	if f.text == nil && f.files != nil {
		f.text, _ = fs.ReadFile(f.files, f.path)
	}
	return f.text
}

// mentions reports whether the text contains a name. That is much faster than parsing it.
func (f *goFile) mentions(name string) bool {
	return f.path == "" || bytes.Contains(f.read(), []byte(name))
}

// place returns the file and line of a node for messages, or "" if the text is not from a file.
func (f *goFile) place(node ast.Node) string {
	if f.path == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d", f.path, f.set.Position(node.Pos()).Line)
}

// contradiction returns an error with the place of a node.
func (f *goFile) contradiction(node ast.Node, reason string) error {
	if place := f.place(node); place != "" {
		reason = place + ": " + reason
	}
	return errors.New(reason)
}

// spans reports whether a node contains a line.
func (f *goFile) spans(node ast.Node, line int) bool {
	return f.set.Position(node.Pos()).Line <= line && line <= f.set.Position(node.End()).Line
}

// method returns the declaration of a method on a type or its pointer, nil if it is not in this file.
func (f *goFile) method(receiver, name string) *ast.FuncDecl {
	for _, d := range f.tree().Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Name.Name == name && receiverName(fn) == receiver {
			return fn
		}
	}
	return nil
}

// receiverName returns the name of the type that a method belongs to, "" for a function.
func receiverName(fn *ast.FuncDecl) string {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return ""
	}
	if name, ok := typeName(fn.Recv.List[0].Type).(*ast.Ident); ok {
		return name.Name
	}
	return ""
}

// typeName removes pointer, parentheses and type arguments: *Store[K] becomes Store.
func typeName(expression ast.Expr) ast.Expr {
	for {
		switch e := expression.(type) {
		case *ast.StarExpr:
			expression = e.X
		case *ast.ParenExpr:
			expression = e.X
		case *ast.IndexExpr:
			expression = e.X
		case *ast.IndexListExpr:
			expression = e.X
		default:
			return expression
		}
	}
}

// typeSpec returns the declaration of a package-level type and its comment, nil if it is not in this file.
func (f *goFile) typeSpec(name string) (spec *ast.TypeSpec, comment *ast.CommentGroup) {
	for _, d := range f.tree().Decls {
		general, ok := d.(*ast.GenDecl)
		if !ok || general.Tok != token.TYPE {
			continue
		}
		for _, s := range general.Specs {
			spec, ok := s.(*ast.TypeSpec)
			if !ok || spec.Name.Name != name {
				continue
			}
			if spec.Doc == nil && !general.Lparen.IsValid() {
				return spec, general.Doc
			}
			return spec, spec.Doc
		}
	}
	return nil, nil
}

// docText returns a doc comment without comment marks, directives and leading or trailing blank lines.
func docText(comment *ast.CommentGroup) string { return strings.TrimSpace(comment.Text()) }

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
