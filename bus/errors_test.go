package bus_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/busline/busline/bus"
)

// conflictError is an error of an application that knows its status.
type conflictError struct{ cause error }

func (conflictError) Error() string   { return "somebody was faster" }
func (e conflictError) Unwrap() error { return e.cause }
func (conflictError) StatusCode() int { return http.StatusConflict }

func TestStatusOf(t *testing.T) {
	t.Parallel()
	missing := bus.Errorf(http.StatusNotFound, "no product 7")
	for name, test := range map[string]struct {
		err    error
		status int
	}{
		"none":                              {nil, 200},
		"of the bus":                        {missing, 404},
		"wrapped":                           {fmt.Errorf("loading: %w", missing), 404},
		"an application's":                  {conflictError{}, 409},
		"the outermost one counts":          {conflictError{missing}, 409},
		"and the other way round":           {bus.Errorf(http.StatusBadGateway, "asked: %w", conflictError{}), 502},
		"a deadline":                        {fmt.Errorf("waiting: %w", context.DeadlineExceeded), 504},
		"a cancellation":                    {context.Canceled, 503},
		"anything else":                     {errors.New("the disk is full"), 500},
		"a status that stands for no error": {bus.Errorf(200, "fine"), 500},
	} {
		if got := bus.StatusOf(test.err); got != test.status {
			t.Errorf("%s: %d, want %d", name, got, test.status)
		}
	}
}

func TestErrorfKeepsItsCauses(t *testing.T) {
	t.Parallel()
	one, two := errors.New("one"), errors.New("two")
	err := bus.Errorf(http.StatusConflict, "%w and %w", one, two)
	if !errors.Is(err, one) || !errors.Is(err, two) || err.Error() != "409 Conflict: one and two" {
		t.Errorf("got %v", err)
	}
}

// wrapper returns errors as applications do.
type wrapper struct{}

func (wrapper) Wrapped() error {
	return fmt.Errorf("loading order 7: %w", bus.Errorf(http.StatusNotFound, "no product 7"))
}

func TestTheTextOfAWrappedErrorTravels(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *world) {
		conn := w.connect("wrapper.example")
		serve(t, conn, wrapper{})
		err := bus.Call(t.Context(), conn, "https://wrapper.example/wrapped", nil, nil)
		failed, _ := errors.AsType[*bus.Error](err)
		if failed == nil || failed.Status != 404 || failed.Detail != "loading order 7: 404 Not Found: no product 7" {
			t.Errorf("got %v", err)
		}
	})
}
