package reflectapi

import (
	"errors"
	"io/fs"
)

// Option configures Describe and DescribeAs. The default: all exported methods, with names from any available source.
type Option func(*settings)

// Names gives the names of one method's arguments and results in code, comma-separated:
//
//	Names("Add", "x, y", "sum")
//
// Do not name a context or an error. These names take precedence over every other source. results may be "" if there
// are none, or for a single one to be called "result".
func Names(method, arguments, results string) Option {
	return func(s *settings) {
		s.names = append(s.names, givenNames{method, splitNames(arguments), splitNames(results)})
	}
}

// Source gives Go source to read names and doc comments from, in general the package's own:
//
//	//go:embed *.go
//	var source embed.FS
//
// It is available in every build, including stripped ones. The option can be given more than once.
func Source(files fs.FS) Option {
	return func(s *settings) {
		if files == nil {
			s.refused = errors.New("bus.SourceFS: the file system is nil; give it an embed.FS")
		}
		s.sources = append(s.sources, files)
	}
}

// Without leaves out methods. A name that the service does not have is an error.
func Without(methods ...string) Option {
	return func(s *settings) { s.without = append(s.without, methods...) }
}

// Portable ignores source files on disk and the debug information of the program: names and comments come only from
// what the program contains in every build and on every machine, which is code, signature tables and embedded source.
func Portable() Option {
	return func(s *settings) { s.portable = true }
}
