package reflectapi

import (
	"errors"
	"fmt"
	"go/token"
	"io/fs"
	"reflect"
	"slices"
	"strings"
)

// Option configures Describe and DescribeAs. The default: all exported methods, with names from any available source.
type Option func(*settings)

// ParamNames gives the names of one method's arguments and results in code, comma-separated:
//
//	Names("Add", "x, y", "sum")
//
// Do not name a context or an error. These names take precedence over every other source. results may be "" if there
// are none, or for a single one to be called "result".
func ParamNames(method, arguments, results string) Option {
	return func(s *settings) {
		s.names = append(s.names, givenNames{method, splitNames(arguments), splitNames(results)})
	}
}

// SourceFS gives Go source to read names and doc comments from, in general the package's own:
//
//	//go:embed *.go
//	var source embed.FS
//
// It is available in every build, including stripped ones. The option can be given more than once.
func SourceFS(files fs.FS) Option {
	return func(s *settings) {
		if files == nil {
			s.refused = errors.New("bus.SourceFS: the file system is nil; give it an embed.FS")
		}
		s.sources = append(s.sources, files)
	}
}

// ExcludeMethods leaves out methods. A name that the service does not have is an error.
func ExcludeMethods(methods ...string) Option {
	return func(s *settings) { s.without = append(s.without, methods...) }
}

// RequirePortableNames ignores source files on disk and the debug information of the program: names and comments come
// only from what the program contains in every build and on every machine, which is code, signature tables and embedded
// source.
func RequirePortableNames() Option {
	return func(s *settings) { s.portable = true }
}

// settings are the combined options of one Describe.
type settings struct {
	names    []givenNames
	sources  []fs.FS
	without  []string
	portable bool
	refused  error // of an option that cannot be used at all
}

// givenNames are the arguments of one Names option.
type givenNames struct {
	method             string
	arguments, results []string
}

func settingsOf(options []Option) (*settings, error) {
	s := &settings{}
	for i, option := range options {
		if option == nil {
			return nil, fmt.Errorf("option %d is nil: leave it out", i+1)
		}
		option(s)
	}
	return s, s.refused
}

func (s *settings) leavesOut(method string) bool { return slices.Contains(s.without, method) }

// check returns what is wrong with the options for a type.
func (s *settings) check(t reflect.Type) []error {
	var errs []error
	for _, method := range s.without {
		if !hasMethod(t, method) {
			errs = append(errs, fmt.Errorf("bus.ExcludeMethods: %v has no method %s", t, method))
		}
	}
	for i, option := range s.names {
		if !hasMethod(t, option.method) {
			errs = append(errs, fmt.Errorf("bus.ParamNames: %v has no method %s", t, option.method))
		}
		if slices.ContainsFunc(s.names[:i], func(g givenNames) bool { return g.method == option.method }) {
			errs = append(errs, fmt.Errorf("bus.ParamNames: method %s is given twice", option.method))
		}
		for _, names := range [][]string{option.arguments, option.results} {
			if problem := namesProblem(names); problem != "" {
				errs = append(errs, fmt.Errorf("bus.ParamNames: method %s: %s", option.method, problem))
			}
		}
	}
	return errs
}

// hasMethod includes the methods of a pointer: they too may be named, or left out.
func hasMethod(t reflect.Type, name string) bool {
	_, has := t.MethodByName(name)
	if !has && t.Kind() != reflect.Interface {
		_, has = reflect.PointerTo(t).MethodByName(name)
	}
	return has
}

// namesProblem says what is wrong with the names given for arguments or results.
func namesProblem(names []string) string {
	for i, name := range names {
		switch {
		case !token.IsIdentifier(name) || name == "_":
			return fmt.Sprintf("%q is not a Go identifier", name)
		case slices.Contains(names[:i], name):
			return fmt.Sprintf("the name %s is used for two values", name)
		}
	}
	return ""
}

// splitNames splits "x, y" into x and y; a blank text contains no names.
func splitNames(list string) []string {
	if strings.TrimSpace(list) == "" {
		return nil
	}
	names := strings.Split(list, ",")
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	return names
}
