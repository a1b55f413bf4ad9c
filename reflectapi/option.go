package reflectapi

import "io/fs"

// Option adjusts what Describe and DescribeAs do. The default is: every exported method,
// names from wherever they can be found.
type Option func(*settings)

// Names gives the names of one method's arguments and results in code, comma-separated:
//
//	Names("Add", "x, y", "sum")
//
// A context and an error are not named. They win over every other source. Results may be
// left "" when there is none, or a single one that is to be called "result".
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
// It answers in every build, stripped ones too. Given more than once, all of it counts.
func Source(files fs.FS) Option {
	return func(s *settings) { s.sources = append(s.sources, files) }
}

// Without leaves methods out. A name that the service does not have is an error.
func Without(methods ...string) Option {
	return func(s *settings) { s.without = append(s.without, methods...) }
}

// Portable leaves the source on disk and the debug information of the program aside: names and
// comments come only from what is in the program however it is built and wherever it runs, which
// is code, signature tables and embedded source.
func Portable() Option {
	return func(s *settings) { s.portable = true }
}
