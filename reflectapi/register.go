package reflectapi

import (
	"reflect"
	"slices"
	"sync"
)

// Register keeps the declaration of an interface, comments included, as the text
//
//	// Calculator does sums.
//	type Calculator interface { … }
//
// for the time when the interface is described: what it says is in the program in every build.
// It is for files that apigen writes, which call it while packages are initialised:
//
//	var _ = reflectapi.Register[Calculator](`…`)
//
// It returns nothing of interest and never fails. A declaration that does not fit the interface
// is an error of Describe, DescribeAs and CheckNames. It may be called from any goroutine.
func Register[T any](declaration string) struct{} {
	registered.add(reflect.TypeFor[T](), declaration)
	return struct{}{}
}

// registry keeps the declarations that were registered, by type. There is one to a type,
// unless something is wrong.
type registry struct {
	mutex        sync.Mutex // protects declarations
	declarations map[reflect.Type][]string
}

// registered is filled by the variables of generated files, before main, and read from then on.
var registered registry //nolint:gochecknoglobals // docs/decisions/0008

// add keeps a declaration. The same one twice is one.
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

// of lists what was registered for a type.
func (r *registry) of(t reflect.Type) []string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return slices.Clone(r.declarations[t])
}
