package reflectapi

import (
	"errors"
	"fmt"
	"go/ast"
	"go/scanner"
	"reflect"
)

// signatureTable is the declaration that was registered for an interface.
type signatureTable struct {
	iface  reflect.Type
	file   *goFile // contains only the declaration; nil if it does not parse
	faults []error
}

// newSignatureTable parses a declaration and compares all of it with the program: a table that was generated for
// another version of the interface is wrong as a whole.
func newSignatureTable(t reflect.Type, given []string) *signatureTable {
	table := &signatureTable{iface: t}
	switch {
	case t.Kind() != reflect.Interface:
		table.faultf("is for a type that is not an interface: run apigen for an interface")
	case len(given) > 1:
		table.faultf("is registered %d times, with differences: keep one, and run go generate", len(given))
	default:
		table.parse(given[0])
	}
	return table
}

func (table *signatureTable) faultf(format string, arguments ...any) {
	table.faults = append(table.faults, fmt.Errorf("the signature table of %v "+format, append([]any{table.iface}, arguments...)...))
}

// parse parses and checks the declaration.
func (table *signatureTable) parse(declaration string) {
	file, err := parseText("package " + packageName(table.iface) + "\n" + declaration)
	if list, ok := errors.AsType[scanner.ErrorList](err); ok {
		err = errors.New(list[0].Msg) // without the position in the text, which nobody edits by hand
	}
	if err != nil {
		table.faultf("does not parse: %w: run go generate", err)
		return
	}
	table.file = file
	name := plainName(table.iface)
	spec, _ := file.typeSpec(name)
	if spec == nil {
		table.faultf("declares another type: run go generate, with apigen -type %s", name)
		return
	}
	iface, ok := spec.Type.(*ast.InterfaceType)
	if !ok {
		table.faultf("declares no interface: run go generate")
		return
	}
	table.checkMethods(iface)
}

// checkMethods compares the methods with those of the program, in both directions.
func (table *signatureTable) checkMethods(declared *ast.InterfaceType) {
	for m := range table.iface.Methods() {
		if m.IsExported() {
			table.checkMethod(m)
		}
	}
	for _, member := range declared.Methods.List {
		for _, method := range member.Names {
			if _, has := table.iface.MethodByName(method.Name); !has {
				table.faultf("has a method %s that the program does not have: run go generate", method.Name)
			}
		}
	}
}

// checkMethod compares one method of the program with its declaration.
func (table *signatureTable) checkMethod(m reflect.Method) {
	of := &subject{method: m.Name, receiver: table.iface}
	of.shape, _ = shapeOf(m.Type)
	found := declarationsOf(of, []*goFile{table.file})
	if len(found) == 0 {
		table.faultf("lacks method %s: run go generate", m.Name)
	}
	for _, declared := range found {
		if _, err := declared.read(of); err != nil {
			table.faultf("is wrong about method %s: %w: run go generate", m.Name, err)
		}
	}
}
