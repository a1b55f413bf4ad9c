// Program describes a few services and prints what it found, so that a test can build it in
// different ways and compare.
package main

import (
	"context"
	"embed"
	"fmt"
	"reflect"

	"github.com/busline/busline/reflectapi"
	"github.com/busline/busline/reflectapi/testdata/greeting"
)

//go:embed *.go
var source embed.FS

func main() {
	for _, service := range []any{Calculator{}, &Calculator{}, &Store[string, int]{}, &Outer{}, Blank{}, Twin{}, &Slow{}, &Hasty{}} {
		show("bare", service)
		show("embedded", service, reflectapi.Source(source))
	}
	described, err := reflectapi.DescribeAs(reflect.TypeFor[greeting.Greeter](), Friend{})
	report("bare", described, err)
}

func show(how string, service any, options ...reflectapi.Option) {
	described, err := reflectapi.Describe(service, options...)
	report(fmt.Sprintf("%s %T", how, service), described, err)
}

func report(how string, service *reflectapi.Service, err error) {
	if err != nil {
		fmt.Printf("%s: %v\n", how, err)
		return
	}
	for _, m := range service.Methods {
		fmt.Printf("%s: %s: %s %q\n", how, m.Origin, m.Signature(), m.Doc)
	}
}

// Calculator has receivers without a name and a context without one.
type Calculator struct{}

// Add adds.
func (Calculator) Add(_ context.Context, x, y int) (sum int, err error) { return x + y, nil }

// Sum is variadic, its result unnamed.
func (c Calculator) Sum(start int, more ...int) (int, error) { return start + len(more), nil }

// Store is generic.
type Store[K comparable, V any] struct{ values map[K]V }

// Put has a pointer receiver.
func (s *Store[K, V]) Put(key K, value V) (old V) {
	old, s.values[key] = s.values[key], value
	return old
}

// Get has a value receiver.
func (s Store[K, V]) Get(key K) (value V, found bool) {
	value, found = s.values[key]
	return value, found
}

// Outer has all its methods from others.
type Outer struct {
	Calculator
	*Store[string, Calculator]
}

// Blank has an argument that nobody can name.
type Blank struct{}

// Skip can be inlined, so that its blank parameter is not in the debug information.
func (b Blank) Skip(_ Blank, y int) (result Blank) { return b }

// Twin takes what it is.
type Twin struct{}

// Same has a receiver without a name, and an argument of the receiver's type.
func (Twin) Same(other Twin) (equal bool) { return true }

// Slow is not inlined.
type Slow struct{}

// Walk defers, which gives its results two places to live in.
func (s *Slow) Walk(steps int) (done int, last string) {
	defer func() { done = steps }()
	for range steps {
		last += "."
	}
	return 0, last
}

// Hasty is not inlined either, and has a blank context.
type Hasty struct{}

// Run defers, too.
func (*Hasty) Run(_ context.Context, steps int) (done int) {
	defer func() { done = steps }()
	return 0
}

// Friend implements an interface of another package.
type Friend struct{}

// Greet is documented here, too.
func (Friend) Greet(who string, often int) (text string, err error) { return who, nil }

// Leave is documented here, too.
func (Friend) Leave(place string) (text string) { return place }
