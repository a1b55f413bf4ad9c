package events_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/bus/test/kit"
	"github.com/busline/busline/restmap/asyncapi"
)

var update = flag.Bool("update", false, "write testdata/asyncapi.json")

// TestAsyncAPI_Golden describes a host that publishes events, also of an interface that is not known, and subscribes to
// others.
func TestAsyncAPI_Golden(t *testing.T) {
	t.Parallel()
	b := kit.NewBus(t, broker.JetStream(t.TempDir()))
	conn := b.Connect(parcelsHost, bus.WithVersion("2"))
	newParcels(t, conn, events.Durable(), bus.RequireClaims(kit.Keepers))
	unknown, err := events.NewPublisher(conn, "returns.example")
	require.NoError(t, err)
	events.NewEvent[bus.Args](unknown, "/on-returned")
	require.NoError(t, events.Subscribe[parcelEvents](conn, parcelsHost, parcelSink{}, events.Durable()))
	kit.Subscribe(t, conn, kit.NewSink())
	own, err := events.AsyncAPI(conn)
	require.NoError(t, err)
	var text bytes.Buffer
	require.NoError(t, json.Indent(&text, bytes.ReplaceAll(own, []byte(conn.Plane()+"."), []byte("bus.")), "", "  "))
	text.WriteByte('\n')
	const golden = "testdata/asyncapi.json"
	if *update {
		require.NoError(t, os.WriteFile(golden, text.Bytes(), 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), text.String(),
		"write it with go test ./bus/events -run AsyncAPI -update, and read the difference")

	var published json.RawMessage
	caller := b.Connect("caller.example")
	require.NoError(t, caller.Call(t.Context(), "GET https://parcels.example:888/asyncapi.json", nil, &published))
	seen, err := asyncapi.Parse(published)
	require.NoError(t, err)
	assert.NotContains(t, string(published), "x-claims")
	assert.NotContains(t, string(published), "parcels.example_send_parcels.example", "only keepers see what is published")
	assert.Len(t, seen.Operations, 5)
	parsed, err := asyncapi.Parse(own)
	require.NoError(t, err)
	assert.Len(t, parsed.Operations, 7)
}

// TestAsyncAPI_Absent has no document of a connection without events.
func TestAsyncAPI_Absent(t *testing.T) {
	t.Parallel()
	b := kit.NewBus(t)
	conn := b.Connect("calculator.example")
	kit.Serve(t, conn, kit.Calculator{ID: conn.ID()})
	err := b.Connect("caller.example").Call(t.Context(), "GET https://calculator.example:888/asyncapi.json", nil, nil)
	kit.CheckError(t, err, http.StatusNotFound, bus.ExecutedNo)
	document, err := events.AsyncAPI(conn)
	require.NoError(t, err)
	assert.JSONEq(t,
		`{"asyncapi":"3.0.0","info":{"title":"calculator.example","version":"0","description":"The events of calculator.example."},
		"defaultContentType":"application/json","channels":{},"operations":{}}`, string(document))
}

// TestAsyncAPI_Servers names the broker without its logins.
func TestAsyncAPI_Servers(t *testing.T) {
	t.Parallel()
	e := kit.NewEnforcing(t, map[string]string{kit.OrdersHost: ""})
	document, err := events.AsyncAPI(e.Connect(kit.OrdersHost))
	require.NoError(t, err)
	assert.NotContains(t, string(document), "secret")
	parsed, err := asyncapi.Parse(document)
	require.NoError(t, err)
	assert.Equal(t, map[string]*asyncapi.Server{"nats": {Host: strings.TrimPrefix(e.URL.Host, "nats://"),
		Protocol: "nats"}}, parsed.Servers)
}
