package waterfall_test

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"

	tracesdk "go.opentelemetry.io/otel/sdk/trace"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/otelbus"
	"github.com/busline/busline/examples/calculator/calculatorapi"
	"github.com/busline/busline/examples/calculator/calculatorsvc"
	"github.com/busline/busline/examples/checkout/checkoutapi"
	"github.com/busline/busline/examples/checkout/checkoutsvc"
	"github.com/busline/busline/examples/internal/waterfall"
	"github.com/busline/busline/examples/products/productapi"
	"github.com/busline/busline/examples/products/productsvc"
)

// TestThreeServices prints a call that goes from one service to two others.
func TestThreeServices(t *testing.T) {
	t.Parallel()
	var printed strings.Builder
	provider := tracesdk.NewTracerProvider(tracesdk.WithSyncer(waterfall.New(&printed)))
	traced := otelbus.Observe(otelbus.WithTracerProvider(provider))
	b := bustest.New(t)
	connect := func(host string) *bus.Conn { return b.Connect(host, traced) }
	checkout, shop := connect(checkoutapi.Host), connect(productapi.Host)
	store, err := productsvc.OpenStore(t.Context(), shop)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		calculatorsvc.Serve(connect(calculatorapi.Host)),
		productsvc.Serve(shop, store),
		bus.Serve[checkoutapi.Checkout](checkout, checkoutsvc.New(productapi.NewClient(checkout),
			calculatorapi.NewClient(checkout))),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	caller := connect("shop.example")
	id, _, err := productapi.NewClient(caller).Create(t.Context(), productapi.Product{Name: "Tea", Price: 4.5})
	if err != nil {
		t.Fatal(err)
	}
	printed.Reset()
	if _, err := checkoutapi.NewClient(caller).Total(t.Context(),
		[]checkoutapi.Item{{Product: id, Quantity: 2}}); err != nil {
		t.Fatal(err)
	}
	const line = ` +-?[0-9.]+ +\+[0-9.]+ ms  `
	want := `^trace [0-9a-f]{32}
` + line + `shop\.example → checkout\.example  POST /total  200
` + line + `  [a-z0-9]{10}\.checkout\.example  POST /total  200
(` + line + `    checkout\.example → (products|calculator)\.example  [A-Z]+ /[a-z0-9/]+  200
` + line + `      [a-z0-9]{10}\.(products|calculator)\.example  [A-Z]+ /[a-z{}/]+  200
)+$`
	if got := printed.String(); !regexp.MustCompile(want).MatchString(got) || !strings.Contains(got, "calculator") ||
		!strings.Contains(got, "products") {
		t.Errorf("printed\n%s", got)
	}
}

// TestBounded prints nothing of what has not ended, forgets the oldest, and says when it cannot write.
func TestBounded(t *testing.T) {
	t.Parallel()
	exporter := waterfall.New(failing{})
	tracer := tracesdk.NewTracerProvider(tracesdk.WithSyncer(exporter)).Tracer("test")
	for range 1100 {
		ctx, _ := tracer.Start(t.Context(), "never ends")
		_, span := tracer.Start(ctx, "ends")
		span.End()
	}
	recorder := new(recorder)
	_, span := tracesdk.NewTracerProvider(tracesdk.WithSpanProcessor(recorder)).Tracer("test").Start(t.Context(),
		"begins and ends")
	span.End()
	if err := exporter.ExportSpans(t.Context(), recorder.ended); !errors.Is(err, errFailing) {
		t.Errorf("%d spans: %v", len(recorder.ended), err)
	}
	if err := exporter.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

var errFailing = errors.New("the disk is full")

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errFailing }

// recorder keeps spans that have ended.
type recorder struct {
	tracesdk.SpanProcessor
	ended []tracesdk.ReadOnlySpan
}

func (r *recorder) OnStart(_ context.Context, _ tracesdk.ReadWriteSpan) {}
func (r *recorder) OnEnd(span tracesdk.ReadOnlySpan)                    { r.ended = append(r.ended, span) }
