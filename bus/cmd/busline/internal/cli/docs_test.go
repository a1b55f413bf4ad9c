package cli_test

import (
	"io"
	"net/http"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/examples/orders/ordersapi"
)

// TestDocs_OpenAPI31 prints what a service and the portal answer themselves, and the same without a portal.
func TestDocs_OpenAPI31(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	e.serveCalculator()
	var conn *bus.Conn
	e.serve(ordersapi.Host, func(c *bus.Conn) error {
		conn = c
		if _, err := ordersapi.NewPublisher(c); err != nil {
			return err
		}
		return c.Handle(http.MethodGet, "/orders", http.NotFoundHandler())
	})
	docs := func(arguments ...string) string {
		got := e.busline(0, append([]string{"docs"}, arguments...)...)
		assert.Empty(t, got.stderr)
		return got.stdout
	}
	served := func(host string) string {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
			"https://"+host+"/openapi.json?version=3.1", http.NoBody)
		require.NoError(t, err)
		response, err := conn.Do(request)
		require.NoError(t, err)
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return string(text) + "\n"
	}
	assert.Equal(t, served(ordersapi.Host), docs(ordersapi.Host, "--openapi", "3.1"))
	assert.Equal(t, served("calculator.example"), docs("calculator.example", "--openapi=3.1"))
	assert.Equal(t, docs(ordersapi.Host), docs(ordersapi.Host, "--openapi", "3.0"))
	alone, err := openapi3.NewLoader().LoadFromData([]byte(docs("--openapi", "3.1")))
	require.NoError(t, err)
	require.NoError(t, alone.Validate(t.Context()))
	assert.Contains(t, alone.Webhooks, "orders.example/on-ordered")
	e.servePortal()
	together := served("portal")
	assert.Equal(t, together, docs("--openapi", "3.1"))
	assert.Equal(t, together, docs("portal", "--openapi", "3.1"))
	assert.Contains(t, docs("--openapi", "3.1", "--base-url", "https://api.example.com"),
		`"servers":[{"url":"https://api.example.com"}]`)
	e.refuses(2, `--openapi: there is no OpenAPI document of version "3.2": give it as 3.0 or 3.1`,
		"docs", "--openapi", "3.2")
}
