package reflectapi

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
)

// survey is a value that is being described: its methods, and where to look for their names.
type survey struct {
	as         reflect.Type // the type of the value, or the interface that describes it
	impl       reflect.Type
	candidates []*candidate // without those that are left out
	naming     *naming
	faults     []error // of options
	mock       error   // what to report for all methods of a mock, nil if the value is not one
	beyond     []error // methods that only a pointer to the value has
}

func newSurvey(t reflect.Type, impl reflect.Value, options []Option) (*survey, error) {
	if base(t).Name() == "" {
		return nil, fmt.Errorf("%v is a type without a name: declare one", t)
	}
	settings, err := settingsOf(options)
	if err != nil {
		return nil, err
	}
	all := candidatesOf(t, impl)
	s := &survey{
		as: t, impl: impl.Type(),
		naming: newNaming(settings, all),
		faults: settings.faults(t),
		mock:   mockFault(t, settings),
		beyond: unreachable(t, settings),
	}
	for _, c := range all {
		if !settings.leavesOut(c.name) {
			s.candidates = append(s.candidates, c)
		}
	}
	return s, nil
}

// service describes the service, or returns all faults.
func (s *survey) service() (*Service, error) {
	service := &Service{Name: plainName(base(s.as)), Type: s.as}
	service.Doc, service.DocOrigin = s.comment()
	var faults []error
	service.Methods, faults = s.methods()
	faults = slices.Concat(s.faults, s.naming.tables.faults(), faults, s.clientFaults(service.Methods))
	if len(faults) == 0 && len(service.Methods) == 0 {
		faults = append(faults, fmt.Errorf("%v has no exported method to serve", s.as))
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	service.Warnings = slices.Concat(s.warnings(), s.unreadTags(), s.oneWays(), s.lostFields(), s.namesGiven(service.Methods))
	return service, nil
}

// methods describes all methods, and returns their faults. A fault of a signature table is not repeated for each
// method.
func (s *survey) methods() (methods []*Method, faults []error) {
	faults = s.beyond
	for _, c := range s.candidates {
		method, err := s.method(c)
		switch {
		case err == nil:
			methods = append(methods, method)
		case !errors.Is(err, errFaultyTable):
			faults = append(faults, err)
		}
	}
	if len(faults) > 0 && s.mock != nil {
		return nil, []error{s.mock}
	}
	return methods, s.namedByClients(faults)
}

// comment returns the doc comment of the service's type, and its origin.
func (s *survey) comment() (doc, origin string) {
	return s.naming.comment(base(s.as), base(s.impl))
}

func (s *survey) method(c *candidate) (*Method, error) {
	return c.describe(s.naming, base(s.as).PkgPath())
}
