// Package greetersvc implements greeterapi.
package greetersvc

import (
	"context"
	"net/http"
	"time"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/examples/template/greeter/greeterapi"
)

// Serve puts the service on the bus. It is live when Serve returns.
func Serve(conn *bus.Conn) error { return bus.Serve[greeterapi.Greeter](conn, Greeter{}) }

// Greeter implements [greeterapi.Greeter]. It is safe for concurrent use.
type Greeter struct{}

// Greet greets in English.
func (Greeter) Greet(_ context.Context, name string) (greeting string, err error) {
	if name == "" {
		return "", bus.Errorf(http.StatusUnprocessableEntity, "the name is empty: say who is to be greeted")
	}
	return "Hello, " + name + "!", nil
}

// Remind waits on the clock of the process, which tests in virtual time move.
func (Greeter) Remind(ctx context.Context, text string, seconds int) (reminder string, err error) {
	select {
	case <-time.After(time.Duration(seconds) * time.Second):
		return text, nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}
