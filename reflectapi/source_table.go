package reflectapi

import "reflect"

const originTable = "signature table"

// tables are the signature tables that one description has asked for. It is for one goroutine.
type tables struct {
	asked map[reflect.Type]*signatureTable
	order []*signatureTable // of asked, so that faults are told in order
}

// newTableSource reads the declarations that generated files have registered. They are in
// the program, so they answer in every build.
func newTableSource() (*tables, *textSource) {
	all := &tables{asked: map[reflect.Type]*signatureTable{}}
	return all, &textSource{name: originTable, filesFor: func(of *subject) ([]*goFile, error) {
		switch table := all.of(of.receiver); {
		case table == nil && of.isInterface():
			return nil, unknown("none")
		case table == nil:
			return nil, unknown("") // only interfaces have one
		case len(table.faults) > 0:
			return nil, unknown("it is wrong")
		default:
			return []*goFile{table.file}, nil
		}
	}}
}

// of is the table that was registered for a type, nil when there is none.
func (all *tables) of(t reflect.Type) *signatureTable {
	table, asked := all.asked[t]
	if !asked {
		if given := registered.of(t); len(given) > 0 {
			table = newSignatureTable(t, given)
			all.order = append(all.order, table)
		}
		all.asked[t] = table
	}
	return table
}

// isFaulty tells a type whose table was asked for, and is wrong.
func (all *tables) isFaulty(t reflect.Type) bool {
	table := all.asked[t]
	return table != nil && len(table.faults) > 0
}

// faults is all that is wrong with the tables that were asked for.
func (all *tables) faults() []error {
	var faults []error
	for _, table := range all.order {
		faults = append(faults, table.faults...)
	}
	return faults
}
