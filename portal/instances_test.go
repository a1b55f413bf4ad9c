package portal_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/portal"
)

// instances requests the running instances.
func (d *testIngress) instances(headers ...string) (plane string, hosts map[string][]struct {
	ID, Version string
	Ports       []int
}) {
	d.t.Helper()
	got := d.get("/portal/instances.json", headers...)
	if kept := got.Header.Get("Cache-Control"); got.StatusCode != http.StatusOK || kept != "private, no-store" {
		d.t.Fatalf("status %d, Cache-Control %q: %s", got.StatusCode, kept, got.text)
	}
	var list struct {
		Plane string
		Hosts map[string][]struct {
			ID, Version string
			Ports       []int
		}
	}
	got.decode(d.t, &list)
	return list.Plane, list.Hosts
}

func TestInstances(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	door := openFor(t, i)
	if err := portal.Register(door.bus.Connect("portal", i.Trust()), patient()...); err != nil {
		t.Fatal(err)
	}
	door.calculate("calculator.example")
	door.calculate("calculator.example")
	door.calculate("internal.example", bus.Port(444))
	door.calculate("hidden.example", bus.Undocumented())
	both := door.bus.Connect("both.example", bus.WithVersion("7"))
	if err := bus.Serve(both, calculator{}); err != nil {
		t.Fatal(err)
	}
	if err := both.Handle("GET", "/x", http.HandlerFunc(echo), bus.Port(444)); err != nil {
		t.Fatal(err)
	}
	secret := door.bus.Connect("secret.example", i.Trust())
	if err := bus.Serve(secret, calculator{}, bus.RequireClaims(`"keeper" in roles`)); err != nil {
		t.Fatal(err)
	}
	plane, hosts := door.instances()
	if plane != door.bus.Plane() || len(hosts) != 2 || len(hosts["calculator.example"]) != 2 || len(hosts["both.example"]) != 1 {
		t.Errorf("plane %s with %v", plane, hosts)
	}
	if one := hosts["both.example"][0]; one.ID != both.ID() || one.Version != "7" || fmt.Sprint(one.Ports) != "[443]" {
		t.Errorf("%+v", one)
	}
	if two := hosts["calculator.example"]; two[0].ID >= two[1].ID {
		t.Errorf("not sorted: %v", two)
	}
	if _, hosts := door.instances(i.in("keeper")); len(hosts["secret.example"]) != 1 {
		t.Errorf("a keeper sees %v", hosts)
	}
	if got := door.get("/portal/instances.json", i.bearer(claims.Claims{"exp": 1})); got.StatusCode != 401 {
		t.Errorf("a token that has expired: status %d", got.StatusCode)
	}
}
