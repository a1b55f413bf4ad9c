package reflectapi

import (
	"reflect"
	"strings"
)

const originDWARF = "DWARF"

// dwarfSource reads the debug information of the running program. It is the last resort, and opened only if a name is
// missing.
//
// What the compiler writes there is incomplete. Blank parameters of functions that can be inlined are missing, and so
// is an unnamed receiver; wrappers and functions that are not inlined have them all. Several entries may describe one
// method: the first that is complete and has the right types is used, and if there is none the next source is asked.
type dwarfSource struct{}

func (dwarfSource) origin() string { return originDWARF }

func (dwarfSource) declaration(of *subject) (declaration, error) {
	if len(of.symbols) == 0 {
		return declaration{}, unknown("it has no methods of interfaces")
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

// declaration returns the names if the entry is complete and matches the program.
func (e dwarfEntry) declaration(of *subject) (declaration, bool) {
	params, results := e.parameters(of), e.results
	if len(results) == 0 {
		results = make([]dwarfVariable, len(of.shape.outcomes)) // unnamed ones may be missing
	}
	if !matches(params, of.shape.params) || !matches(results, of.shape.outcomes) {
		return declaration{}, false
	}
	return declaration{params: variableNames(params), results: variableNames(results), place: of.place()}, true
}

// parameters returns the parameters in the program's order. A blank context, which needs no name, is put back; if any
// other one is missing, the number does not match. A first parameter of the receiver's type is always taken to be the
// receiver: if it is not, the number does not match either, so that no wrong name is used by chance.
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

// isReceiver reports whether a type name in DWARF is the receiver's or that of a pointer to it.
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

// matches compares types by name, without package paths: DWARF has the path where reflect has the package's name. Types
// in generic code cannot be compared, and count as matching.
func (v dwarfVariable) matches(t reflect.Type) bool {
	if v.typeName == "" || strings.Contains(v.typeName, "go.shape.") || strings.HasPrefix(v.typeName, ".param") {
		return true
	}
	return qualifier.ReplaceAllString(v.typeName, "") == qualifier.ReplaceAllString(t.String(), "")
}

// variableNames returns the names of variables; the compiler calls unnamed ones ~p0 or ~r0.
func variableNames(variables []dwarfVariable) []string {
	names := make([]string, len(variables))
	for i, v := range variables {
		if !strings.HasPrefix(v.name, "~") {
			names[i] = v.name
		}
	}
	return names
}
