package reflectapi

import (
	"os"
	"path/filepath"
)

// diskSource is the source on disk, with a doubt. A file that was edited after the program was
// built, with no line moved and no type changed, fits the program as well as before, and may
// call arguments otherwise. Debug information knows better, and is dear to read
// (dwarf_scan.go): it is asked only where the file is younger than the program.
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

// youngerThanProgram tells whether a file was written after the program, as far as their dates
// tell.
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

// otherNames compares names where both sides have one: debug information may lack some.
func otherNames(read, compiled []string) bool {
	for i, name := range compiled {
		if !isBlank(name) && !isBlank(read[i]) && name != read[i] {
			return true
		}
	}
	return false
}
