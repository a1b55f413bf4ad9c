package kit

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"testing"
	"time"

	"github.com/busline/busline/bus"
)

// Calculator is the service that most tests call.
type Calculator struct{ ID string }

// Add returns the sum of x and y.
func (Calculator) Add(x, y int) (sum int) { return x + y }

// Divide fails where it must.
func (Calculator) Divide(x, y int) (quotient int, err error) {
	if y == 0 {
		return 0, bus.Errorf(http.StatusUnprocessableEntity, "%d cannot be divided by zero", x)
	}
	return x / y, nil
}

// Broken fails for a reason of its own.
func (Calculator) Broken() error { return errors.New("the disk is full") }

// Panic panics.
func (Calculator) Panic() { panic("boom") }

// Exit leaves its goroutine.
func (Calculator) Exit() { runtime.Goexit() }

// Who answers with the instance's id.
func (c Calculator) Who() (id string) { return c.ID }

// Context tells what a handler can know.
func (Calculator) Context(ctx context.Context) (host, id, msgID string, depth int, left time.Duration) {
	caller, _ := bus.CallerOf(ctx)
	deadline, _ := ctx.Deadline()
	left = time.Until(deadline)
	return caller.Host, caller.ID, caller.MsgID, caller.Depth, left
}

// Wait waits for the end of its context.
func (Calculator) Wait(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// Where the calculator is served.
const (
	CalculatorHost = "calculator.example"
	CalculatorURL  = "https://calculator.example"
)

// NewCalculator serves the calculator, for a caller.
func NewCalculator(t *testing.T, w *World) (caller, callee *bus.Conn) {
	t.Helper()
	callee = w.Connect(CalculatorHost)
	Serve(t, callee, Calculator{callee.ID()}, bus.Method("Who", bus.NoQueue()))
	return w.Connect("caller.example"), callee
}

// Relay calls the next service with the context it was given.
type Relay struct {
	Conn *bus.Conn
	Next string
}

// Pass calls on as often as hops says, and returns what the last one knows of its call.
func (r Relay) Pass(ctx context.Context, hops int) (depth int, budget time.Duration, err error) {
	if hops == 0 {
		caller, _ := bus.CallerOf(ctx)
		deadline, _ := ctx.Deadline()
		return caller.Depth, time.Until(deadline), nil
	}
	var out struct {
		Depth  int           `json:"depth"`
		Budget time.Duration `json:"budget"`
	}
	err = r.Conn.Call(ctx, r.Next, bus.Args{"hops": hops - 1}, &out)
	return out.Depth, out.Budget, err
}
