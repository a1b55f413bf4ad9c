package reflectapi

import (
	"go/ast"
	"path"
	"slices"
	"strconv"
)

// declarationsOf returns the declarations of a method in the files of its package. There may be several: in files for
// different systems, or in folders with packages of the same name.
func declarationsOf(of *subject, files []*goFile) []declared {
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
func (f *goFile) belongsTo(of *subject) bool {
	if f.isTest() && !of.inTest() || !f.mentions(of.typeName()) {
		return false
	}
	tree := f.tree()
	return tree != nil && tree.Name.Name == packageName(of.receiver)
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
		switch e := typeName(member.Type).(type) {
		case *ast.FuncType:
			if member.Names[0].Name == method {
				found = append(found, declared{f, e, member.Doc, spec.TypeParams != nil})
			}
		case *ast.Ident:
			for _, sibling := range f.siblings(files, e.Name) {
				found = append(found, interfaceMethods(files, sibling, e.Name, method, met)...)
			}
		case *ast.SelectorExpr:
			elsewhere := f.imported(e)
			for _, other := range elsewhere {
				found = append(found, interfaceMethods(elsewhere, other, e.Sel.Name, method, met)...)
			}
		}
	}
	return found
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
