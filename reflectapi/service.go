package reflectapi

import (
	"errors"
	"fmt"
	"reflect"
)

// Service is a described Go value: its methods, ready to be called, sorted by name.
type Service struct {
	Name    string       // the type's name without pointer and type arguments, e.g. "Calculator"
	Doc     string       // its doc comment, "" if there is none or no source is available
	Type    reflect.Type // the type of the value, or the interface that describes it
	Methods []*Method

	DocOrigin string // source of Doc, see Method

	// Warnings say, one line each, where a signature table or embedded source is older than the source file on disk:
	// "method Add: the signature table calls argument 1 x, …". The service then has what the older one says. Without
	// source files there are no warnings of this kind. Others name tags of arguments and results that are ignored, though
	// somebody may count on them: "field shop.Order.Note: the json option "omitemtpy" is ignored: …", and types that do not
	// read what they write.
	Warnings []string
}

// Describe describes all exported methods of a value. The error joins all faults: methods that cannot be served,
// arguments or results without names, methods that only a pointer to the value has, options that name no method.
//
// All calls are made on impl, which has to be safe for concurrent use.
func Describe(impl any, options ...Option) (*Service, error) {
	s, err := surveyAs(nil, impl, options)
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
	s, err := surveyAs(iface, impl, options)
	if err != nil {
		return nil, err
	}
	return s.service()
}

// surveyAs examines a value, all of it or, if iface is not nil, the methods of that interface.
func surveyAs(iface reflect.Type, impl any, options []Option) (*survey, error) {
	value, err := receiverOf(impl)
	switch {
	case err != nil:
		return nil, err
	case iface == nil:
		return newSurvey(value.Type(), value, options)
	case iface.Kind() != reflect.Interface:
		return nil, fmt.Errorf("%v is not an interface", iface)
	case !value.Type().Implements(iface):
		return nil, fmt.Errorf("%v does not implement %v", value.Type(), iface)
	}
	return newSurvey(iface, value, options)
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
	var faults []error
	for m := range reflect.PointerTo(t).Methods() {
		if _, reachable := t.MethodByName(m.Name); !reachable && !s.leavesOut(m.Name) {
			faults = append(faults, fmt.Errorf("method %s has a pointer receiver: pass a *%v, or leave it out with bus.ExcludeMethods(%q)", m.Name, t, m.Name))
		}
	}
	return faults
}
