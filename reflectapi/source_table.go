package reflectapi

import "reflect"

const originTable = "signature table"

// tables are the signature tables looked up for one description. Use it from one goroutine.
type tables struct {
	asked map[reflect.Type]*signatureTable
	order []*signatureTable // in the order of lookup, for the order of faults
}

// newTableSource reads the declarations that generated files have registered. The program contains them, so they are
// available in every build.
func newTableSource() (*tables, *textSource) {
	all := &tables{asked: map[reflect.Type]*signatureTable{}}
	return all, &textSource{name: originTable, filesFor: func(of *subject) ([]*goFile, error) {
		switch table := all.of(of.receiver); {
		case table == nil && of.isInterface():
			return nil, unknown("none")
		case table == nil:
			return nil, unknown("") // only interfaces have a table
		case len(table.faults) > 0:
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
		if given := registered.of(t); len(given) > 0 {
			table = newSignatureTable(t, given)
			all.order = append(all.order, table)
		}
		all.asked[t] = table
	}
	return table
}

// isFaulty reports whether a type's table was looked up and is faulty.
func (all *tables) isFaulty(t reflect.Type) bool {
	table := all.asked[t]
	return table != nil && len(table.faults) > 0
}

// faults returns all faults of the tables that were looked up.
func (all *tables) faults() []error {
	var faults []error
	for _, table := range all.order {
		faults = append(faults, table.faults...)
	}
	return faults
}
