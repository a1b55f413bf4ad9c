package reflectapi

import (
	"fmt"
	"strings"
)

const originCode = "code"

// codeSource knows the names given in code, with Names.
type codeSource struct {
	given []givenNames
}

func (codeSource) origin() string { return originCode }

func (s codeSource) declaration(of *subject) (declaration, error) {
	for _, given := range s.given {
		if given.method == of.method {
			return given.declare(of.shape)
		}
	}
	return declaration{}, unknown("none given")
}

// declare adds context and error, which are not named in code, at their places.
func (g givenNames) declare(s shape) (declaration, error) {
	args, results := g.arguments, g.results
	if results == nil && len(s.results) == 1 {
		results = []string{""}
	}
	if len(args) != len(s.args) || len(results) != len(s.results) {
		return declaration{}, fmt.Errorf("names for %d arguments (%s) and %d results (%s), but the method has %d and %d, context and error not counted",
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
