package reflectapi

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/busline/busline/reflectapi/internal/gotype"
	"github.com/busline/busline/reflectapi/schema"
)

// Service is a described Go value: its methods, ready to be called, sorted by name.
type Service struct {
	Name    string       // the type's name without pointer and type arguments, e.g. "Calculator"
	Doc     string       // its doc comment, "" if there is none or no source is available
	Type    reflect.Type // the type of the value, or the interface that describes it
	Methods []*Method

	DocOrigin string // source of Doc, see Method

	Declared Declared // by the directives in the comment of its interface

	// Warnings say, one line each, where a signature table or embedded source is older than the source file on disk:
	// "method Add: the signature table calls argument 1 x, …". The service then has what the older one says. Without
	// source files there are no warnings of this kind. Others name tags of arguments and results that are ignored, though
	// users may count on them: "field shop.Order.Note: the json option "omitemtpy" is ignored: …", types that do not
	// read what they write, and types that describe themselves with keywords that nothing checks.
	Warnings []string
}

// Describe describes all exported methods of a value. The error joins all errors: methods that cannot be served,
// arguments or results without names, methods that only a pointer to the value has, options that name no method.
//
// All calls are made on impl, which has to be safe for concurrent use.
func Describe(impl any, options ...Option) (*Service, error) {
	s, err := inspectAs(nil, impl, options)
	if err != nil {
		return nil, err
	}
	return s.service()
}

// DescribeAs describes only the methods of an interface, and calls them on impl. Names and doc comments come from code,
// then from the interface's declaration, and what that leaves unnamed or without a comment from impl's declaration. A
// signature table that does not match the interface is an error, and so is an interface whose names are not available
// in this build. Otherwise it is like Describe.
func DescribeAs(iface reflect.Type, impl any, options ...Option) (*Service, error) {
	if iface == nil {
		return nil, errors.New("<nil> is not an interface")
	}
	s, err := inspectAs(iface, impl, options)
	if err != nil {
		return nil, err
	}
	return s.service()
}

// DescribeInterface describes an interface without an implementation, like DescribeAs. Calling a method of the service
// returns an error.
func DescribeInterface(iface reflect.Type, options ...Option) (*Service, error) {
	if iface == nil || iface.Kind() != reflect.Interface {
		return nil, fmt.Errorf("%v is not an interface", iface)
	}
	s, err := newInspection(iface, reflect.Value{}, options)
	if err != nil {
		return nil, err
	}
	return s.service()
}

// inspectAs examines a value, all of it or, if iface is not nil, the methods of that interface.
func inspectAs(iface reflect.Type, impl any, options []Option) (*inspection, error) {
	value, err := receiverOf(impl)
	switch {
	case err != nil:
		return nil, err
	case iface == nil:
		return newInspection(value.Type(), value, options)
	case iface.Kind() != reflect.Interface:
		return nil, fmt.Errorf("%v is not an interface", iface)
	case !value.Type().Implements(iface):
		return nil, fmt.Errorf("%v does not implement %v", value.Type(), iface)
	}
	return newInspection(iface, value, options)
}

func receiverOf(impl any) (reflect.Value, error) {
	value := reflect.ValueOf(impl)
	switch {
	case !value.IsValid():
		return value, errors.New("the service is nil: pass a value")
	case value.Kind() == reflect.Pointer && value.IsNil():
		return value, fmt.Errorf("the %v is nil: pass one that is not", value.Type())
	}
	return value, nil
}

// unreachable returns an error for each method that only a pointer to the value has: served as it is, the value would
// silently lack them.
func unreachable(t reflect.Type, s *settings) []error {
	if t.Kind() == reflect.Interface || t.Kind() == reflect.Pointer {
		return nil
	}
	var errs []error
	for m := range reflect.PointerTo(t).Methods() {
		if _, reachable := t.MethodByName(m.Name); !reachable && !s.leavesOut(m.Name) {
			errs = append(errs,
				fmt.Errorf("method %s has a pointer receiver: pass a *%v, or leave it out with bus.ExcludeMethods(%q)",
					m.Name, t, m.Name))
		}
	}
	return errs
}

// inspection is a value that is being described: its methods, and where to look for their names.
type inspection struct {
	as         reflect.Type // the type of the value, or the interface that describes it
	impl       reflect.Type // the same if there is only an interface
	candidates []*candidate // without those that are left out
	naming     *naming
	errs       []error // of options
	mock       error   // what to report for all methods of a mock, nil if the value is not one
	beyond     []error // methods that only a pointer to the value has
}

func newInspection(t reflect.Type, impl reflect.Value, options []Option) (*inspection, error) {
	if gotype.Base(t).Name() == "" {
		return nil, fmt.Errorf("%v is a type without a name: declare one", t)
	}
	settings, err := settingsOf(options)
	if err != nil {
		return nil, err
	}
	all, of := candidatesOf(t, impl), t
	if impl.IsValid() {
		of = impl.Type()
	}
	s := &inspection{
		as: t, impl: of,
		naming: newNaming(settings, all),
		errs:   settings.check(t),
		mock:   mockError(t, settings),
		beyond: unreachable(t, settings),
	}
	for _, c := range all {
		if !settings.leavesOut(c.name) {
			s.candidates = append(s.candidates, c)
		}
	}
	return s, nil
}

// service describes the service, or returns all errors.
func (s *inspection) service() (*Service, error) {
	service := &Service{Name: gotype.PlainName(gotype.Base(s.as)), Type: s.as}
	service.Doc, service.DocOrigin = s.comment()
	var errs []error
	service.Methods, errs = s.methods()
	declared, err := s.naming.declared(gotype.Base(s.as))
	if service.Declared = declared; err != nil {
		errs = append(errs, err)
	}
	errs = slices.Concat(s.errs, s.naming.tables.errors(), errs, s.clientNameErrors(service.Methods),
		schema.MisspelledTags(s.values()))
	if len(errs) == 0 && len(service.Methods) == 0 {
		errs = append(errs, fmt.Errorf("%v has no exported method to serve", s.as))
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	service.Warnings = slices.Concat(s.warnings(), schema.Warnings(s.values()), s.namesGiven(service.Methods))
	return service, nil
}

// values returns the types of each method's arguments and results.
func (s *inspection) values() []schema.Values {
	values := make([]schema.Values, len(s.candidates))
	for i, c := range s.candidates {
		values[i] = schema.Values{Args: c.shape.args, Results: c.shape.results}
	}
	return values
}

// methods describes all methods, and returns their errors. An error of a signature table is not repeated for each
// method.
func (s *inspection) methods() (methods []*Method, errs []error) {
	errs = s.beyond
	for _, c := range s.candidates {
		method, err := s.method(c)
		switch {
		case err == nil:
			methods = append(methods, method)
		case !errors.Is(err, errInvalidTable):
			errs = append(errs, err)
		}
	}
	if len(errs) > 0 && s.mock != nil {
		return nil, []error{s.mock}
	}
	return methods, s.namedByClients(errs)
}

// comment returns the doc comment of the service's type, and its origin.
func (s *inspection) comment() (doc, origin string) {
	return s.naming.comment(gotype.Base(s.as), gotype.Base(s.impl))
}

func (s *inspection) method(c *candidate) (*Method, error) {
	return c.describe(s.naming, gotype.Base(s.as).PkgPath())
}
