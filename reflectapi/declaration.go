package reflectapi

import (
	"fmt"
	"go/ast"
	"path"
	"reflect"
	"slices"
	"strconv"

	"github.com/busline/busline/reflectapi/internal/gotype"
)

// declared is one method declaration found in source.
type declared struct {
	file *goFile
	fn   *ast.FuncType
	doc  *ast.CommentGroup

	generic bool // declared in a generic interface, where types may be its type parameters
}

// place returns the file and line of the declaration for messages, or "" if the text is not from a file.
func (d declared) place() string { return d.file.place(d.fn) }

// contradiction returns an error that says where and how the declaration does not match the program.
func (d declared) contradiction(format string, arguments ...any) error {
	return d.file.contradiction(d.fn, fmt.Sprintf(format, arguments...))
}

// read returns the names, after comparing number and types with the program.
func (d declared) read(of *methodDecl) (declaration, error) {
	params, err := d.names("parameter", d.fn.Params, of.shape.params)
	if err != nil {
		return declaration{}, err
	}
	results, err := d.names("result", d.fn.Results, of.shape.outcomes)
	if err != nil {
		return declaration{}, err
	}
	directives, err := DirectivesIn(d.doc)
	if err != nil {
		return declaration{}, d.contradiction("%s", err)
	}
	return declaration{params: params, results: results, doc: docText(d.doc), declared: directives, place: d.place()}, nil
}

// names returns the names of parameters or results, "" for an unnamed one.
func (d declared) names(what string, fields *ast.FieldList, types []reflect.Type) ([]string, error) {
	if fields.NumFields() != len(types) {
		return nil, d.contradiction("%d %ss are declared, the program has %d", fields.NumFields(), what, len(types))
	}
	var names []string
	if len(types) == 0 {
		return names, nil
	}
	for _, field := range fields.List {
		for _, name := range fieldNames(field) {
			if t := types[len(names)]; !fits(field.Type, t) {
				return nil, d.contradiction("%s %d is not of type %v, as it is in the program", what, len(names)+1, t)
			}
			names = append(names, name)
		}
	}
	return names, nil
}

// fieldNames returns the names that share one type, such as x and y in "x, y int".
func fieldNames(field *ast.Field) []string {
	if len(field.Names) == 0 {
		return []string{""}
	}
	names := make([]string, len(field.Names))
	for i, name := range field.Names {
		names[i] = name.Name
	}
	return names
}

// declarationsOf returns the declarations of a method in the files of its package. There may be several: in files for
// different systems, or in folders with packages of the same name.
func declarationsOf(of *methodDecl, files []*goFile) []declared {
	var found []declared
	for _, f := range files {
		switch {
		case of.file == "" && f.belongsTo(of):
			found = append(found, interfaceMethods(files, f, of.typeName(), of.method, nil)...)
		case of.isIn(f.base()) && f.belongsTo(of):
			if fn := f.method(of.typeName(), of.method); fn != nil && f.spans(fn, of.line) {
				found = append(found, declared{file: f, fn: fn.Type, doc: fn.Doc})
			}
		}
	}
	return found
}

// belongsTo reports whether a file is in the package that declares the subject. A test file counts only for a subject
// in a test.
func (f *goFile) belongsTo(of *methodDecl) bool {
	if f.isTest() && !of.inTest() || !f.mentions(of.typeName()) {
		return false
	}
	tree := f.tree()
	return tree != nil && tree.Name.Name == gotype.PackageName(of.receiver)
}

// interfaceMethods returns the declarations of a method in an interface, or in those that it embeds, from the same
// package or another one. met prevents endless recursion over interfaces that embed each other: source on disk need not
// compile.
func interfaceMethods(files []*goFile, f *goFile, name, method string, met []string) []declared {
	spec, _ := f.typeSpec(name)
	qualified := f.tree().Name.Name + "." + name
	if spec == nil || slices.Contains(met, qualified) {
		return nil
	}
	met = append(met, qualified)
	iface, ok := spec.Type.(*ast.InterfaceType)
	if !ok {
		return nil
	}
	var found []declared
	for _, member := range iface.Methods.List {
		if fn, isMethod := member.Type.(*ast.FuncType); isMethod && member.Names[0].Name == method {
			found = append(found, declared{f, fn, member.Doc, spec.TypeParams != nil})
		}
		in, elsewhere, embedded := f.embedded(files, member.Type)
		for _, other := range in {
			found = append(found, interfaceMethods(elsewhere, other, embedded, method, met)...)
		}
	}
	return found
}

// embedded returns the files that may declare an interface which another one in the file embeds, all files of its
// package, and its name; none for a method.
func (f *goFile) embedded(files []*goFile, member ast.Expr) (in, all []*goFile, name string) {
	switch e := typeName(member).(type) {
	case *ast.Ident:
		return f.siblings(files, e.Name), files, e.Name
	case *ast.SelectorExpr:
		elsewhere := f.imported(e)
		return elsewhere, elsewhere, e.Sel.Name
	default:
		return nil, nil, ""
	}
}

// checkEmbedded returns an error for a directive above an interface that outer embeds, itself or in one that it embeds,
// unless outer has it, too.
func (f *goFile) checkEmbedded(files []*goFile, name, outer string, has Declared, met []string) error {
	spec, comment := f.typeSpec(name)
	qualified := f.tree().Name.Name + "." + name
	if spec == nil || slices.Contains(met, qualified) {
		return nil
	}
	if len(met) > 0 {
		if err := has.CheckEmbedded(outer, name, comment); err != nil {
			return err
		}
	}
	met = append(met, qualified)
	iface, ok := spec.Type.(*ast.InterfaceType)
	if !ok {
		return nil
	}
	for _, member := range iface.Methods.List {
		in, elsewhere, embedded := f.embedded(files, member.Type)
		for _, other := range in {
			if err := other.checkEmbedded(elsewhere, embedded, outer, has, met); err != nil {
				return err
			}
		}
	}
	return nil
}

// siblings returns the files of the same package and folder, including the file itself, that mention a name.
func (f *goFile) siblings(files []*goFile, name string) []*goFile {
	var found []*goFile
	for _, other := range files {
		if path.Dir(other.path) != path.Dir(f.path) || !other.mentions(name) {
			continue
		}
		if tree := other.tree(); tree != nil && tree.Name.Name == f.tree().Name.Name {
			found = append(found, other)
		}
	}
	return found
}

// imported returns the files of the package of a qualified name, as far as they are available, without test files.
func (f *goFile) imported(name *ast.SelectorExpr) []*goFile {
	qualifier, ok := name.X.(*ast.Ident)
	if !ok || f.packageAt == nil {
		return nil
	}
	for _, spec := range f.tree().Imports {
		importPath, err := strconv.Unquote(spec.Path.Value)
		if err != nil || spec.Name != nil && spec.Name.Name != qualifier.Name {
			continue
		}
		files := slices.DeleteFunc(f.packageAt(importPath), func(f *goFile) bool { return f.isTest() || f.tree() == nil })
		if spec.Name != nil || len(files) > 0 && files[0].tree().Name.Name == qualifier.Name {
			return files
		}
	}
	return nil
}
