package reflectapi

import (
	"debug/dwarf"
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"errors"
	"go/token"
	"io"
	"os"
	"reflect"
	"runtime"
	"strings"
	"sync"

	"github.com/busline/busline/reflectapi/internal/gotype"
)

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

const originDWARF = "DWARF"

// dwarfSource reads the debug information of the running program. It is the last resort, and opened only if a name is
// missing.
//
// What the compiler writes there is incomplete. Blank parameters of functions that can be inlined are missing, and so
// is an unnamed receiver; wrappers and functions that are not inlined have them all. Several entries may describe one
// method: the first that is complete and has the right types is used, and if there is none the next source is asked.
type dwarfSource struct{}

func (dwarfSource) origin() string { return originDWARF }

func (dwarfSource) declaration(of *methodDecl) (declaration, error) {
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
func (e dwarfEntry) declaration(of *methodDecl) (declaration, bool) {
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
func (e dwarfEntry) parameters(of *methodDecl) []dwarfVariable {
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
	name, _ := gotype.SplitGeneric(strings.TrimPrefix(typeName, "*"))
	own, _ := gotype.SplitGeneric(receiver.Name())
	return gotype.Unqualified(name) == own
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
	return gotype.Unqualified(v.typeName) == gotype.Unqualified(t.String())
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

// errNoDebugInformation stands for all errors of parsing a stripped program.
var errNoDebugInformation = errors.New("the program has no debug information")

// executableDWARF opens the debug information of the running program. There is none after go run and go test, or if the
// program was linked with -s or -w.
func executableDWARF() (*dwarf.Data, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, err
	}
	file, err := openExecutable(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	data, err := file.DWARF()
	if err != nil {
		return nil, errNoDebugInformation
	}
	return data, nil
}

// executable is what the file formats have in common.
type executable interface {
	io.Closer
	DWARF() (*dwarf.Data, error)
}

// openExecutable opens the program's file. runtime.GOOS is a constant, so only one case is compiled, and the linker
// drops the other formats.
func openExecutable(path string) (executable, error) {
	switch runtime.GOOS {
	case "darwin", "ios":
		return macho.Open(path)
	case "windows":
		return pe.Open(path)
	default:
		return elf.Open(path)
	}
}

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
