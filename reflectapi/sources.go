package reflectapi

import (
	"bufio"
	"fmt"
	"go/ast"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// textSource reads declarations and doc comments from Go source, wherever that is.
type textSource struct {
	name string
	// filesFor returns the files that may declare the subject, or why there are none.
	filesFor func(of *methodDecl) ([]*goFile, error)
}

// nowhere returns a source without any files.
func nowhere() *textSource {
	return &textSource{filesFor: func(*methodDecl) ([]*goFile, error) { return nil, unknown("") }}
}

func (s *textSource) origin() string { return s.name }

// declaration searches the package of the subject. A method with code has to be declared at the line from which the
// program was compiled, which rules out later edits and other methods of the same name; for an interface the program
// contains no line.
func (s *textSource) declaration(of *methodDecl) (declaration, error) {
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
func (s *textSource) find(of *methodDecl) []declared {
	files, err := s.filesFor(of)
	if err != nil {
		return nil
	}
	return declarationsOf(of, files)
}

// absence says that no file contains the declaration.
func absence(of *methodDecl) unknown {
	if of.file == "" {
		return unknown(fmt.Sprintf("%v is not in it", of.receiver))
	}
	return unknown(fmt.Sprintf("%s:%d is not in it, or not as it was compiled", filepath.Base(of.file), of.line))
}

// comment returns the comment of the type that declares the subject, nil if it has none, and the file with the type,
// nil if it was not found.
func (s *textSource) comment(of *methodDecl) (comment *ast.CommentGroup, in *goFile) {
	files, err := s.filesFor(of)
	if err != nil {
		return nil, nil
	}
	for _, likely := range []bool{true, false} { // so that files that only mention the type are rarely parsed
		for _, f := range files {
			if f.mentions("type "+of.typeName()) != likely || !f.belongsTo(of) {
				continue
			}
			if spec, comment := f.typeSpec(of.typeName()); spec != nil {
				return comment, f
			}
		}
	}
	return nil, nil
}

// checkEmbedded returns an error for what is declared above an interface that the subject embeds, and not above the
// subject, which has these directives and is declared in this file.
func (s *textSource) checkEmbedded(of *methodDecl, in *goFile, has Declared) error {
	files, err := s.filesFor(of)
	if err != nil {
		return err
	}
	return in.checkEmbedded(files, of.typeName(), of.typeName(), has, nil)
}

const originCode = "code"

// codeSource knows the names given in code, with Names.
type codeSource struct {
	names []givenNames
}

func (codeSource) origin() string { return originCode }

func (s codeSource) declaration(of *methodDecl) (declaration, error) {
	for _, names := range s.names {
		if names.method == of.method {
			return names.declare(of.shape)
		}
	}
	return declaration{}, unknown("none given")
}

// declare adds context and error, which are not named in code, at their places.
func (g givenNames) declare(s signature) (declaration, error) {
	args, results := g.arguments, g.results
	if results == nil && len(s.results) == 1 {
		results = []string{""}
	}
	if len(args) != len(s.args) || len(results) != len(s.results) {
		return declaration{}, fmt.Errorf("names for %d arguments (%s) and %d results (%s), but the method has %d and %d, "+
			"context and error not counted",
			len(args), strings.Join(args, ", "), len(results), strings.Join(results, ", "), len(s.args), len(s.results))
	}
	var d declaration
	if s.takesContext {
		d.params = append(d.params, "ctx")
	}
	d.params = append(d.params, args...)
	d.results = append(d.results, results...)
	if s.returnsError {
		d.results = append(d.results, "err")
	}
	return d, nil
}

const originDisk = "source file"

// newDiskSource reads the files from which the program was compiled, if they still exist. Usually they do under go run
// and go test, whose programs have no debug information to read.
func newDiskSource() *textSource {
	disk := diskFolders{}
	return &textSource{name: originDisk, filesFor: func(of *methodDecl) ([]*goFile, error) {
		folder, err := of.folder()
		if err != nil {
			return nil, err
		}
		files := disk.files(folder)
		if len(files) == 0 {
			return nil, unknown(folder + " is not on this machine")
		}
		return files, nil
	}}
}

// diskFolders are the folders listed so far.
type diskFolders map[string][]*goFile

func (disk diskFolders) files(folder string) []*goFile {
	files, listed := disk[folder]
	if !listed {
		files = goFilesIn(os.DirFS(folder), ".")
		for _, f := range files {
			f.packageAt = func(importPath string) []*goFile { return disk.neighbour(importPath, folder) }
		}
		disk[folder] = files
	}
	return slices.Clone(files)
}

// neighbour returns the files of another package in the same module as a folder.
func (disk diskFolders) neighbour(importPath, within string) []*goFile {
	folder, err := folderInModule(importPath, within)
	if err != nil {
		return nil
	}
	return disk.files(folder)
}

// folder returns the folder in which the package of the subject was compiled.
func (of *methodDecl) folder() (string, error) {
	from := of.origin()
	switch {
	case isLanguages(of.receiver):
		return "", unknown(fmt.Sprintf("%v is declared in no file", of.receiver))
	case from.file == "":
		return "", unknown("its file is unknown")
	case !filepath.IsAbs(from.file):
		return "", unknown("the program was built with -trimpath")
	case from.importPath == of.receiver.PkgPath():
		return filepath.Dir(from.file), nil
	}
	return folderInModule(of.receiver.PkgPath(), filepath.Dir(from.file))
}

// folderInModule returns the folder of another package in the same module as a folder: an interface has no code, so the
// program does not contain the place of its declaration.
func folderInModule(importPath, within string) (string, error) {
	for root := within; ; root = filepath.Dir(root) {
		if module, ok := modulePath(filepath.Join(root, "go.mod")); ok {
			rest, inside := strings.CutPrefix(importPath+"/", module+"/")
			if !inside {
				return "", unknown("package " + importPath + " is in another module")
			}
			return filepath.Join(root, filepath.FromSlash(rest)), nil
		}
		if root == filepath.Dir(root) {
			return "", unknown("the folder of package " + importPath + " is unknown")
		}
	}
}

// modulePath returns the module path in a go.mod file.
func modulePath(file string) (string, bool) {
	f, err := os.Open(file)
	if err != nil {
		return "", false
	}
	defer func() { _ = f.Close() }()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if words := strings.Fields(lines.Text()); len(words) >= 2 && words[0] == "module" {
			return strings.Trim(words[1], `"`), true
		}
	}
	return "", false
}

const originEmbedded = "embedded source"

// newEmbeddedSource reads the source given with the option Source. The program contains it, so it is available in every
// build.
func newEmbeddedSource(filesystems []fs.FS) *textSource {
	var all []*goFile
	listed := false
	return &textSource{name: originEmbedded, filesFor: func(*methodDecl) ([]*goFile, error) {
		if len(filesystems) == 0 {
			return nil, unknown("none given")
		}
		if !listed {
			listed = true
			for _, files := range filesystems {
				all = append(all, goFilesBelow(files)...)
			}
			for _, f := range all {
				f.packageAt = func(importPath string) []*goFile { return filesOf(importPath, all) }
			}
		}
		return all, nil
	}}
}

// filesOf returns the files of a package by the last element of its path, assuming that this is the name of the package
// or of the folder: nothing else says where an embedded file came from.
func filesOf(importPath string, all []*goFile) []*goFile {
	var found []*goFile
	for _, f := range all {
		tree, name := f.tree(), path.Base(importPath)
		if tree != nil && (tree.Name.Name == name || path.Base(path.Dir(f.path)) == name) {
			found = append(found, f)
		}
	}
	return found
}

// goFilesBelow returns the Go files of all folders.
func goFilesBelow(files fs.FS) []*goFile {
	var all []*goFile
	_ = fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			all = append(all, goFilesIn(files, path)...)
		}
		return nil // unreadable folders are ignored
	})
	return all
}
