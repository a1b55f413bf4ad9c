package reflectapi

import (
	"go/ast"
	"path"
	"slices"
)

// declarationsOf finds a method in the files of its package. There are several when files
// for different systems, or folders with packages of one name, each declare it.
func declarationsOf(of *subject, files []*goFile) []declared {
	var found []declared
	for _, f := range files {
		switch {
		case of.file == "" && f.belongsTo(of):
			found = append(found, interfaceMethods(files, f, of.typeName(), of.method, nil)...)
		case of.isIn(f.base()) && f.belongsTo(of):
			if fn := f.method(of.typeName(), of.method); fn != nil && f.spans(fn, of.line) {
				found = append(found, declared{f, fn.Type, fn.Doc})
			}
		}
	}
	return found
}

// belongsTo tells whether a file is of the package that declares the subject. Test files
// count only for what is in one.
func (f *goFile) belongsTo(of *subject) bool {
	if f.isTest() && !of.inTest() {
		return false
	}
	tree := f.tree()
	return tree != nil && tree.Name.Name == packageName(of.receiver)
}

// interfaceMethods finds a method in an interface that a file declares, or in those of the
// same package that it embeds. met keeps interfaces that embed each other from turning in a
// circle: source on disk need not compile.
func interfaceMethods(files []*goFile, f *goFile, name, method string, met []string) []declared {
	spec, _ := f.typeSpec(name)
	if spec == nil || slices.Contains(met, name) {
		return nil
	}
	iface, ok := spec.Type.(*ast.InterfaceType)
	if !ok {
		return nil
	}
	var found []declared
	for _, member := range iface.Methods.List {
		switch e := typeName(member.Type).(type) {
		case *ast.FuncType:
			if member.Names[0].Name == method {
				found = append(found, declared{f, e, member.Doc})
			}
		case *ast.Ident:
			for _, sibling := range f.siblings(files) {
				found = append(found, interfaceMethods(files, sibling, e.Name, method, append(met, name))...)
			}
		}
	}
	return found
}

// siblings lists the files of the same package in the same folder, the file itself included.
func (f *goFile) siblings(files []*goFile) []*goFile {
	var found []*goFile
	for _, other := range files {
		if path.Dir(other.path) != path.Dir(f.path) {
			continue
		}
		if tree := other.tree(); tree != nil && tree.Name.Name == f.tree().Name.Name {
			found = append(found, other)
		}
	}
	return found
}
