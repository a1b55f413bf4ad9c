package reflectapi

import (
	"fmt"
	"go/token"
	"io/fs"
	"reflect"
	"slices"
	"strings"
)

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

// faults returns what is wrong with the options for a type.
func (s *settings) faults(t reflect.Type) []error {
	var faults []error
	for _, method := range s.without {
		if !hasMethod(t, method) {
			faults = append(faults, fmt.Errorf("bus.ExcludeMethods: %v has no method %s", t, method))
		}
	}
	for i, given := range s.names {
		if !hasMethod(t, given.method) {
			faults = append(faults, fmt.Errorf("bus.ParamNames: %v has no method %s", t, given.method))
		}
		if slices.ContainsFunc(s.names[:i], func(g givenNames) bool { return g.method == given.method }) {
			faults = append(faults, fmt.Errorf("bus.ParamNames: method %s is given twice", given.method))
		}
		for _, names := range [][]string{given.arguments, given.results} {
			if fault := namesFault(names); fault != "" {
				faults = append(faults, fmt.Errorf("bus.ParamNames: method %s: %s", given.method, fault))
			}
		}
	}
	return faults
}

// hasMethod includes the methods of a pointer: they too may be named, or left out.
func hasMethod(t reflect.Type, name string) bool {
	_, has := t.MethodByName(name)
	if !has && t.Kind() != reflect.Interface {
		_, has = reflect.PointerTo(t).MethodByName(name)
	}
	return has
}

// namesFault says what is wrong with the names given for arguments or results.
func namesFault(names []string) string {
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
