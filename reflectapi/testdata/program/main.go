// Program describes services of every shape and prints where their names and comments come
// from, so that a test can build it in every way and compare.
package main

import (
	"fmt"
	"reflect"

	"github.com/busline/busline/reflectapi"
)

func main() { answer() }

// answer describes each method by itself, for one error must not hide the others.
func answer() {
	for _, s := range services() {
		for _, given := range s.given() {
			for _, method := range s.methods() {
				s.describe(given, method)
			}
		}
	}
}

// service is a value, as itself or as what an interface has of it.
type service struct {
	name  string
	iface reflect.Type // nil for all methods of impl
	impl  any
	names map[string][2]string // arguments and results
	table bool                 // the interface has a signature table
}

// given lists what the service is described with.
func (s service) given() []string {
	if s.table {
		return []string{"table"}
	}
	return []string{"nothing", "code", "embedded"}
}

func (s service) methods() []string {
	t := s.iface
	if t == nil {
		t = reflect.TypeOf(s.impl)
	}
	var names []string
	for m := range t.Methods() {
		names = append(names, m.Name)
	}
	return names
}

// describe prints the answer for one method: what was given, the service and the method,
// the origins of names, of the comment and of the type's comment, signature, comment, error.
func (s service) describe(given, method string) {
	var options []reflectapi.Option
	for _, other := range s.methods() {
		if other != method {
			options = append(options, reflectapi.ExcludeMethods(other))
		}
	}
	switch given {
	case "code":
		names := s.names[method]
		options = append(options, reflectapi.ParamNames(method, names[0], names[1]))
	case "embedded":
		options = append(options, s.sources()...)
	}
	var described *reflectapi.Service
	var err error
	if s.iface == nil {
		described, err = reflectapi.Describe(s.impl, options...)
	} else {
		described, err = reflectapi.DescribeAs(s.iface, s.impl, options...)
	}
	if err != nil {
		fmt.Printf("answer\t%s\t%s.%s\t\t\t\t\t\t%v\n", given, s.name, method, err)
		return
	}
	m := described.Methods[0]
	fmt.Printf("answer\t%s\t%s.%s\t%s\t%s\t%s\t%s\t%s\t\n", given, s.name, method, m.Origin, m.DocOrigin, described.DocOrigin, m.Signature(), m.Doc)
}
