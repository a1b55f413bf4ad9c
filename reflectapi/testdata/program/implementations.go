package main

import (
	"context"
	"errors"
	"iter"
)

// Friend implements the interfaces, with names of its own.
type Friend struct{}

// Greet is documented here, too.
func (Friend) Greet(_ context.Context, who string, often int) (text string, err error) {
	return who, nil
}

// Shout is documented here, too.
func (Friend) Shout(sounds ...string) (volume int) { return len(sounds) }

// Tell is documented here, too.
func (Friend) Tell(_ context.Context, tale string, length int) (end string, err error) {
	return tale, nil
}

// Repeat is documented here, too.
func (Friend) Repeat(tales ...string) (number int) { return len(tales) }

// Recite is documented here, too.
func (Friend) Recite(_ context.Context, often int) iter.Seq2[string, error] { return nil }

// Mock is what a generator of mocks might have written.
type Mock struct{ recorder *Recorder }

// Recorder records.
type Recorder struct{ mock *Mock }

// EXPECT is for tests, and cannot be served.
func (m *Mock) EXPECT() *Recorder { return m.recorder }

// Greet mocks base method.
func (m *Mock) Greet(arg0 context.Context, arg1 string, arg2 int) (string, error) {
	return m.call(arg1, arg2)
}

// Shout mocks base method.
func (m *Mock) Shout(arg0 ...string) int { return len(arg0) }

// Tell mocks base method.
func (m *Mock) Tell(arg0 context.Context, arg1 string, arg2 int) (string, error) {
	return m.call(arg1, arg2)
}

// Repeat mocks base method.
func (m *Mock) Repeat(arg0 ...string) int { return len(arg0) }

// Recite mocks base method.
func (m *Mock) Recite(arg0 context.Context, arg1 int) iter.Seq2[string, error] { return nil }

//go:noinline
func (m *Mock) call(arg1 string, arg2 int) (string, error) {
	if arg2 < 0 {
		return "", errors.New("negative")
	}
	return arg1, nil
}
