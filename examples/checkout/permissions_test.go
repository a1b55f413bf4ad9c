package main_test

import (
	"context"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/examples/calculator/calculatorapi"
	"github.com/busline/busline/examples/calculator/calculatorsvc"
	"github.com/busline/busline/examples/checkout/checkoutapi"
	"github.com/busline/busline/examples/checkout/checkoutsvc"
	"github.com/busline/busline/examples/internal/exampletest"
	"github.com/busline/busline/examples/products/productapi"
	"github.com/busline/busline/examples/products/productsvc"
)

var update = flag.Bool("update", false, "write the block of permissions in docs/guides/permissions.md")

const permissionsPage = "../../docs/guides/permissions.md"

// permissionsOf returns what the user of the checkout needs. It calls two hosts, which do not have to be there.
func permissionsOf(t *testing.T, options ...bus.ConnectOption) bus.Permissions {
	t.Helper()
	conn := bustest.New(t).Connect(checkoutapi.Host, append(options, bus.WithPlane("bus"))...)
	service := checkoutsvc.New(productapi.NewClient(conn), calculatorapi.NewClient(conn))
	if err := bus.Serve[checkoutapi.Checkout](conn, service); err != nil {
		t.Fatal(err)
	}
	granted, err := conn.Permissions(productapi.Host, calculatorapi.Host)
	if err != nil {
		t.Fatal(err)
	}
	return granted
}

// TestPermissions_Page holds the block in the documentation to what is printed.
func TestPermissions_Page(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(permissionsPage)
	if err != nil {
		t.Fatal(err)
	}
	const opening = "<!-- printed by examples/checkout -->\n```\n"
	before, rest, found := strings.Cut(string(page), opening)
	_, after, closed := strings.Cut(rest, "```\n")
	if !found || !closed {
		t.Fatalf("%s has no block after %q", permissionsPage, opening)
	}
	want := before + opening + permissionsOf(t, bus.WithAllowResponses()).String() + "```\n" + after
	if want == string(page) {
		return
	}
	if !*update {
		t.Fatalf("the block in %s is not what is printed; run go test ./examples/checkout -update", permissionsPage)
	}
	if err := os.WriteFile(permissionsPage, []byte(want), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestPermissions_OfCheckout runs the program with the printed block; whom it calls may do more, within their domain.
func TestPermissions_OfCheckout(t *testing.T) {
	t.Parallel()
	const byDomain = `permissions { subscribe { allow: ["*.*.example.>", "*.888.all.|.>", "_INBOX.>"] } }`
	embedded, err := broker.Start(broker.Listen("127.0.0.1:0"), broker.Config(`authorization { users: [
		{ user: "checkout", password: "secret", `+permissionsOf(t).String()+` }
		{ user: "example", password: "secret", `+byDomain+` }
	] }`))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(embedded.Close)
	as := func(user string) string { return strings.Replace(embedded.URL(), "://", "://"+user+":secret@", 1) }
	connect := func(host string) *bus.Conn {
		conn, err := bus.Connect(t.Context(), host, bus.WithURL(as("example")), bus.WithPlane("bus"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close(context.Background()) })
		return conn
	}
	if err := calculatorsvc.Serve(connect(calculatorapi.Host)); err != nil {
		t.Fatal(err)
	}
	shop := connect(productapi.Host)
	store, err := productsvc.OpenStore(t.Context(), shop)
	if err != nil {
		t.Fatal(err)
	}
	if err := productsvc.Serve(shop, store); err != nil {
		t.Fatal(err)
	}
	program := exampletest.Start(t, exampletest.Build(t, "."), "BUS_NATS_URL="+as("checkout"), "BUS_PLANE=bus")
	program.Await("checkout.example is on the bus")
	caller := connect("caller.example")
	if _, _, err := productapi.NewClient(caller).Create(t.Context(),
		productapi.Product{Name: "Tea", Price: 4.5}); err != nil {
		t.Fatal(err)
	}
	checkout := exampletest.Open(t, caller, "https://"+checkoutapi.Host)
	checkout.Check("POST /total", `{"items":[{"product":1,"quantity":3}]}`, 200, `{"cents":1350}`)
	checkout.Check("POST /total", `{"items":[{"product":7,"quantity":1}]}`, 404, "no product has the id 7")
	program.Stop()
}
