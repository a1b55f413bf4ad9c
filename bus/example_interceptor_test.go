package bus_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/test/kit"
	"github.com/busline/busline/bus/wire"
)

// readOnly refuses whatever changes something.
func readOnly(next bus.CallFunc) bus.CallFunc {
	return func(ctx context.Context, call *bus.Exchange) error {
		if call.Side == bus.ServerSide && call.Method != http.MethodGet {
			return bus.Errorf(http.StatusServiceUnavailable, "%s can only be read at the moment", call.Host)
		}
		return next(ctx, call)
	}
}

// tryAgain calls a second time where no instance was there, or had no room, and it is certain that nothing has run.
func tryAgain(next bus.CallFunc) bus.CallFunc {
	return func(ctx context.Context, call *bus.Exchange) error {
		err := next(ctx, call)
		failed := call.Failure(err)
		if call.Side == bus.ServerSide || failed == nil || failed.Status != http.StatusServiceUnavailable ||
			failed.Executed != bus.ExecutedNo {
			return err
		}
		select {
		case <-time.After(failed.RetryAfter):
			return next(ctx, call)
		case <-ctx.Done():
			return err
		}
	}
}

func TestReadOnly(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	server := b.Connect("calculator.example", bus.WithInterceptors(readOnly))
	client := b.Connect("client.example", bus.WithInterceptors(tryAgain))
	require.NoError(t, bus.Serve(server, kit.Calculator{}))
	err := client.Call(t.Context(), "POST https://calculator.example/add", bus.Args{"x": 1}, nil)
	if bus.StatusOf(err) != http.StatusServiceUnavailable {
		t.Error(err)
	}
	assert.NoError(t, client.Call(t.Context(), "GET https://calculator.example/add", bus.Args{"x": 1}, nil))
}

// An interceptor needs no bus to be tested.
func ExampleInterceptor() {
	handler := readOnly(func(_ context.Context, call *bus.Exchange) error {
		call.Response = &wire.Response{Status: http.StatusOK}
		return nil
	})
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		call := &bus.Exchange{Side: bus.ServerSide}
		call.Method, call.Host = method, "products.example"
		err := handler(context.Background(), call)
		fmt.Println(method, call.Status(err))
	}
	// Output:
	// GET 200
	// DELETE 503
}
