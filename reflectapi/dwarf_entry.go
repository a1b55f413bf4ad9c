package reflectapi

import "strings"

// dwarfEntry is one debug entry of a function; a receiver is its first parameter.
type dwarfEntry struct {
	params, results []dwarfVariable
}

type dwarfVariable struct{ name, typeName string }

// addResult adds a result unless it is there: a result with two locations, as in a function with defer, is listed
// twice.
func (e *dwarfEntry) addResult(v dwarfVariable) {
	for _, known := range e.results {
		if known.name == v.name {
			return
		}
	}
	e.results = append(e.results, v)
}

// The separators in a packed entry. No name or type contains such a byte.
const (
	betweenEntries   = "\x00"
	betweenLists     = "\x01" // between parameters and results
	betweenVariables = "\x02"
	betweenNameType  = "\x03"
)

// packedEntries are all entries of one symbol, as a string. The entries of a whole program are kept for as long as it
// runs, and as structs they would take half as much memory again.
type packedEntries string

// with appends an entry.
func (p packedEntries) with(e dwarfEntry) packedEntries {
	packed := packedEntries(packVariables(e.params) + betweenLists + packVariables(e.results))
	if p == "" {
		return packed
	}
	return p + betweenEntries + packed
}

// unpack returns the entries.
func (p packedEntries) unpack() []dwarfEntry {
	if p == "" {
		return nil
	}
	var entries []dwarfEntry
	for entry := range strings.SplitSeq(string(p), betweenEntries) {
		params, results, _ := strings.Cut(entry, betweenLists)
		entries = append(entries, dwarfEntry{unpackVariables(params), unpackVariables(results)})
	}
	return entries
}

func packVariables(variables []dwarfVariable) string {
	packed := make([]string, len(variables))
	for i, v := range variables {
		packed[i] = v.name + betweenNameType + v.typeName
	}
	return strings.Join(packed, betweenVariables)
}

func unpackVariables(packed string) []dwarfVariable {
	if packed == "" {
		return nil
	}
	var variables []dwarfVariable
	for variable := range strings.SplitSeq(packed, betweenVariables) {
		name, typeName, _ := strings.Cut(variable, betweenNameType)
		variables = append(variables, dwarfVariable{name, typeName})
	}
	return variables
}
