package otelbus_test

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
)

const (
	calculatorHost = "calculator.example"
	calculatorURL  = "https://calculator.example"
)

// calculator is a service that succeeds, and fails in each way.
type calculator struct{}

func (calculator) Add(x, y int) (sum int) { return x + y }

func (calculator) Divide(x, y int) (quotient int, err error) {
	if y == 0 {
		return 0, bus.Errorf(http.StatusUnprocessableEntity, "%d cannot be divided by zero", x)
	}
	return x / y, nil
}

func (calculator) Broken() error { return errors.New("the disk is full") }

func (calculator) Panic() { panic("boom") }

func (calculator) Exit() { runtime.Goexit() }

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

// testBus is a bus whose connections all use one transport.
type testBus struct {
	*bustest.Bus
	transport bus.ConnectOption
}

func (w *testBus) connect(host string, options ...bus.ConnectOption) *bus.Conn {
	return w.Connect(host, append([]bus.ConnectOption{w.transport}, options...)...)
}

// overBoth runs a test over the broker, and in the short circuit.
func overBoth(t *testing.T, test func(t *testing.T, w *testBus)) {
	t.Helper()
	for name, transport := range map[string]bus.ConnectOption{"broker": bus.WithoutShortCircuit(), "short circuit": bus.WithInterceptors()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, &testBus{bustest.New(t), transport})
		})
	}
}

func serve[T any](t *testing.T, conn *bus.Conn, impl T, options ...bus.ServeOption) {
	t.Helper()
	require.NoError(t, bus.Serve(conn, impl, options...))
}

func add(t *testing.T, caller *bus.Conn, host string) {
	t.Helper()
	var out struct{ Sum int }
	err := caller.Call(t.Context(), "GET https://"+host+"/add", bus.Args{"x": 5, "y": 6}, &out)
	require.NoError(t, err)
	require.Equal(t, 11, out.Sum)
}

func mustRequest(t *testing.T, url string) *http.Request {
	t.Helper()
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url, http.NoBody)
	require.NoError(t, err)
	return request
}

func asError(t *testing.T, err error) *bus.Error {
	t.Helper()
	failed, ok := errors.AsType[*bus.Error](err)
	if !ok {
		t.Fatalf("%v is no *bus.Error", err)
	}
	return failed
}
