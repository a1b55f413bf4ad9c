package cli_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/examples/orders/ordersapi"
	"github.com/busline/busline/restmap/asyncapi"
)

type orderReader struct{}

func (orderReader) OnOrdered(context.Context, int, string, int) error { return nil }

// TestAsyncAPI prints the document of one host, and that of all, with and without a portal.
func TestAsyncAPI(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	e.serve(ordersapi.Host, func(conn *bus.Conn) error {
		_, err := ordersapi.NewPublisher(conn)
		return err
	})
	e.serve("mailer.example", func(conn *bus.Conn) error {
		return events.Subscribe[ordersapi.Events](conn, ordersapi.Host, orderReader{})
	})
	e.serveCalculator()
	parsed := func(arguments ...string) *asyncapi.Document {
		got := e.busline(0, append([]string{"asyncapi"}, arguments...)...)
		assert.Empty(t, got.stderr)
		document, err := asyncapi.Parse([]byte(got.stdout))
		require.NoError(t, err)
		return document
	}
	one := parsed(ordersapi.Host)
	assert.Equal(t, ordersapi.Host, one.Info.Title)
	assert.Len(t, one.Operations, 1)
	together := parsed()
	assert.Len(t, together.Operations, 2)
	e.servePortal()
	aggregated := parsed()
	assert.Equal(t, together.Operations, aggregated.Operations)
	assert.Equal(t, together.Channels, aggregated.Channels)
	e.refuses(1, "calculator.example: port 888 has no document", "asyncapi", "calculator.example")
	e.refuses(3, "no instance serves order.example in plane ", "asyncapi", "order.example")
}
