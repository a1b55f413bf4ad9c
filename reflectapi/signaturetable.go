package reflectapi

import (
	"errors"
	"fmt"
	"go/ast"
	"go/scanner"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/busline/busline/reflectapi/internal/gotype"
)

// signatureTable is the declaration that was registered for an interface.
type signatureTable struct {
	iface reflect.Type
	file  *goFile // contains only the declaration; nil if it does not parse
	errs  []error
}

// newSignatureTable parses a declaration and compares all of it with the program: a table that was generated for
// another version of the interface is wrong as a whole.
func newSignatureTable(t reflect.Type, names []string) *signatureTable {
	table := &signatureTable{iface: t}
	switch {
	case t.Kind() != reflect.Interface:
		table.errorf("is for a type that is not an interface: run apigen for an interface")
	case len(names) > 1:
		table.errorf("is registered %d times, with differences: keep one, and run go generate", len(names))
	default:
		table.parse(names[0])
	}
	return table
}

func (table *signatureTable) errorf(format string, arguments ...any) {
	table.errs = append(table.errs, fmt.Errorf("the signature table of %v "+format,
		append([]any{table.iface}, arguments...)...))
}

// parse parses and checks the declaration.
func (table *signatureTable) parse(declaration string) {
	file, err := parseText("package " + gotype.PackageName(table.iface) + "\n" + declaration)
	if list, ok := errors.AsType[scanner.ErrorList](err); ok {
		err = errors.New(list[0].Msg) // without the position in the text, which is not edited by hand
	}
	if err != nil {
		table.errorf("does not parse: %w: run go generate", err)
		return
	}
	table.file = file
	name := gotype.PlainName(table.iface)
	spec, _ := file.typeSpec(name)
	if spec == nil {
		table.errorf("declares another type: run go generate, with apigen -type %s", name)
		return
	}
	iface, ok := spec.Type.(*ast.InterfaceType)
	if !ok {
		table.errorf("declares no interface: run go generate")
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
				table.errorf("has a method %s that the program does not have: run go generate", method.Name)
			}
		}
	}
}

// checkMethod compares one method of the program with its declaration.
func (table *signatureTable) checkMethod(m reflect.Method) {
	of := &methodDecl{method: m.Name, receiver: table.iface}
	of.shape, _ = signatureOf(m.Type)
	found := declarationsOf(of, []*goFile{table.file})
	if len(found) == 0 {
		table.errorf("lacks method %s: run go generate", m.Name)
	}
	for _, declared := range found {
		if _, err := declared.read(of); err != nil {
			table.errorf("is wrong about method %s: %w: run go generate", m.Name, err)
		}
	}
}

// Register records the declaration of an interface, including comments, as the text
//
//	// Calculator does sums.
//	type Calculator interface { … }
//
// so that the names are available in every build when the interface is described. It is called by files that apigen
// writes, while packages are initialised:
//
//	var _ = reflectapi.Register[Calculator](`…`)
//
// details are the Go types that the problems of the declaration name.
//
// The result has no meaning, and Register never fails. A declaration that does not match the interface is an error of
// Describe, DescribeAs and CheckNames. It is safe for concurrent use.
func Register[T any](declaration string, details ...reflect.Type) struct{} {
	registered.add(reflect.TypeFor[T](), declaration, details)
	return struct{}{}
}

// registry holds what is registered of types: one declaration for each interface, unless something is wrong.
type registry struct {
	mutex        sync.Mutex // protects all below
	declarations map[reflect.Type][]string
	details      map[reflect.Type][]reflect.Type // by the interface
}

// registered is filled by variables of generated files, before main, and only read from then on.
var registered registry //nolint:gochecknoglobals // docs/decisions/0008

// add records a declaration. Duplicates count once.
func (r *registry) add(t reflect.Type, declaration string, details []reflect.Type) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.declarations == nil {
		r.declarations, r.details = map[reflect.Type][]string{}, map[reflect.Type][]reflect.Type{}
	}
	r.details[t] = append(r.details[t], details...)
	// two clients may have one interface
	same := func(other string) bool { return withoutClient(other) == withoutClient(declaration) }
	if !slices.ContainsFunc(r.declarations[t], same) {
		r.declarations[t] = append(r.declarations[t], declaration)
	}
}

// withoutClient returns a declaration without the line of its client.
func withoutClient(declaration string) string {
	var kept strings.Builder
	for line := range strings.Lines(declaration) {
		if !strings.HasPrefix(line, ClientDirective) {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// of returns the declarations registered for a type.
func (r *registry) of(t reflect.Type) []string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return slices.Clone(r.declarations[t])
}

// detailsOf returns the type of details that an interface's declaration calls by a name; nil if there is none.
func (r *registry) detailsOf(iface reflect.Type, name string) reflect.Type {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for _, t := range r.details[iface] {
		if t.String() == name || t.Name() == name && t.PkgPath() == iface.PkgPath() {
			return t
		}
	}
	return nil
}

const originTable = "signature table"

// tables are the signature tables looked up for one description. Use it from one goroutine.
type tables struct {
	asked map[reflect.Type]*signatureTable
	order []*signatureTable // in the order of lookup, for the order of errors
}

// newTableSource reads the declarations that generated files have registered. The program contains them, so they are
// available in every build.
func newTableSource() (*tables, *textSource) {
	all := &tables{asked: map[reflect.Type]*signatureTable{}}
	return all, &textSource{name: originTable, filesFor: func(of *methodDecl) ([]*goFile, error) {
		switch table := all.of(of.receiver); {
		case table == nil && of.isInterface():
			return nil, unknown("none")
		case table == nil:
			return nil, unknown("") // only interfaces have a table
		case len(table.errs) > 0:
			return nil, unknown("it is wrong")
		default:
			return []*goFile{table.file}, nil
		}
	}}
}

// of returns the table registered for a type, nil if there is none.
func (all *tables) of(t reflect.Type) *signatureTable {
	table, asked := all.asked[t]
	if !asked {
		if names := registered.of(t); len(names) > 0 {
			table = newSignatureTable(t, names)
			all.order = append(all.order, table)
		}
		all.asked[t] = table
	}
	return table
}

// isInvalid reports whether a type's table was looked up and is invalid.
func (all *tables) isInvalid(t reflect.Type) bool {
	table := all.asked[t]
	return table != nil && len(table.errs) > 0
}

// errors returns all errors of the tables that were looked up.
func (all *tables) errors() []error {
	var errs []error
	for _, table := range all.order {
		errs = append(errs, table.errs...)
	}
	return errs
}
