package reflectapi

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const originDisk = "source file"

// newDiskSource reads the files from which the program was compiled, if they still exist. Usually they do under go run
// and go test, whose programs have no debug information to read.
func newDiskSource() *textSource {
	disk := diskFolders{}
	return &textSource{name: originDisk, filesFor: func(of *subject) ([]*goFile, error) {
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
func (of *subject) folder() (string, error) {
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
