package otelbus_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	tracesdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/otelbus"
	"github.com/busline/busline/bus/test/kit"
)

// tracedRelay calls the calculator, to make a chain of three.
type tracedRelay struct{ conn *bus.Conn }

// Add has another service add.
func (r tracedRelay) Add(ctx context.Context, x, y int) (sum int, err error) {
	var out struct{ Sum int }
	err = r.conn.Call(ctx, kit.CalculatorURL+"/add", bus.Args{"x": x, "y": y}, &out)
	return out.Sum, err
}

// Divide calls another service, and reports its baggage.
func (r tracedRelay) Divide(ctx context.Context, x, y int) (customer string, err error) {
	return baggage.FromContext(ctx).Member("customer").Value(),
		r.conn.Call(ctx, kit.CalculatorURL+"/divide", bus.Args{"x": x, "y": y}, nil)
}

func attributeOf(span tracetest.SpanStub, name string) string {
	for _, each := range span.Attributes {
		if string(each.Key) == name {
			return each.Value.String()
		}
	}
	return ""
}

// TestTrace follows a call over three services: four spans in one trace, each the parent of the next.
func TestTrace(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		spans := tracetest.NewInMemoryExporter()
		provider := tracesdk.NewTracerProvider(tracesdk.WithSyncer(spans))
		traced := otelbus.Observe(otelbus.WithTracerProvider(provider))
		callee, between := w.Connect(kit.CalculatorHost, traced), w.Connect("relay.example", traced)
		kit.Serve(t, callee, kit.Calculator{})
		kit.Serve(t, between, tracedRelay{between})
		caller := w.Connect("caller.example", traced)
		ctx, root := provider.Tracer("test").Start(t.Context(), "root")
		require.NoError(t, caller.Call(ctx, "https://relay.example/add", bus.Args{"x": 1}, nil))
		ended := spans.GetSpans()
		slices.Reverse(ended) // the outermost ends last
		var names []string
		parent := root.SpanContext()
		for _, span := range ended {
			names = append(names, span.SpanKind.String()+" "+span.Name+" "+attributeOf(span, "http.response.status_code"))
			assert.Equal(t, parent.SpanID(), span.Parent.SpanID(), span.Name)
			assert.Equal(t, parent.TraceID(), span.SpanContext.TraceID(), span.Name)
			parent = span.SpanContext
		}
		want := []string{"client POST 200", "server POST /add 200", "client POST 200", "server POST /add 200"}
		if !slices.Equal(names, want) {
			t.Errorf("spans\n%s\nwant\n%s", strings.Join(names, "\n"), strings.Join(want, "\n"))
		}
		last := ended[len(ended)-1]
		assert.Equal(t, "relay.example", attributeOf(last, "client.address"), last.Attributes)
		assert.Equal(t, "/add", attributeOf(last, "http.route"), last.Attributes)
		assert.NotEmpty(t, attributeOf(last, "messaging.message.id"), last.Attributes)
	})
}

// TestTrace_OfError holds that an error names the trace, and the span that failed.
func TestTrace_OfError(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		spans := tracetest.NewInMemoryExporter()
		traced := otelbus.Observe(otelbus.WithTracerProvider(tracesdk.NewTracerProvider(tracesdk.WithSyncer(spans))))
		w.AllowUnknownFields()
		callee := w.Connect(kit.CalculatorHost, traced)
		kit.Serve(t, callee, kit.Calculator{})
		caller := w.Connect("caller.example", traced)
		for path, statuses := range map[string][2]codes.Code{"/divide": {codes.Unset, codes.Error},
			"/broken": {codes.Error, codes.Error}, "/panic": {codes.Error, codes.Error}, "/exit": {codes.Error, codes.Error}} {
			spans.Reset()
			err := caller.Call(t.Context(), kit.CalculatorURL+path, bus.Args{"x": 1}, nil)
			ended := spans.GetSpans()
			if len(ended) != 2 {
				t.Fatalf("%s: %d spans", path, len(ended))
			}
			if failed := kit.AsBusError(t, err); failed.TraceID != ended[0].SpanContext.TraceID().String() {
				t.Errorf("%s: trace %q, want %s", path, failed.TraceID, ended[0].SpanContext.TraceID())
			}
			for i, span := range ended {
				if span.Status.Code != statuses[i] {
					t.Errorf("%s: %s span has status %v", path, span.SpanKind, span.Status)
				}
				wrong := ""
				if statuses[i] == codes.Error {
					wrong = attributeOf(span, "http.response.status_code")
				}
				got := attributeOf(span, "error.type")
				assert.Equal(t, wrong, got, path)
				assert.Equal(t, "https", attributeOf(span, "url.scheme"), path)
				if strings.Contains(span.Status.Description, "disk") {
					t.Errorf("%s: a span tells %q", path, span.Status.Description)
				}
			}
		}
	})
}

// TestTrace_ThatTheServerBegan holds that an error names a trace that the caller does not know, whichever kind of
// handler has failed.
func TestTrace_ThatTheServerBegan(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		spans := tracetest.NewInMemoryExporter()
		callee := w.Connect("failing.example",
			otelbus.Observe(otelbus.WithTracerProvider(tracesdk.NewTracerProvider(tracesdk.WithSyncer(spans)))))
		kit.Serve(t, callee, failing{})
		for _, path := range []string{"function", "returned", "written"} {
			spans.Reset()
			err := w.Connect("caller.example").Call(t.Context(), "GET https://failing.example/"+path+"?why=missing", nil, nil)
			if failed, trace := kit.AsBusError(t,
				err), spans.GetSpans()[0].SpanContext.TraceID().String(); failed.TraceID != trace {
				t.Errorf("%s: trace %q, want %s", path, failed.TraceID, trace)
			}
		}
	})
}

// TestTrace_FromHeader continues what a caller outside began, with its baggage.
func TestTrace_FromHeader(t *testing.T) {
	t.Parallel()
	const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		spans := tracetest.NewInMemoryExporter()
		traced := otelbus.Observe(otelbus.WithTracerProvider(tracesdk.NewTracerProvider(tracesdk.WithSyncer(spans))))
		between := w.Connect("relay.example", traced)
		kit.Serve(t, between, tracedRelay{between})
		callee := w.Connect(kit.CalculatorHost)
		kit.Serve(t, callee, kit.Calculator{})
		for _, caller := range []*bus.Conn{w.Connect("caller.example", traced), w.Connect("caller.example")} {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://relay.example/divide?x=6&y=0", nil)
			require.NoError(t, err)
			request.Header.Set("Traceparent", parent)
			request.Header.Set("Baggage", "customer=ada")
			response, err := caller.Do(request)
			require.NoError(t, err)
			response.Body.Close()
			for _, span := range spans.GetSpans() {
				if span.SpanContext.TraceID().String() != parent[3:35] {
					t.Errorf("%s is in the trace %s", span.Name, span.SpanContext.TraceID())
				}
			}
			spans.Reset()
		}
	})
}

// TestTrace_FromSeveralLines has the baggage and the state of a trace come in several lines each, as a proxy may add
// one.
func TestTrace_FromSeveralLines(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		traced := otelbus.Observe(otelbus.WithTracerProvider(tracesdk.NewTracerProvider()))
		callee := w.Connect("library.example", traced)
		var state, bag string
		require.NoError(t, callee.Handle(http.MethodGet, "/books",
			http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				of := baggage.FromContext(r.Context())
				state, bag = trace.SpanContextFromContext(r.Context()).TraceState().String(), of.Member("customer").Value()+" "+
					of.Member("shop").Value()
			})))
		request := kit.MustRequest(t, "https://library.example/books")
		request.Header = http.Header{
			"Traceparent": {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"},
			"Tracestate":  {"a=1", "b=2"}, "Baggage": {"customer=ada", "shop=7"},
		}
		response, err := w.Connect("caller.example", traced).Do(request)
		require.NoError(t, err)
		response.Body.Close()
		assert.Equal(t, "a=1,b=2", state)
		assert.Equal(t, "ada 7", bag)
	})
}

// TestMeterProvider records both sides with OpenTelemetry.
func TestMeterProvider(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		reader := metric.NewManualReader()
		measured := otelbus.Observe(otelbus.WithMeterProvider(metric.NewMeterProvider(metric.WithReader(reader))))
		callee := w.Connect(kit.CalculatorHost, measured)
		kit.Serve(t, callee, kit.Calculator{})
		kit.Serve(t, callee, kit.Calculator{}, bus.Port(444))
		require.NoError(t, callee.Handle("", "/any", http.NotFoundHandler()))
		caller := w.Connect("caller.example", measured)
		for range 3 {
			kit.Add(t, caller, kit.CalculatorHost)
		}
		kit.Add(t, caller, kit.CalculatorHost+":444")
		_ = caller.Call(t.Context(), kit.CalculatorURL+"/divide", bus.Args{"x": 1}, nil)
		_ = caller.Call(t.Context(), kit.CalculatorURL+"/broken", nil, nil)
		_ = caller.Call(t.Context(), "MAKEUP "+kit.CalculatorURL+"/any", nil, nil)
		counted := collect(t, reader)
		const to = "server.address=" + kit.CalculatorHost + ",server.port="
		for name, want := range map[string]uint64{
			"http.server http.request.method=GET,http.response.status_code=200,http.route=/add," + to +
				"443,url.scheme=https": 3,
			"http.server http.request.method=GET,http.response.status_code=200,http.route=/add," + to +
				"444,url.scheme=https": 1,
			"http.server http.request.method=POST,http.response.status_code=422,http.route=/divide," + to +
				"443,url.scheme=https": 1,
			"http.server error.type=500,http.request.method=POST,http.response.status_code=500,http.route=/broken," + to +
				"443,url.scheme=https": 1,
			"http.server http.request.method=_OTHER,http.response.status_code=404,http.route=/any," + to +
				"443,url.scheme=https": 1,
			"http.client http.request.method=GET,http.response.status_code=200," + to +
				"443,url.scheme=https": 3,
			"http.client http.request.method=GET,http.response.status_code=200," + to +
				"444,url.scheme=https": 1,
			"http.client error.type=422,http.request.method=POST,http.response.status_code=422," + to +
				"443,url.scheme=https": 1,
			"http.client error.type=500,http.request.method=POST,http.response.status_code=500," + to +
				"443,url.scheme=https": 1,
			"http.client error.type=404,http.request.method=_OTHER,http.response.status_code=404," + to +
				"443,url.scheme=https": 1,
		} {
			t.Run(name, func(t *testing.T) {
				if counted[name] != want {
					t.Errorf("%d, want %d", counted[name], want)
				}
				delete(counted, name)
			})
		}
		if len(counted) > 0 {
			t.Errorf("there are also %v", counted)
		}
	})
}

// collect returns how often each series was counted, named "http.server " or "http.client " and its attributes.
func collect(t *testing.T, reader metric.Reader) map[string]uint64 {
	t.Helper()
	var collected metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(t.Context(), &collected))
	counted := map[string]uint64{}
	for _, scope := range collected.ScopeMetrics {
		for _, each := range scope.Metrics {
			histogram, ok := each.Data.(metricdata.Histogram[float64])
			if !ok {
				t.Fatalf("%s is a %T", each.Name, each.Data)
			}
			for _, point := range histogram.DataPoints {
				if status, _ := point.Attributes.Value("http.response.status_code"); status.Type() != attribute.INT64 {
					t.Errorf("a status is a %s", status.Type())
				}
				counted[strings.TrimSuffix(each.Name, ".request.duration")+" "+
					point.Attributes.Encoded(attribute.DefaultEncoder())] += point.Count
			}
		}
	}
	return counted
}

// TestTrace_WithoutProvider switches telemetry off with a provider that makes nothing: there is no trace then, rather
// than one of zeros.
func TestTrace_WithoutProvider(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		off, log := otelbus.Observe(otelbus.WithTracerProvider(noop.NewTracerProvider())), new(bytes.Buffer)
		callee := w.Connect(kit.CalculatorHost, off, bus.WithLogger(zerolog.New(log)))
		kit.Serve(t, callee, kit.Calculator{})
		caller := w.Connect("caller.example", off, bus.WithLogger(zerolog.New(log)))
		err := caller.Call(t.Context(), kit.CalculatorURL+"/divide", bus.Args{"x": 1}, nil)
		if failed := kit.AsBusError(t, err); failed.TraceID != "" {
			t.Errorf("the error is of the trace %s", failed.TraceID)
		}
		require.NoError(t, errors.Join(caller.Close(t.Context()), callee.Close(t.Context()))) // they have written their lines
		if strings.Contains(log.String(), "traceId") {
			t.Errorf("logged as %s", log)
		}
	})
}

// TestMetrics_InventedPortsAreNotCounted asks a caller for many ports of a host that is there.
func TestMetrics_InventedPortsAreNotCounted(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	reader := metric.NewManualReader()
	caller := b.Connect("caller.example",
		otelbus.Observe(otelbus.WithMeterProvider(metric.NewMeterProvider(metric.WithReader(reader)))))
	callee := b.Connect(kit.CalculatorHost)
	kit.Serve(t, callee, kit.Calculator{})
	const ports, kept = 600, 512
	for port := range ports {
		if err := caller.Call(t.Context(), fmt.Sprintf("GET https://%s:%d/add", kit.CalculatorHost, 1000+port), nil,
			nil); bus.StatusOf(err) != 404 {
			t.Fatal(err)
		}
	}
	kit.Add(t, caller, kit.CalculatorHost)
	const of, others = "error.type=404,", "http.response.status_code=404,server.address=others,url.scheme=https"
	counted := collect(t, reader)
	got := counted["http.client "+of+"http.request.method=GET,"+others]
	assert.Equal(t, uint64(ports-kept), got)
	assert.Len(t, counted, kept+2)
	if got := counted["http.client http.request.method=GET,http.response.status_code=200,server.address="+
		kit.CalculatorHost+",server.port=443,url.scheme=https"]; got != 1 {
		t.Errorf("the real port is counted %d times", got)
	}
}

// TestStatus_WithoutAReason holds that a span fails if a handler answers with a bare status of 500 or above.
func TestStatus_WithoutAReason(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		spans := tracetest.NewInMemoryExporter()
		callee := w.Connect("plain.example",
			otelbus.Observe(otelbus.WithTracerProvider(tracesdk.NewTracerProvider(tracesdk.WithSyncer(spans)))))
		kit.Serve(t, callee, plain{})
		for status, want := range map[int]codes.Code{500: codes.Error, 503: codes.Error, 404: codes.Unset} {
			spans.Reset()
			if err := w.Connect("caller.example").Call(t.Context(),
				fmt.Sprint("GET https://plain.example/function?status=", status), nil, nil); bus.StatusOf(err) != status {
				t.Fatal(err)
			}
			if got := spans.GetSpans()[0].Status.Code; got != want {
				t.Errorf("status %d: the span has status %s, want %s", status, got, want)
			}
		}
	})
}

// TestObserve_RejectedCall holds that a call that never reaches its endpoint has a span, too.
func TestObserve_RejectedCall(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		spans := tracetest.NewInMemoryExporter()
		callee := w.Connect("plain.example",
			otelbus.Observe(otelbus.WithTracerProvider(tracesdk.NewTracerProvider(tracesdk.WithSyncer(spans)))))
		kit.Serve(t, callee, plain{}, bus.RequireClaims("admin == true"))
		if err := w.Connect("caller.example").Call(t.Context(), "GET https://plain.example/function", nil,
			nil); bus.StatusOf(err) != http.StatusUnauthorized {
			t.Fatal(err)
		}
		got := spans.GetSpans()
		require.Len(t, got, 1)
		assert.Equal(t, "401", attributeOf(got[0], "http.response.status_code"))
	})
}

// TestObserve_ProcessProviders uses the providers of the process, and those that are set later.
func TestObserve_ProcessProviders(t *testing.T) { //nolint:paralleltest // sets the provider of the process
	b, spans := bustest.New(t), tracetest.NewInMemoryExporter()
	callee := b.Connect("plain.example", otelbus.Observe())
	kit.Serve(t, callee, plain{})
	otel.SetTracerProvider(tracesdk.NewTracerProvider(tracesdk.WithSyncer(spans)))
	require.NoError(t, b.Connect("caller.example").Call(t.Context(),
		"GET https://plain.example/function?status=200", nil, nil))
	if got := len(spans.GetSpans()); got != 1 {
		t.Errorf("%d spans, want 1", got)
	}
}

// TestTrace_Names holds that names of spans contain the route and nothing that has many values.
func TestTrace_Names(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		spans := tracetest.NewInMemoryExporter()
		traced := otelbus.Observe(otelbus.WithTracerProvider(tracesdk.NewTracerProvider(tracesdk.WithSyncer(spans))))
		callee := w.Connect(kit.CalculatorHost, traced)
		require.NoError(t, callee.Handle("*", "/sums/{x}/{rest+}", http.NotFoundHandler()))
		kit.Serve(t, callee, kit.Calculator{})
		caller := w.Connect("caller.example", traced)
		do := func(method, url string) {
			request := kit.MustRequest(t, url)
			request.Method = method
			response, err := caller.Do(request)
			require.NoError(t, err)
			response.Body.Close()
		}
		type sum struct {
			X int `json:"x"`
			Y int `json:"y"`
		}
		for _, test := range []struct {
			name                             string
			call                             func()
			client, template, server, method string
		}{
			{"a generated client", func() {
				_, err := bus.NewOperation[sum, struct{}](caller, "POST "+kit.CalculatorURL+"/add").Call(t.Context(), sum{X: 1})
				require.NoError(t, err)
			}, "POST /add", "/add", "POST /add", "POST"},
			{"one that puts arguments into the query", func() {
				_, err := bus.NewOperation[sum, struct{}](caller, "GET "+kit.CalculatorURL+"/add").Call(t.Context(), sum{X: 1})
				require.NoError(t, err)
			}, "GET /add", "/add", "GET /add", "GET"},
			{"a multicast", func() {
				for _, err := range bus.NewOperation[sum, struct{}](caller,
					kit.CalculatorURL+"/add").Multicast(t.Context(), sum{}) {
					require.NoError(t, err)
				}
			}, "POST /add", "/add", "POST /add", "POST"},
			{"an address with parameters", func() {
				_ = caller.Call(t.Context(), "PUT "+kit.CalculatorURL+"/sums/{x}/{rest+}", bus.Args{"x": 7, "rest": "a/b"}, nil)
			}, "PUT /sums/{x}/{rest+}", "/sums/{x}/{rest+}", "PUT /sums/{x}/{rest+}", "PUT"},
			{"an address without", func() {
				require.NoError(t, caller.Call(t.Context(), kit.CalculatorURL+"/add", bus.Args{"x": 1}, nil))
			}, "POST", "", "POST /add", "POST"},
			{"an HTTP request", func() { do("GET", kit.CalculatorURL+"/sums/1/2") }, "GET", "", "GET /sums/{x}/{rest+}", "GET"},
			{"another method", func() { do("BREW", kit.CalculatorURL+"/sums/1/2") }, "HTTP", "",
				"HTTP /sums/{x}/{rest+}", "_OTHER"},
		} {
			spans.Reset()
			test.call()
			ended := spans.GetSpans()
			require.Len(t, ended, 2, test.name)
			server, client := ended[0], ended[1]
			if server.SpanKind == trace.SpanKindClient {
				server, client = client, server
			}
			assert.Equal(t, test.client, client.Name, test.name)
			assert.Equal(t, test.template, attributeOf(client, "url.template"), test.name)
			assert.Equal(t, test.server, server.Name, test.name)
			assert.Equal(t, test.method, attributeOf(client, "http.request.method"), test.name)
			if test.method == "_OTHER" {
				assert.Equal(t, "BREW", attributeOf(client, "http.request.method_original"))
			}
		}
	})
}
