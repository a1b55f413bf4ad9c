package reflectapi

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
)

// clientFaults returns a fault for each method that is declared with other names in an interface that the value implements, and
// for which there are generated clients. That happens when a service is described without its interface: clients would send
// arguments that the service ignores, as it knows them by other names, and zero would take their place without an error.
func (s *survey) clientFaults(methods []*Method) (faults []error) {
	if s.as.Kind() == reflect.Interface {
		return nil // its names count
	}
	_, table := newTableSource()
	for _, iface := range registered.implementedBy(s.impl) {
		for _, method := range methods {
			theirs := s.namedBy(table, iface, method)
			if theirs == nil || theirs.Signature() == method.Signature() {
				continue
			}
			faults = append(faults, fmt.Errorf(
				"method %s is %s, but %s for the clients of %v, whose arguments would get lost: give the interface as the type parameter, [%v], or use the same names",
				method.Name, method.Signature(), theirs.Signature(), iface, iface))
		}
	}
	return faults
}

// namedBy returns a method with the names that the signature table of an interface has for it; nil if it has none.
func (s *survey) namedBy(table *textSource, iface reflect.Type, method *Method) *Method {
	at := slices.IndexFunc(s.candidates, func(c *candidate) bool { return c.name == method.Name })
	found, err := table.declaration(&subject{method: method.Name, receiver: iface, shape: s.candidates[at].shape})
	if err != nil {
		return nil // the interface does not have it, or has not this one
	}
	theirs := *method
	theirs.Args, theirs.Results = slices.Clone(method.Args), slices.Clone(method.Results)
	if theirs.take(found) != nil {
		return nil
	}
	return &theirs
}

// implementedBy returns the interfaces with a declaration that a type implements.
func (r *registry) implementedBy(t reflect.Type) (interfaces []reflect.Type) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for iface := range r.declarations {
		if iface.Kind() == reflect.Interface && iface.NumMethod() > 0 && t.Implements(iface) {
			interfaces = append(interfaces, iface)
		}
	}
	slices.SortFunc(interfaces, func(a, b reflect.Type) int { return cmp.Compare(a.String(), b.String()) })
	return interfaces
}
