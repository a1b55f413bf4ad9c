package reflectapi_test

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// Calculator does sums.
// It forgets nothing.
type Calculator struct{ calls int }

// Point is a place.
type Point struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
}

var errNegative = errors.New("negative")

// Add returns the sum of x and y.
//
//go:noinline
func (Calculator) Add(_ context.Context, x, y int) (sum int, err error) {
	if x < 0 || y < 0 {
		return -1, errNegative
	}
	return x + y, nil
}

// Distance measures.
func (c *Calculator) Distance(p1, p2 Point) (d float64) {
	c.calls++
	return p1.X - p2.X
}

func (Calculator) Sum(start int, more ...int) int {
	for _, n := range more {
		start += n
	}
	return start
}

func (Calculator) Remember(names map[string][]*Point, since time.Time, raw []byte) (known [2]bool, any any) {
	return [2]bool{true, len(names) > 0}, raw
}

func (Calculator) Forget() {}

// Home is a page.
func (Calculator) Home(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusTeapot)
}

// Store keeps values by key.
type Store[K comparable, V any] struct{ values map[K]V }

// Put stores.
func (s *Store[K, V]) Put(key K, value V) (old V) {
	old = s.values[key]
	s.values[key] = value
	return old
}

// Get loads.
func (s Store[K, V]) Get(key K) (value V, found bool) {
	value, found = s.values[key]
	return value, found
}
