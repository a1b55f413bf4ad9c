package main

import (
	"iter"

	"github.com/busline/busline/bus"
)

// numbers streams.
type numbers struct{}

// Numbers yields so many numbers.
func (numbers) Numbers(count int) iter.Seq2[number, error] {
	return func(yield func(number, error) bool) {
		for n := range count {
			if !yield(number{n}, nil) {
				return
			}
		}
	}
}

func serveNumbers(conn *bus.Conn) error { return bus.Serve(conn, numbers{}) }
