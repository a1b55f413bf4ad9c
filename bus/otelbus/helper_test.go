package otelbus_test

import (
	"errors"
	"net/http"

	"github.com/busline/busline/bus"
)

// failing has one endpoint of each kind, all of which fail.
type failing struct{}

func (failing) Function(why string) error { return errors.New(why) }

func (failing) Returned(_ http.ResponseWriter, r *http.Request) error {
	return errors.New(r.URL.Query().Get("why"))
}

func (failing) Written(w http.ResponseWriter, r *http.Request) {
	bus.WriteError(w, r, errors.New(r.URL.Query().Get("why")))
}

// plain answers with a status alone.
type plain struct{}

func (plain) Function(status int) (httpStatusCode int) { return status }
