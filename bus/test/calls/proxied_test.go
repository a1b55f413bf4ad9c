package calls_test

import (
	"errors"
	"io"
	"maps"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/test/kit"
)

// TestProxied_ErrorIsExecuted has a handler pass on, byte for byte, what another service has refused: that one has not
// run, but the handler has, and may have done anything before.
func TestProxied_ErrorIsExecuted(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		kit.Serve(t, w.Connect(kit.CalculatorHost), kit.Calculator{})
		proxy, caller := w.Connect("proxy.example"), w.Connect("caller.example")
		err := proxy.Handle("GET", "/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			there := r.Clone(r.Context())
			there.URL.Scheme, there.URL.Host, there.URL.Path = "https", kit.CalculatorHost, "/no-such-path"
			response, err := proxy.Do(there)
			if err != nil {
				t.Error(err)
				return
			}
			defer response.Body.Close()
			maps.Copy(w.Header(), response.Header)
			w.WriteHeader(response.StatusCode)
			_, _ = io.Copy(w, response.Body)
		}))
		require.NoError(t, err)
		err = caller.Call(t.Context(), "GET https://"+kit.CalculatorHost+"/no-such-path", nil, nil)
		refused, _ := errors.AsType[*bus.Error](err)
		require.NotNil(t, refused, "what is refused")
		require.Equal(t, bus.ExecutedNo, refused.Executed, "what is refused")
		err = caller.Call(t.Context(), "GET https://proxy.example/", nil, nil)
		kit.CheckError(t, err, http.StatusNotFound, bus.ExecutedYes)
		passed := kit.AsBusError(t, err)
		assert.Equal(t, refused.Detail, passed.Detail, "what is passed on")
		assert.Equal(t, refused.Host, passed.Host, "what is passed on")
	})
}
