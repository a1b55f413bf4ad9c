package reflectapi

import (
	"go/parser"
	"reflect"
)

// Fits reports whether a type expression can stand for a type.
func Fits(expression string, t reflect.Type) (bool, error) {
	parsed, err := parser.ParseExpr(expression)
	return err == nil && fits(parsed, t), err
}

// DWARFNames reads the names of a method of receiver, which has the type fn, from one entry;
// each variable is a name and a type.
func DWARFNames(receiver, fn reflect.Type, params, results [][2]string) (names []string, ok bool) {
	entry := dwarfEntry{}
	for _, v := range params {
		entry.params = append(entry.params, dwarfVariable{v[0], v[1]})
	}
	for _, v := range results {
		entry.results = append(entry.results, dwarfVariable{v[0], v[1]})
	}
	of := &methodDecl{receiver: receiver}
	of.shape, _ = signatureOf(fn)
	d, ok := packedEntries("").with(dwarfEntry{}).with(entry).unpack()[1].declaration(of)
	return append(d.params, d.results...), ok
}

// FolderInModule finds the folder of a package near another.
func FolderInModule(importPath, within string) (string, error) {
	return folderInModule(importPath, within)
}

// IsExportedMethod reports whether a symbol is that of an exported method.
func IsExportedMethod(symbol string) bool { return isExportedMethod(plainSymbol(symbol)) }
