package collector_test

import (
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	collectorv1 "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/examples/internal/recipetest"
	"github.com/busline/busline/examples/recipes/collector"
)

// traceID is that of the command on the page.
const traceID = "4bf92f3577b34da6a3ce929d0e0e4736"

// Greeter greets.
type Greeter struct{}

// Greet refuses to greet without a name.
func (Greeter) Greet(name string) (greeting string, err error) {
	if name == "" {
		return "", bus.Errorf(http.StatusUnprocessableEntity, "name is empty; pass one")
	}
	return "Hello, " + name + "!", nil
}

// TestPage has a collector in the test receive the spans of the call on the page.
func TestPage(t *testing.T) {
	t.Parallel()
	received := make(chan *tracev1.Span, 10)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		for _, span := range spans(t, r) {
			received <- span
		}
	}))
	defer server.Close()
	provider, err := collector.NewProvider(t.Context(), otlptracehttp.WithEndpointURL(server.URL))
	require.NoError(t, err)
	b := bustest.New(t)
	service, err := collector.Connect(t.Context(), provider, "greeter.example", b.Options()...)
	require.NoError(t, err)
	require.NoError(t, bus.Serve(service, Greeter{}))

	recipetest.Curl(t, b, "collector", nil)

	require.NoError(t, service.Close(t.Context()))
	require.NoError(t, provider.Shutdown(t.Context()))
	close(received)
	var names []string
	for span := range received {
		names = append(names, span.GetName())
		assert.Equal(t, traceID, hex.EncodeToString(span.GetTraceId()))
	}
	assert.Equal(t, []string{"POST /greet"}, names)
}

// spans returns the spans in a request of an exporter.
func spans(t *testing.T, r *http.Request) (all []*tracev1.Span) {
	t.Helper()
	body, err := io.ReadAll(r.Body)
	assert.NoError(t, err)
	var request collectorv1.ExportTraceServiceRequest
	assert.NoError(t, proto.Unmarshal(body, &request))
	for _, resource := range request.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			all = append(all, scope.GetSpans()...)
		}
	}
	return all
}
