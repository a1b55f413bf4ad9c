package reflectapi

import (
	"debug/dwarf"
	"strings"
)

// dwarfEntry is one description of a function; a receiver is its first parameter.
type dwarfEntry struct {
	params, results []dwarfVariable
}

type dwarfVariable struct{ name, typeName string }

// plainSymbol is a linker symbol without type arguments, which differ from place to place:
// "main.(*Store[go.shape.string]).Put" becomes "main.(*Store[...]).Put".
func plainSymbol(symbol string) string {
	open, end := strings.IndexByte(symbol, '['), strings.LastIndexByte(symbol, ']')
	if open < 0 || end < open {
		return symbol
	}
	return symbol[:open] + "[...]" + symbol[end+1:]
}

// scanExecutable reads the entries of the wanted functions from the running program.
func scanExecutable(wanted map[string]bool) (map[string][]dwarfEntry, error) {
	data, err := executableDWARF()
	if err != nil {
		return nil, err
	}
	scan := dwarfScan{entries: data.Reader(), types: data.Reader()}
	found := map[string][]dwarfEntry{}
	for {
		entry, err := scan.entries.Next()
		if err != nil || entry == nil {
			return found, err
		}
		if entry.Tag != dwarf.TagSubprogram {
			continue
		}
		name, _ := entry.Val(dwarf.AttrName).(string)
		if symbol := plainSymbol(name); wanted[symbol] && entry.Children {
			found[symbol] = append(found[symbol], scan.variables())
		} else {
			scan.entries.SkipChildren()
		}
	}
}

// dwarfScan walks the entries in order and looks types up beside them.
type dwarfScan struct {
	entries, types *dwarf.Reader
}

// variables reads the parameters and results below the function just read.
func (s dwarfScan) variables() (e dwarfEntry) {
	for {
		child, err := s.entries.Next()
		if err != nil || child == nil || child.Tag == 0 {
			return e
		}
		if child.Tag == dwarf.TagFormalParameter {
			e.add(child, s.typeName(child))
		}
		if child.Children {
			s.entries.SkipChildren()
		}
	}
}

// add files a variable under parameters or results. A result that lives in two places, as
// in a function that defers, is listed twice.
func (e *dwarfEntry) add(variable *dwarf.Entry, typeName string) {
	name, _ := variable.Val(dwarf.AttrName).(string)
	v := dwarfVariable{name, typeName}
	if isResult, _ := variable.Val(dwarf.AttrVarParam).(bool); !isResult {
		e.params = append(e.params, v)
		return
	}
	for _, known := range e.results {
		if known.name == name {
			return
		}
	}
	e.results = append(e.results, v)
}

func (s dwarfScan) typeName(variable *dwarf.Entry) string {
	offset, ok := variable.Val(dwarf.AttrType).(dwarf.Offset)
	if !ok {
		return ""
	}
	s.types.Seek(offset)
	entry, err := s.types.Next()
	if err != nil || entry == nil {
		return ""
	}
	name, _ := entry.Val(dwarf.AttrName).(string)
	return name
}
