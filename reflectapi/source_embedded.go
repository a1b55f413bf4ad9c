package reflectapi

import "io/fs"

const originEmbedded = "embedded source"

// newEmbeddedSource reads the source that was handed over with the Source option. It is in
// the program, so it answers in every build.
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
		}
		return all, nil
	}}
}

// goFilesBelow lists the Go files of all folders.
func goFilesBelow(files fs.FS) []*goFile {
	var all []*goFile
	_ = fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			all = append(all, goFilesIn(files, path)...)
		}
		return nil // what cannot be read is not there
	})
	return all
}
