package reflectapi

import (
	"io/fs"
	"path"
)

const originEmbedded = "embedded source"

// newEmbeddedSource reads the source given with the option Source. The program contains it, so it is available in every
// build.
func newEmbeddedSource(given []fs.FS) *textSource {
	var all []*goFile
	listed := false
	return &textSource{name: originEmbedded, filesFor: func(*subject) ([]*goFile, error) {
		if len(given) == 0 {
			return nil, unknown("none given")
		}
		if !listed {
			listed = true
			for _, files := range given {
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
