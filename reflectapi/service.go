package reflectapi

import (
	"errors"
	"fmt"
	"reflect"
)

// Service is a Go value described: its methods, ready to be called, sorted by name.
type Service struct {
	Name    string       // the type's name without pointer and type arguments, e.g. "Calculator"
	Doc     string       // its doc comment, "" when there is none or no source at hand
	Type    reflect.Type // the type of the value, or the interface that describes it
	Methods []*Method
}

// Describe describes all exported methods of a value. Every fault is reported at once, as
// one joined error: a method that cannot be served, arguments or results without names, a
// method that only the value's pointer has, an option that names no method.
//
// impl is used by all calls from then on and has to be safe for concurrent use.
func Describe(impl any, options ...Option) (*Service, error) {
	value, err := receiverOf(impl)
	if err != nil {
		return nil, err
	}
	return describe(value.Type(), value, options)
}

// DescribeAs describes only the methods of an interface and calls them on impl. Names and
// doc comments come from code, then from where the interface is declared, then from where
// impl's methods are. Otherwise it is like Describe.
func DescribeAs(iface reflect.Type, impl any, options ...Option) (*Service, error) {
	if iface == nil || iface.Kind() != reflect.Interface {
		return nil, fmt.Errorf("%v is no interface", iface)
	}
	value, err := receiverOf(impl)
	if err != nil {
		return nil, err
	}
	if !value.Type().Implements(iface) {
		return nil, fmt.Errorf("%v does not implement %v", value.Type(), iface)
	}
	return describe(iface, value, options)
}

func receiverOf(impl any) (reflect.Value, error) {
	value := reflect.ValueOf(impl)
	switch {
	case !value.IsValid():
		return value, errors.New("nil has no methods: hand over a value")
	case value.Kind() == reflect.Pointer && value.IsNil():
		return value, fmt.Errorf("the %v is nil: hand over a value", value.Type())
	}
	return value, nil
}

func describe(t reflect.Type, impl reflect.Value, options []Option) (*Service, error) {
	if base(t).Name() == "" {
		return nil, fmt.Errorf("%v has no name: declare a type", t)
	}
	settings := settingsOf(options)
	faults := append(settings.faults(t), unreachable(t, settings)...)
	candidates := candidatesOf(t, impl)
	naming := newNaming(settings, candidates)

	service := &Service{Name: plainName(base(t)), Type: t, Doc: naming.comment(base(t), base(impl.Type()))}
	for _, c := range candidates {
		if settings.leavesOut(c.name) {
			continue
		}
		method, err := c.describe(naming, base(t).PkgPath())
		if err != nil {
			faults = append(faults, err)
			continue
		}
		service.Methods = append(service.Methods, method)
	}
	if len(faults) == 0 && len(service.Methods) == 0 {
		faults = append(faults, fmt.Errorf("%v has no exported method to serve", t))
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return service, nil
}

// unreachable finds the methods that only a pointer to the value has: served as it is, the
// value would lose them in silence.
func unreachable(t reflect.Type, s *settings) []error {
	if t.Kind() == reflect.Interface || t.Kind() == reflect.Pointer {
		return nil
	}
	var faults []error
	for m := range reflect.PointerTo(t).Methods() {
		if _, reachable := t.MethodByName(m.Name); !reachable && !s.leavesOut(m.Name) {
			faults = append(faults, fmt.Errorf("method %s has a pointer receiver: hand over a *%v, or leave it out with bus.Without(%q)", m.Name, t, m.Name))
		}
	}
	return faults
}
