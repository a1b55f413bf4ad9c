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

// goFile is one Go source file, parsed at most once and only when somebody looks inside.
type goFile struct {
	files  fs.FS
	path   string // inside files; "" for a text that is no file
	text   []byte // nil until it is read, and when it cannot be
	parsed bool
	set    *token.FileSet
	syntax *ast.File // nil when it does not parse

	// packageAt lists the files of another package, none when they are not at hand.
	packageAt func(importPath string) []*goFile
}

// goFilesIn lists the Go files of one folder, none when it cannot be read.
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

// parseText makes a file of a text that is in the program.
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

// tree is the parsed file, nil when it cannot be read or does not parse: a file being
// edited at this moment is no reason to fail, another source may know.
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

// read is what stands in the file, nil when it cannot be read.
func (f *goFile) read() []byte {
	if f.text == nil && f.files != nil {
		f.text, _ = fs.ReadFile(f.files, f.path)
	}
	return f.text
}

// mentions tells whether a name can be in the file, which is much faster than to parse it.
func (f *goFile) mentions(name string) bool {
	return f.path == "" || bytes.Contains(f.read(), []byte(name))
}

// spans tells whether a line lies in a piece of the tree.
func (f *goFile) spans(node ast.Node, line int) bool {
	return f.set.Position(node.Pos()).Line <= line && line <= f.set.Position(node.End()).Line
}

// method finds the declaration of a method on a type or its pointer, nil when it is not here.
func (f *goFile) method(receiver, name string) *ast.FuncDecl {
	for _, d := range f.tree().Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Name.Name == name && receiverName(fn) == receiver {
			return fn
		}
	}
	return nil
}

// receiverName is the name of the type that a method belongs to, "" for a function.
func receiverName(fn *ast.FuncDecl) string {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return ""
	}
	if name, ok := typeName(fn.Recv.List[0].Type).(*ast.Ident); ok {
		return name.Name
	}
	return ""
}

// typeName takes pointer, brackets and type arguments off a type: *Store[K] becomes Store.
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

// typeSpec finds the declaration of a type at package level and its doc comment, nil when
// it is not here.
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

// docText is a doc comment without comment marks, directives and outer blank lines.
func docText(comment *ast.CommentGroup) string { return strings.TrimSpace(comment.Text()) }
