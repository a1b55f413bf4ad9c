package portal_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/calltap"
	"github.com/busline/busline/portal"
	"github.com/busline/busline/portal/internal/portaltest"
)

// calls returns a function that returns the next line of the stream of calls.
func (d *testIngress) calls(query string) (next func() (calls []calltap.Call)) {
	d.T.Helper()
	address := d.Server.URL + "/portal/calls" + query
	request, err := http.NewRequestWithContext(d.T.Context(), http.MethodGet, address, http.NoBody)
	require.NoError(d.T, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(d.T, err)
	d.T.Cleanup(func() { _ = response.Body.Close() })
	require.Equal(d.T, http.StatusOK, response.StatusCode)
	lines := bufio.NewScanner(response.Body)
	return func() []calltap.Call {
		require.True(d.T, lines.Scan(), lines.Err())
		var line struct{ Calls []calltap.Call }
		require.NoError(d.T, json.Unmarshal(lines.Bytes(), &line), lines.Text())
		return line.Calls
	}
}

func TestCalls(t *testing.T) {
	t.Parallel()
	d := open(t)
	require.NoError(t, portal.Register(d.Bus.Connect("portal"), append(longTimeouts(), portal.WithOperators(""))...))
	vault := d.Bus.Connect("vault.example")
	require.NoError(t, bus.Serve(vault, portaltest.SecuredService{}))
	odd := portaltest.NewForeignInstance(t, d.Bus, "odd.example")
	odd.Tells("/tap", "<html>")
	all, failed := d.calls("?service=vault&status=2xx"), d.calls("?status=4xx&caller=ingress&text=NOTHING")
	shown := func(next func() []calltap.Call) calltap.Call {
		for {
			d.Get("/vault.example/stones")
			d.Get("/vault.example/nothing")
			if calls := next(); len(calls) > 0 {
				return calls[0]
			}
		}
	}
	call := shown(all)
	assert.Equal(t, "vault.example", call.To)
	assert.Equal(t, "ingress", call.From)
	assert.Equal(t, vault.ID(), call.ToID)
	call = shown(failed)
	assert.Equal(t, http.StatusNotFound, call.Status)
	assert.Equal(t, "/nothing", call.Path)
}

func TestCalls_Refused(t *testing.T) {
	t.Parallel()
	i := portaltest.NewIssuer(t)
	d := openFor(t, i)
	require.NoError(t, portal.Register(d.Bus.Connect("portal", i.Trust()),
		append(longTimeouts(), portal.WithOperators(`"keeper" in roles`))...))
	failed := d.Get("/portal/calls", i.In("cook")).Problem(t)
	assert.Equal(t, http.StatusForbidden, failed.Status)
	failed = d.Get("/portal/calls").Problem(t)
	assert.Contains(t, failed.Detail, "only operators may follow calls")
	failed = d.Get("/portal/calls?status=bad", i.In("keeper")).Problem(t)
	assert.Equal(t, http.StatusBadRequest, failed.Status)
	assert.Contains(t, failed.Detail, `status is "bad": give 2xx, 3xx, 4xx or 5xx`)
}
