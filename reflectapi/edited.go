package reflectapi

import (
	"os"
	"path/filepath"
)

// diskSource reads the source on disk, and checks it if in doubt. A file that was edited after the program was built,
// without moving a line or changing a type, matches the program as well as before but may have other argument names.
// Debug information has the right ones, but is expensive to read (dwarf_scan.go), so it is used only if the file is
// newer than the program.
type diskSource struct{ *textSource }

func (s diskSource) declaration(of *subject) (declaration, error) {
	read, err := s.textSource.declaration(of)
	if err != nil || of.file == "" || !youngerThanProgram(of.file) {
		return read, err
	}
	compiled, err := dwarfSource{}.declaration(of)
	if err == nil && (otherNames(read.params, compiled.params) || otherNames(read.results, compiled.results)) {
		return declaration{}, unknown(filepath.Base(of.file) + " was edited after the program was built")
	}
	return read, nil
}

// youngerThanProgram reports whether a file was modified after the program was built, by their modification times.
func youngerThanProgram(file string) bool {
	path, err := os.Executable()
	if err != nil {
		return false
	}
	program, err := os.Stat(path)
	if err != nil {
		return false
	}
	source, err := os.Stat(file)
	return err == nil && source.ModTime().After(program.ModTime())
}

// otherNames reports whether names differ, where both sides have one: debug information may lack some.
func otherNames(read, compiled []string) bool {
	for i, name := range compiled {
		if !isBlank(name) && !isBlank(read[i]) && name != read[i] {
			return true
		}
	}
	return false
}
