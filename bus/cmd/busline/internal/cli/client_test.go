package cli_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/examples/orders/ordersapi"
)

// TestTypeScriptClient prints clients of hosts, of all without a portal, and of all with one.
func TestTypeScriptClient(t *testing.T) {
	t.Parallel()
	const calculator, orders, ordered = "  readonly calculator: Calculator;\n", "  readonly orders: Orders;\n",
		"ordered(options?: EventOptions): AsyncGenerator<EventOf<OrdersOrdered>, void, undefined>;\n"
	e := newTerminal(t)
	e.serveCalculator()
	e.serve(ordersapi.Host, func(conn *bus.Conn) error { // it has nothing but events
		_, err := ordersapi.NewPublisher(conn)
		return err
	})
	e.serve("mailer.example", func(conn *bus.Conn) error {
		return events.Subscribe[ordersapi.Events](conn, ordersapi.Host, orderReader{})
	})
	got := e.busline(0, "client", "ts", "calculator.example")
	assert.Empty(t, got.stderr)
	assert.Contains(t, got.stdout, calculator)
	assert.NotContains(t, got.stdout, orders)
	assert.Contains(t, got.stdout, "  sum: number;\n")
	assert.Contains(t, got.stdout, "options.baseUrl ?? 'http://127.0.0.1:8080'")

	both := e.busline(0, "client", "ts", "--int64", "bigint", "--base-url", "https://api.example.com/", ordersapi.Host,
		"calculator.example:443").stdout
	for _, want := range []string{calculator, orders, ordered, "  sum: bigint;\n", "?? 'https://api.example.com'"} {
		assert.Contains(t, both, want)
	}
	together := e.busline(0, "client", "ts").stdout
	e.servePortal()
	for _, all := range []string{together, e.busline(0, "client", "ts").stdout} {
		for _, want := range []string{calculator, orders, ordered} {
			assert.Contains(t, all, want)
		}
	}
}

func TestTypeScriptClient_Refuses(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	e.serveCalculator()
	e.serve("hidden.example", func(conn *bus.Conn) error {
		return bus.Serve(conn, hidden{}, bus.Undocumented())
	})
	e.serve("mailer.example", func(conn *bus.Conn) error {
		return events.Subscribe[ordersapi.Events](conn, ordersapi.Host, orderReader{})
	})
	for _, test := range []struct {
		status int
		want   string
		args   []string
	}{
		{3, "no instance serves calculater.example in plane " + e.bus.Plane() + "; did you mean calculator.example?",
			[]string{"calculater.example"}},
		{1, "hidden.example has no document (seen without a token): give the --token of a caller whom it shows more, " +
			"or serve it without bus.Undocumented", []string{"calculator.example", "hidden.example"}},
		{1, "mailer.example has no document, as it serves nothing: it only calls, or subscribes to events",
			[]string{"mailer.example"}},
		{2, `--int64 is "float": choose number, bigint or string`, []string{"--int64", "float"}},
		{2, "--base-url: ", []string{"--base-url", "nowhere"}},
		{2, "calculator.example/add: a document is for a whole host", []string{"calculator.example/add"}},
	} {
		e.refuses(test.status, test.want, append([]string{"client", "ts"}, test.args...)...)
	}
	e.refuses(2, "there is no command rust", "client", "rust")
}

// hidden is a service that no document shows.
type hidden struct{}

// Ping does nothing.
func (hidden) Ping() {}
