package reflectapi

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/busline/busline/reflectapi/internal/gotype"
)

// CheckNames returns how a production build of a service would differ from this one: names and doc comments that are
// available only from source files on disk or from debug information, comments that would then come from another
// source, and signature tables or embedded source that are out of date. The error joins one line for each difference;
// it is nil if there is none. If the service cannot be described even in this build, it returns the error of Describe.
//
// iface is the interface that describes the service; nil stands for all methods of impl. options are those with which
// the service is described. Call it from a test: an outdated copy can be detected only where the source files are.
// Names given in code are taken to be correct, and are not compared.
func CheckNames(iface reflect.Type, impl any, options ...Option) error {
	here, err := inspectAs(iface, impl, options)
	if err != nil {
		return err
	}
	if _, err := here.service(); err != nil {
		return err
	}
	there, err := inspectAs(iface, impl, append(slices.Clone(options), RequirePortableNames()))
	if err != nil {
		return err
	}
	check := &nameCheck{here: here, there: there}
	check.comment()
	for i, c := range here.candidates {
		check.method(c, there.candidates[i])
	}
	return errors.Join(check.findings...)
}

// nameCheck compares a service as described in this build (here) with its description in a production build (there).
type nameCheck struct {
	here, there *inspection
	findings    []error
}

// comment compares the doc comments of the service's type.
func (k *nameCheck) comment() {
	if thing, stale := k.here.staleType(); len(stale) > 0 {
		k.find(thing, stale...)
		return
	}
	doc, origin := k.here.comment()
	thereDoc, thereOrigin := k.there.comment()
	if doc != thereDoc {
		k.find("type "+gotype.PlainName(gotype.Base(k.here.as)), k.otherDoc(origin, thereOrigin))
	}
}

// method compares one method. If a copy is out of date only that is reported, because other differences follow from it.
func (k *nameCheck) method(here, there *candidate) {
	thing := "method " + here.name
	if stale := k.here.staleMethod(here); len(stale) > 0 {
		k.find(thing, stale...)
		return
	}
	m, err := k.here.method(here)
	if err != nil {
		k.find(thing, err.Error())
		return
	}
	production, err := k.there.method(there)
	missing, isMissing := errors.AsType[missingNamesError](err)
	switch {
	case isMissing:
		k.find(thing, missing.inProduction())
	case err != nil:
		k.find(thing, err.Error())
	case m.Doc != production.Doc:
		k.find(thing, k.otherDoc(m.DocOrigin, production.DocOrigin))
	}
}

func (k *nameCheck) find(thing string, what ...string) {
	for _, each := range what {
		k.findings = append(k.findings, fmt.Errorf("%s: %s", thing, each))
	}
}

// otherDoc says where a comment comes from in this build and in production, and how to correct that.
func (k *nameCheck) otherDoc(here, there string) string {
	text := fmt.Sprintf("its doc comment comes from the %s, which production may not have", here)
	if there != "" {
		text = fmt.Sprintf("its doc comment comes from the %s, but in production from the %s, which has another", here, there)
	}
	return text + ": " + k.docRemedy()
}

// docRemedy says how to include doc comments in every build.
func (k *nameCheck) docRemedy() string {
	const embed = "embed the source with bus.SourceFS"
	switch t := k.here.as; {
	case t.Kind() != reflect.Interface:
		return embed
	case k.here.naming.tables.of(t) != nil:
		return fmt.Sprintf("write it in %s and run go generate, or %s", gotype.PlainName(t), embed)
	default:
		return fmt.Sprintf("write a signature table with apigen -type %s, or %s", gotype.PlainName(t), embed)
	}
}

// clientNameErrors returns an error for each method that the clients of an interface call by other names, if it is not
// described by that interface: they would send arguments that the service ignores, as it does not know them, and zero
// would take their place without an error.
func (s *inspection) clientNameErrors(methods []*Method) (errs []error) {
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
		errs = append(errs, other...)
	}
	return errs
}

// namedByClients puts one error in place of those of methods without names, if an interface that has clients names
// them: nothing is missing then but the interface.
func (s *inspection) namedByClients(errs []error) []error {
	if s.as.Kind() == reflect.Interface {
		return errs
	}
	for _, iface := range registered.implementedBy(s.impl) {
		named := func(err error) bool {
			missing, ok := errors.AsType[missingNamesError](err)
			return ok && hasMethod(iface, missing.method)
		}
		if others := slices.DeleteFunc(slices.Clone(errs), named); len(others) < len(errs) {
			return append(others, fmt.Errorf("%v implements %v, which has the names: %s", s.impl, iface, asTypeParameter(iface)))
		}
	}
	return errs
}

// namesGiven warns of names that are given in code, and differ from those that the clients of the interface use.
func (s *inspection) namesGiven(methods []*Method) (warnings []string) {
	if s.as.Kind() != reflect.Interface {
		return nil
	}
	for _, err := range s.otherNames(s.as, methods, "leave out bus.ParamNames") {
		warnings = append(warnings, err.Error())
	}
	return warnings
}

// otherNames returns an error for each method that has other names or directives in an interface.
func (s *inspection) otherNames(iface reflect.Type, methods []*Method, remedy string) (errs []error) {
	_, table := newTableSource()
	for _, method := range methods {
		theirs := s.namedBy(table, iface, method)
		switch {
		case theirs == nil:
		case theirs.Signature() != method.Signature():
			errs = append(errs,
				fmt.Errorf("method %s is %s, but %s for the clients of %v, and what has another name gets lost: %s",
					method.Name, method.Signature(), theirs.Signature(), iface, remedy))
		case theirs.Declared.text() != method.Declared.text():
			errs = append(errs, fmt.Errorf("method %s has %s for the clients of %v: %s", method.Name, theirs.Declared.text(),
				iface, remedy))
		}
	}
	return errs
}

func asTypeParameter(iface reflect.Type) string {
	return fmt.Sprintf("give the interface as the type parameter, [%v]", iface)
}

// sameMethods reports whether an interface has these methods and no others.
func sameMethods(iface reflect.Type, methods []*Method) bool {
	has := func(m *Method) bool { return hasMethod(iface, m.Name) }
	return iface.NumMethod() == len(methods) && !slices.ContainsFunc(methods, func(m *Method) bool { return !has(m) })
}

// namedBy returns a method with the names that the signature table of an interface has for it; nil if it has none.
func (s *inspection) namedBy(table *textSource, iface reflect.Type, method *Method) *Method {
	at := slices.IndexFunc(s.candidates, func(c *candidate) bool { return c.name == method.Name })
	found, err := table.declaration(&methodDecl{method: method.Name, receiver: iface, shape: s.candidates[at].shape})
	if err != nil {
		return nil // the interface does not have it, or has not this one
	}
	theirs := *method
	theirs.Declared = found.declared
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
