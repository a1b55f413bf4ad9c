package live_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/examples/internal/recipetest"
	"github.com/busline/busline/examples/recipes/live"
	"github.com/busline/busline/portal/ingress"
)

func TestPage(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	require.NoError(t, live.Serve(b.Connect("kitchen.example"), func(context.Context) error { return nil }))
	recipetest.Curl(t, b, "live", nil)
}

// TestEvents follows the events as the page does, while an order is cooked.
func TestEvents(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	require.NoError(t, live.Serve(b.Connect("kitchen.example"), func(context.Context) error { return nil }))
	handler, err := ingress.New(b.Connect("ingress"), ingress.WithEvents("kitchen.example/on-ready"))
	require.NoError(t, err)
	server := httptest.NewServer(handler)
	defer server.Close()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
		server.URL+"/kitchen.example:417/on-ready", http.NoBody)
	require.NoError(t, err)
	events, err := server.Client().Do(request)
	require.NoError(t, err)
	defer events.Body.Close()
	require.Equal(t, http.StatusOK, events.StatusCode)

	cooked, err := server.Client().Get(server.URL + "/kitchen.example/cook?order=7")
	require.NoError(t, err)
	defer cooked.Body.Close()
	_, err = io.Copy(io.Discard, cooked.Body) // a caller that leaves before the end stops the cooking
	require.NoError(t, err)
	for lines := bufio.NewScanner(events.Body); lines.Scan(); {
		if data, found := strings.CutPrefix(lines.Text(), "data: "); found {
			assert.JSONEq(t, `{"order":"7"}`, data)
			return
		}
	}
	t.Error("no event came")
}
