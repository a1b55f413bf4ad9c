package main

import (
	"context"
	"iter"
	"maps"
)

// Calculator has receivers without a name and a context without one.
type Calculator struct{}

// Add adds.
func (Calculator) Add(_ context.Context, x, y int) (sum int, err error) { return x + y, nil }

// Sum is variadic, its result unnamed.
func (c Calculator) Sum(start int, more ...int) (int, error) { return start + len(more), nil }

// Count streams, and its result needs no name.
func (c Calculator) Count(from int) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) { yield(from, nil) }
}

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

// Watch streams from generic code.
func (s *Store[K, V]) Watch(prefix K) (changes iter.Seq2[V, error]) {
	return func(yield func(V, error) bool) {
		for value := range maps.Values(s.values) {
			if !yield(value, nil) {
				return
			}
		}
	}
}

// Outer has all its methods from others.
type Outer struct {
	Calculator
	*Store[string, Calculator]
}

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

// Run defers, too, and has a blank context.
func (*Slow) Run(_ context.Context, steps int) (done int) {
	defer func() { done = steps }()
	return 0
}

// Unnamed has what nobody can name.
type Unnamed struct{}

// Args are types alone.
func (u Unnamed) Args(int, int) (ok bool) { return true }

// Blank can be inlined, so that its blank argument is not in the debug information.
func (u Unnamed) Blank(_ Unnamed, y Unnamed) (ok bool) { return true }

// Pair has two results, and which is which only its author knows.
func (u Unnamed) Pair() (int, int) { return 1, 2 }
