package reflectapi

import (
	"debug/dwarf"
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"errors"
	"io"
	"os"
	"runtime"
)

// errNoDebugInformation stands for the many ways in which a stripped program fails to parse.
var errNoDebugInformation = errors.New("the program has no debug information")

// executableDWARF opens the debug information of the running program, which is absent after
// go run, go test and linking with -s or -w.
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

// executable is what the formats have in common.
type executable interface {
	io.Closer
	DWARF() (*dwarf.Data, error)
}

// openExecutable compiles into one case: runtime.GOOS is a constant, and the linker drops
// the other formats.
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
