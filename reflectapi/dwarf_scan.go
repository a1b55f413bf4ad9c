package reflectapi

import (
	"debug/dwarf"
	"go/token"
	"strings"
	"sync"
)

// debugEntries reads the entries of all exported methods of the running program, by plainSymbol. It does so at most
// once and for all methods, because nothing says which services are described later: scanning a program of 35 MB takes
// a quarter of a second and keeps 2 MB.
var debugEntries = sync.OnceValues(scanExecutable) //nolint:gochecknoglobals // the program does not change while it runs

func scanExecutable() (map[string]packedEntries, error) {
	data, err := executableDWARF()
	if err != nil {
		return nil, err
	}
	scan := dwarfScan{entries: data.Reader(), types: data.Reader(), typeNames: map[dwarf.Offset]string{}}
	found := map[string]packedEntries{}
	for {
		entry, err := scan.entries.Next()
		if err != nil || entry == nil {
			return found, err
		}
		if entry.Tag != dwarf.TagSubprogram {
			continue
		}
		name, _ := entry.Val(dwarf.AttrName).(string)
		if symbol := plainSymbol(name); entry.Children && isExportedMethod(symbol) {
			found[symbol] = found[symbol].with(scan.variables())
		} else {
			scan.entries.SkipChildren()
		}
	}
}

// plainSymbol returns a linker symbol without its type arguments, whose spelling varies:
// "main.(*Store[go.shape.string]).Put" becomes "main.(*Store[...]).Put".
func plainSymbol(symbol string) string {
	open, end := strings.IndexByte(symbol, '['), strings.LastIndexByte(symbol, ']')
	if open < 0 || end < open {
		return symbol
	}
	return symbol[:open] + "[...]" + symbol[end+1:]
}

// isExportedMethod distinguishes methods, "main.Store.Put" and "example.com/shop.(*Store[...]).Put", from functions,
// which have only one dot after the path of their package. A dot in the last element of the path is written %2e.
func isExportedMethod(symbol string) bool {
	symbol = symbol[strings.LastIndexByte(symbol, '/')+1:]
	last := strings.LastIndexByte(symbol, '.')
	return last > strings.IndexByte(symbol, '.') && token.IsExported(symbol[last+1:])
}

// dwarfScan reads the entries in order, and looks up types on the side.
type dwarfScan struct {
	entries, types *dwarf.Reader
	typeNames      map[dwarf.Offset]string // those looked up so far
}

// variables reads the parameters and results of the function just read.
func (s dwarfScan) variables() (e dwarfEntry) {
	for {
		child, err := s.entries.Next()
		if err != nil || child == nil || child.Tag == 0 {
			return e
		}
		if child.Tag == dwarf.TagFormalParameter {
			name, _ := child.Val(dwarf.AttrName).(string)
			v := dwarfVariable{name, s.typeName(child)}
			if isResult, _ := child.Val(dwarf.AttrVarParam).(bool); isResult {
				e.addResult(v)
			} else {
				e.params = append(e.params, v)
			}
		}
		if child.Children {
			s.entries.SkipChildren()
		}
	}
}

func (s dwarfScan) typeName(variable *dwarf.Entry) string {
	offset, ok := variable.Val(dwarf.AttrType).(dwarf.Offset)
	if !ok {
		return ""
	}
	name, known := s.typeNames[offset]
	if !known {
		name = s.lookUp(offset)
		s.typeNames[offset] = name
	}
	return name
}

// lookUp returns the name of the type at an offset.
func (s dwarfScan) lookUp(offset dwarf.Offset) string {
	s.types.Seek(offset)
	entry, err := s.types.Next()
	if err != nil || entry == nil {
		return ""
	}
	name, _ := entry.Val(dwarf.AttrName).(string)
	return name
}
