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

// errNoDebugInformation stands for the many ways in which parsing a stripped program fails.
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
