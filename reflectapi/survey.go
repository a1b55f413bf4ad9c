package reflectapi

import (
	"errors"
	"fmt"
	"reflect"
)

// survey is a value about to be described: what it has, and where to look for the rest.
type survey struct {
	as         reflect.Type // the type of the value, or the interface that describes it
	impl       reflect.Type
	candidates []*candidate // those that are left out excepted
	naming     *naming
	faults     []error // of options and receivers
}

func newSurvey(t reflect.Type, impl reflect.Value, options []Option) (*survey, error) {
	if base(t).Name() == "" {
		return nil, fmt.Errorf("%v has no name: declare a type", t)
	}
	settings := settingsOf(options)
	all := candidatesOf(t, impl)
	s := &survey{
		as: t, impl: impl.Type(),
		naming: newNaming(settings, all),
		faults: append(settings.faults(t), unreachable(t, settings)...),
	}
	for _, c := range all {
		if !settings.leavesOut(c.name) {
			s.candidates = append(s.candidates, c)
		}
	}
	return s, nil
}

// service describes all there is, or says everything that is wrong.
func (s *survey) service() (*Service, error) {
	service := &Service{Name: plainName(base(s.as)), Type: s.as}
	service.Doc, service.DocOrigin = s.comment()
	var faults []error
	for _, c := range s.candidates {
		method, err := s.method(c)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		service.Methods = append(service.Methods, method)
	}
	faults = append(append(s.faults, s.naming.tables.faults()...), faults...)
	if len(faults) == 0 && len(service.Methods) == 0 {
		faults = append(faults, fmt.Errorf("%v has no exported method to serve", s.as))
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return service, nil
}

// comment is the doc comment of the service's type, and where it was found.
func (s *survey) comment() (doc, origin string) {
	return s.naming.comment(base(s.as), base(s.impl))
}

func (s *survey) method(c *candidate) (*Method, error) {
	return c.describe(s.naming, base(s.as).PkgPath())
}
