package reflectapi

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
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

// typeSpec returns the declaration of a package-level type and its doc comment, nil if it is not in this file.
func (f *goFile) typeSpec(name string) (spec *ast.TypeSpec, doc string) {
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
				return spec, docText(general.Doc)
			}
			return spec, docText(spec.Doc)
		}
	}
	return nil, ""
}

// docText returns a doc comment without comment marks, directives and leading or trailing blank lines.
func docText(comment *ast.CommentGroup) string { return strings.TrimSpace(comment.Text()) }
