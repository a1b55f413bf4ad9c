package cli

import (
	"net/http"
	"slices"
	"strings"

	"github.com/busline/busline/restmap/openapi"
)

// matching returns the operations of the path that matches best.
func matching(document *openapi.Document, path string) (found []*operation) {
	best := -1
	for _, each := range operationsOf(document) {
		_, literal, ok := each.match(path)
		switch {
		case !ok || literal < best:
			continue
		case literal > best:
			found, best = nil, literal
		}
		if len(found) == 0 || found[0].path == each.path {
			found = append(found, &each)
		}
	}
	return found
}

// choose picks one operation of a path. Without a method from the command line it is GET, unless only others take the
// arguments; it does not choose among several others, because they may change things.
func choose(found []*operation, to address, method string, given arguments) (*operation, error) {
	if len(found) == 1 {
		return found[0], nil
	}
	if method != "" {
		listed := method
		if method == http.MethodHead {
			listed = http.MethodGet
		}
		if at := slices.IndexFunc(found, func(o *operation) bool { return o.method == listed }); at >= 0 {
			return found[at], nil
		}
		return found[0], nil // the service refuses the method in its own words
	}
	fit := slices.DeleteFunc(slices.Clone(found), func(o *operation) bool { return !o.takesAt(to.path, given) })
	if len(fit) == 0 { // an argument that is in the path already is reported for the operation chosen without it
		fit = slices.DeleteFunc(slices.Clone(found), func(o *operation) bool { return !o.takes(given) })
	}
	switch {
	case len(fit) == 1, len(fit) > 1 && fit[0].method == http.MethodGet:
		return fit[0], nil
	case len(fit) == 0:
		return nil, unknownToAll(found, to, given)
	}
	return nil, misuse("%s has the methods %s; choose one with -X", to, strings.Join(methodsOf(fit), ", "))
}

// unknownToAll reports an argument that no method of a path takes, or that no method takes all of them.
func unknownToAll(found []*operation, to address, all arguments) error {
	for _, given := range all.named {
		taken := slices.ContainsFunc(found, func(o *operation) bool { return o.takes(arguments{named: []argument{given}}) })
		if taken {
			continue
		}
		var names []string
		for _, each := range found {
			for _, name := range parameterNames(each.parameters()) {
				if !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
		return unknownArgument(to, given.name, names)
	}
	return misuse("no method of %s takes all these arguments; %s shows those of %s", to, "busline describe "+to.String(), strings.Join(methodsOf(found), ", "))
}

func unknownArgument(to address, name string, names []string) error {
	return misuse("there is no argument %s: %s takes %s%s", name, to, orNothing(names), didYouMean(name, names))
}

// orNothing formats a list of names.
func orNothing(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

func methodsOf(all []*operation) (methods []string) {
	for _, each := range all {
		methods = append(methods, each.method)
	}
	return methods
}

// takesAt is takes for an address whose path contains some arguments already.
func (o *operation) takesAt(path string, all arguments) bool {
	given, _, _ := o.match(path)
	return o.takes(all) && (o.isOpen() || !slices.ContainsFunc(all.named, func(one argument) bool {
		_, inPath := given[one.name]
		_, isMember := o.member(one.name)
		return inPath && !isMember
	}))
}

// takes reports whether an operation takes all these arguments, and a body if there is one.
func (o *operation) takes(all arguments) bool {
	if all.body != nil && o.body() == nil && !o.isOpen() {
		return false
	}
	parameters := o.parameters()
	for _, given := range all.named {
		name, _, _ := strings.Cut(given.name, ".")
		known := slices.ContainsFunc(parameters, func(p parameter) bool { return p.name == name || p.name == given.name })
		if !known {
			_, known = o.member(name)
		}
		if !known && !o.isOpen() {
			return false
		}
	}
	return true
}
