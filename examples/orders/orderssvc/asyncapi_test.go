package orderssvc_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"testing"

	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/examples/orders/ordersapi"
)

var update = flag.Bool("update", false, "write testdata/asyncapi.json")

// TestAsyncAPI holds the document of the events that orders.example publishes.
func TestAsyncAPI(t *testing.T) {
	t.Parallel()
	conn := bustest.New(t, broker.JetStream(t.TempDir())).Connect(ordersapi.Host)
	if _, err := ordersapi.NewPublisher(conn, events.Durable()); err != nil {
		t.Fatal(err)
	}
	document, err := events.AsyncAPI(conn)
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := json.Indent(&got, bytes.ReplaceAll(document, []byte(conn.Plane()+"."), []byte("bus.")), "",
		"  "); err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/asyncapi.json"
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("the document has changed: read it, and write it with -update\n%s", &got)
	}
}
