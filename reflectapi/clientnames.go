package reflectapi

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
)

// clientFaults returns a fault for each method that the clients of an interface call by other names, if it is not described by
// that interface: they would send arguments that the service ignores, as it does not know them, and zero would take their place
// without an error.
func (s *survey) clientFaults(methods []*Method) (faults []error) {
	if s.as.Kind() == reflect.Interface {
		return nil // its names count, unless others are given in code: see namesGiven
	}
	for _, iface := range registered.implementedBy(s.impl) {
		if !sameMethods(iface, methods) {
			continue // it may have these methods by chance
		}
		other := s.otherNames(iface, methods, asTypeParameter(iface)+", or use the same names")
		if len(other) == 0 {
			return nil
		}
		faults = append(faults, other...)
	}
	return faults
}

// namedByClients puts one fault in place of those of methods without names, if an interface that has clients names them: nothing is
// missing then but the interface.
func (s *survey) namedByClients(faults []error) []error {
	if s.as.Kind() == reflect.Interface {
		return faults
	}
	for _, iface := range registered.implementedBy(s.impl) {
		named := func(fault error) bool {
			missing, ok := errors.AsType[missingNamesError](fault)
			return ok && hasMethod(iface, missing.method)
		}
		if others := slices.DeleteFunc(slices.Clone(faults), named); len(others) < len(faults) {
			return append(others, fmt.Errorf("%v implements %v, which has the names: %s", s.impl, iface, asTypeParameter(iface)))
		}
	}
	return faults
}

// namesGiven warns of names that are given in code, and differ from those that the clients of the interface use.
func (s *survey) namesGiven(methods []*Method) (warnings []string) {
	if s.as.Kind() != reflect.Interface {
		return nil
	}
	for _, fault := range s.otherNames(s.as, methods, "leave out bus.ParamNames") {
		warnings = append(warnings, fault.Error())
	}
	return warnings
}

// otherNames returns a fault for each method that has other names in an interface, or a route.
func (s *survey) otherNames(iface reflect.Type, methods []*Method, remedy string) (faults []error) {
	_, table := newTableSource()
	for _, method := range methods {
		theirs := s.namedBy(table, iface, method)
		switch {
		case theirs == nil:
		case theirs.Signature() != method.Signature():
			faults = append(faults, fmt.Errorf("method %s is %s, but %s for the clients of %v, and what has another name gets lost: %s",
				method.Name, method.Signature(), theirs.Signature(), iface, remedy))
		case theirs.Route != method.Route:
			faults = append(faults, fmt.Errorf("method %s has the route %s for the clients of %v: %s", method.Name, theirs.Route, iface, remedy))
		}
	}
	return faults
}

func asTypeParameter(iface reflect.Type) string {
	return fmt.Sprintf("give the interface as the type parameter, [%v]", iface)
}

// sameMethods says whether an interface has these methods and no others.
func sameMethods(iface reflect.Type, methods []*Method) bool {
	has := func(m *Method) bool { return hasMethod(iface, m.Name) }
	return iface.NumMethod() == len(methods) && !slices.ContainsFunc(methods, func(m *Method) bool { return !has(m) })
}

// namedBy returns a method with the names that the signature table of an interface has for it; nil if it has none.
func (s *survey) namedBy(table *textSource, iface reflect.Type, method *Method) *Method {
	at := slices.IndexFunc(s.candidates, func(c *candidate) bool { return c.name == method.Name })
	found, err := table.declaration(&subject{method: method.Name, receiver: iface, shape: s.candidates[at].shape})
	if err != nil {
		return nil // the interface does not have it, or has not this one
	}
	theirs := *method
	theirs.Route = found.route
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
