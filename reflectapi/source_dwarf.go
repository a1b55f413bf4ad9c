package reflectapi

import (
	"reflect"
	"strings"
)

const originDWARF = "DWARF"

// dwarfSource reads the debug information of the running program, the last resort, which is
// opened only when a name is missing.
//
// What the compiler leaves there has holes. Blank parameters of functions that can be
// inlined are absent, the receiver too when it has no name; wrappers and functions that are
// not inlined have them all. Several entries may describe one method: one that is complete
// and has the right types answers, and when none is, the question goes on.
type dwarfSource struct{}

func (dwarfSource) origin() string { return originDWARF }

func (dwarfSource) declaration(of *subject) (declaration, error) {
	if len(of.symbols) == 0 {
		return declaration{}, unknown("an interface leaves nothing there")
	}
	entries, err := debugEntries()
	if err != nil {
		return declaration{}, unknown(err.Error())
	}
	for _, symbol := range of.symbols {
		for _, entry := range entries[plainSymbol(symbol)].unpack() {
			if d, ok := entry.declaration(of); ok {
				return d, nil
			}
		}
	}
	return declaration{}, unknown("no complete entry")
}

// declaration takes the names if the entry is complete and fits the program.
func (e dwarfEntry) declaration(of *subject) (declaration, bool) {
	params, results := e.parameters(of), e.results
	if len(results) == 0 {
		results = make([]dwarfVariable, len(of.shape.outcomes)) // unnamed ones may be absent
	}
	if !matches(params, of.shape.params) || !matches(results, of.shape.outcomes) {
		return declaration{}, false
	}
	return declaration{params: variableNames(params), results: variableNames(results), place: of.place()}, true
}

// parameters lists the parameters that stand in the program's order. A blank context, which
// needs no name, is put back; with any other one missing, the number will not match. A
// first parameter of the receiver's type is always taken for the receiver: where it is not,
// the number will not match either, rather than a wrong name be right by chance.
func (e dwarfEntry) parameters(of *subject) []dwarfVariable {
	params := e.params
	if len(params) > len(of.shape.params) || len(params) > 0 && isReceiver(params[0].typeName, of.receiver) {
		params = params[1:]
	}
	if of.shape.takesContext && len(params) == len(of.shape.args) {
		params = append([]dwarfVariable{{}}, params...)
	}
	return params
}

// isReceiver tells whether a type as DWARF names it is the receiver or a pointer to it.
func isReceiver(typeName string, receiver reflect.Type) bool {
	name, _ := splitGeneric(strings.TrimPrefix(typeName, "*"))
	own, _ := splitGeneric(receiver.Name())
	return qualifier.ReplaceAllString(name, "") == own
}

func matches(variables []dwarfVariable, types []reflect.Type) bool {
	if len(variables) != len(types) {
		return false
	}
	for i, v := range variables {
		if !v.matches(types[i]) {
			return false
		}
	}
	return true
}

// matches compares types by name, package paths left out: DWARF has the path where reflect
// has the package's name. Types inside generic code cannot be told.
func (v dwarfVariable) matches(t reflect.Type) bool {
	if v.typeName == "" || strings.Contains(v.typeName, "go.shape.") || strings.HasPrefix(v.typeName, ".param") {
		return true
	}
	return qualifier.ReplaceAllString(v.typeName, "") == qualifier.ReplaceAllString(t.String(), "")
}

// variableNames lists names; the compiler calls unnamed ones ~p0 or ~r0.
func variableNames(variables []dwarfVariable) []string {
	names := make([]string, len(variables))
	for i, v := range variables {
		if !strings.HasPrefix(v.name, "~") {
			names[i] = v.name
		}
	}
	return names
}
