package reflectapi

import (
	"errors"
	"fmt"
	"go/ast"
	"reflect"
)

// declared is one method declaration found in source.
type declared struct {
	file *goFile
	fn   *ast.FuncType
	doc  *ast.CommentGroup

	generic bool // declared in a generic interface, where types may be its type parameters
}

// place returns the file and line of the declaration for messages, or "" if the text is not from a file.
func (d declared) place() string {
	if d.file.path == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d", d.file.path, d.file.set.Position(d.fn.Pos()).Line)
}

// contradiction returns an error that says where and how the declaration does not match the program.
func (d declared) contradiction(format string, arguments ...any) error {
	reason := fmt.Sprintf(format, arguments...)
	if place := d.place(); place != "" {
		reason = place + ": " + reason
	}
	return errors.New(reason)
}

// read returns the names, after comparing number and types with the program.
func (d declared) read(of *subject) (declaration, error) {
	params, err := d.names("parameter", d.fn.Params, of.shape.params)
	if err != nil {
		return declaration{}, err
	}
	results, err := d.names("result", d.fn.Results, of.shape.outcomes)
	if err != nil {
		return declaration{}, err
	}
	route, err := RouteIn(d.doc)
	if err != nil {
		return declaration{}, d.contradiction("%s", err)
	}
	return declaration{params: params, results: results, doc: docText(d.doc), route: route, place: d.place()}, nil
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
