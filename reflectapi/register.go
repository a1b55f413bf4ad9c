package reflectapi

import (
	"reflect"
	"slices"
	"sync"
)

// Register records the declaration of an interface, including comments, as the text
//
//	// Calculator does sums.
//	type Calculator interface { … }
//
// so that the names are available in every build when the interface is described. It is called by files that apigen
// writes, while packages are initialised:
//
//	var _ = reflectapi.Register[Calculator](`…`)
//
// The result has no meaning, and Register never fails. A declaration that does not match the interface is an error of
// Describe, DescribeAs and CheckNames. It is safe for concurrent use.
func Register[T any](declaration string) struct{} {
	registered.add(reflect.TypeFor[T](), declaration)
	return struct{}{}
}

// registry holds the registered declarations by type: one for each type, unless something is wrong.
type registry struct {
	mutex        sync.Mutex // protects declarations
	declarations map[reflect.Type][]string
}

// registered is filled by variables of generated files, before main, and only read from then on.
var registered registry //nolint:gochecknoglobals // docs/decisions/0008

// add records a declaration. Duplicates count once.
func (r *registry) add(t reflect.Type, declaration string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.declarations == nil {
		r.declarations = map[reflect.Type][]string{}
	}
	if !slices.Contains(r.declarations[t], declaration) {
		r.declarations[t] = append(r.declarations[t], declaration)
	}
}

// of returns the declarations registered for a type.
func (r *registry) of(t reflect.Type) []string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return slices.Clone(r.declarations[t])
}
