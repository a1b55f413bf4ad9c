package bus_test

import (
	"context"
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/metrics"
	"github.com/busline/busline/bus/test/kit"
	"github.com/busline/busline/bus/wire"
)

// TestInterceptors_SeeCrashes has handlers panic and exit.
func TestInterceptors_SeeCrashes(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		seen := new(kit.Notes)
		watch := func(next bus.CallFunc) bus.CallFunc {
			return func(ctx context.Context, call *bus.Exchange) (err error) {
				defer func() { seen.Addf("%s %d", call.Path, call.Status(err)) }()
				return next(ctx, call)
			}
		}
		callee := w.Connect(kit.CalculatorHost)
		crash := func(next bus.CallFunc) bus.CallFunc {
			return func(context.Context, *bus.Exchange) error { panic("an interceptor may, too") }
		}
		kit.Serve(t, callee, kit.Calculator{ID: callee.ID()}, bus.Method("Add", bus.Intercept(crash)),
			bus.Method("Panic", bus.Intercept(watch)), bus.Method("Exit", bus.Intercept(watch)))
		caller := w.Connect("caller.example")
		err := caller.Call(t.Context(), kit.CalculatorURL+"/add", nil, nil)
		if bus.StatusOf(err) != 500 {
			t.Error(err)
		}
		add := callee.Traffic().Served
		if err := caller.Call(t.Context(), kit.CalculatorURL+"/panic", nil, nil); bus.StatusOf(err) != 500 {
			t.Error(err)
		}
		if err := caller.Call(t.Context(), kit.CalculatorURL+"/exit", nil, nil); bus.StatusOf(err) != 500 {
			t.Error(err)
		}
		if got := seen.All(); !slices.Equal(got, []string{"/panic 500", "/exit 500"}) {
			t.Errorf("seen %q", got)
		}
		got := add[slices.IndexFunc(add, func(s metrics.ServedCalls) bool { return s.Path == "/add" })]
		assert.Equal(t, int64(1), got.Failed)
		assert.Equal(t, "caller.example", got.Caller)
	})
}

// TestInterceptor_WithoutAnswer counts and answers alike what an interceptor lets end with neither a response nor an
// error.
func TestInterceptor_WithoutAnswer(t *testing.T) {
	t.Parallel()
	swallow := func(next bus.CallFunc) bus.CallFunc {
		return func(ctx context.Context, call *bus.Exchange) error {
			_ = next(ctx, call)
			call.Response = nil
			return nil
		}
	}
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		callee, quiet := w.Connect(kit.CalculatorHost), w.Connect("quiet.example", bus.WithInterceptors(swallow))
		kit.Serve(t, callee, kit.Calculator{ID: callee.ID()})
		kit.Serve(t, quiet, kit.Calculator{ID: quiet.ID()})
		for caller, host := range map[*bus.Conn]string{w.Connect("caller.example"): "quiet.example",
			quiet: kit.CalculatorHost} {
			err := caller.Call(t.Context(), "https://"+host+"/add", bus.Args{"x": 1}, nil)
			got := kit.ExecutedOf(t, err)
			assert.Equal(t, http.StatusInternalServerError, bus.StatusOf(err), host)
			assert.NotEqual(t, bus.ExecutedNo, got, host)
		}
		made := quiet.Traffic().Made
		require.Len(t, made, 1)
		assert.Equal(t, int64(1), made[0].Failed)
		for _, served := range quiet.Traffic().Served {
			if served.Path == "/add" && served.Failed != 1 {
				t.Errorf("served %+v", served)
			}
		}
	})
}

// TestInterceptor_Recovers has one make an answer of a panic, which is then no failure.
func TestInterceptor_Recovers(t *testing.T) {
	t.Parallel()
	recovering := func(next bus.CallFunc) bus.CallFunc {
		return func(ctx context.Context, call *bus.Exchange) (err error) {
			defer func() {
				if recover() != nil {
					call.Response = &wire.Response{Status: http.StatusNoContent}
				}
			}()
			return next(ctx, call)
		}
	}
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		w.AllowWrongResponses() // a 204
		callee := w.Connect(kit.CalculatorHost, bus.WithInterceptors(recovering))
		kit.Serve(t, callee, kit.Calculator{ID: callee.ID()})
		assert.NoError(t, w.Connect("caller.example").Call(t.Context(), kit.CalculatorURL+"/panic", nil, nil))
		for _, served := range callee.Traffic().Served {
			if served.Path == "/panic" && (served.Failed != 0 || served.Total() != 1) {
				t.Errorf("counted %+v", served)
			}
		}
	})
}
