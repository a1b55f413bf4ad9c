package reflectapi

import (
	"fmt"
	"path/filepath"
	"slices"
)

// textSource reads declarations and doc comments from Go source, wherever that is.
type textSource struct {
	name string
	// filesFor returns the files that may declare the subject, or why there are none.
	filesFor func(of *subject) ([]*goFile, error)
}

// nowhere returns a source without any files.
func nowhere() *textSource {
	return &textSource{filesFor: func(*subject) ([]*goFile, error) { return nil, unknown("") }}
}

func (s *textSource) origin() string { return s.name }

// declaration searches the package of the subject. A method with code has to be declared at the line from which the
// program was compiled, which rules out later edits and other methods of the same name; for an interface the program
// contains no line.
func (s *textSource) declaration(of *subject) (declaration, error) {
	files, err := s.filesFor(of)
	if err != nil {
		return declaration{}, err
	}
	found := declarationsOf(of, files)
	if len(found) == 0 {
		return declaration{}, absence(of)
	}
	first, err := found[0].read(of)
	if err != nil {
		return declaration{}, err
	}
	for _, other := range found[1:] {
		again, err := other.read(of)
		if err != nil || !slices.Equal(again.params, first.params) || !slices.Equal(again.results, first.results) {
			return declaration{}, fmt.Errorf("%s and %s declare %s differently", found[0].place(), other.place(), of.method)
		}
	}
	return first, nil
}

// find returns the declarations of a subject, whether or not they match the program.
func (s *textSource) find(of *subject) []declared {
	files, err := s.filesFor(of)
	if err != nil {
		return nil
	}
	return declarationsOf(of, files)
}

// absence says that no file contains the declaration.
func absence(of *subject) unknown {
	if of.file == "" {
		return unknown(fmt.Sprintf("%v is not in it", of.receiver))
	}
	return unknown(fmt.Sprintf("%s:%d is not in it, or not as it was compiled", filepath.Base(of.file), of.line))
}

// comment returns the doc comment of the type that declares the subject, "" if it has none; declared reports whether
// the type was found.
func (s *textSource) comment(of *subject) (doc string, declared bool) {
	files, err := s.filesFor(of)
	if err != nil {
		return "", false
	}
	for _, likely := range []bool{true, false} { // so that files that only mention the type are rarely parsed
		for _, f := range files {
			if f.mentions("type "+of.typeName()) != likely || !f.belongsTo(of) {
				continue
			}
			if spec, doc := f.typeSpec(of.typeName()); spec != nil {
				return doc, true
			}
		}
	}
	return "", false
}
