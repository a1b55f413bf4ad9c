package bus_test

import (
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"github.com/busline/busline/bus"
)

// TestServiceVersions has package micro say whether a version is one.
func TestServiceVersions(t *testing.T) {
	t.Parallel()
	raw := rawClient(t, &world{Bus: newBus(t)})
	for version, want := range map[string]string{
		"": "0.0.0", "1": "1.0.0", "v1": "1.0.0", "1.2": "1.2.0", "1.2.3": "1.2.3", "v1.2.3-rc.1+b.007": "1.2.3-rc.1+b.007",
		"1-beta": "1.0.0-beta", "0": "0.0.0", "10.20.30--1-": "10.20.30--1-", "1+2026-11-22": "1.0.0+2026-11-22",
		"latest": "0.0.0", "1.2.3.4": "0.0.0", "01": "0.0.0", "1.02.3": "0.0.0", "1.": "0.0.0", ".1": "0.0.0", "1..2": "0.0.0", "vv1": "0.0.0",
		"1.2.3-": "0.0.0", "1.2.3-a..b": "0.0.0", "1.2.3-01": "0.0.0", "1.2.3-0a": "1.2.3-0a", "1.2.3+": "0.0.0", "1.2.3+ä": "0.0.0", "-1": "0.0.0",
		"1.2.3 4": "0.0.0", "2024.11.05": "0.0.0", "٣.1.1": "0.0.0",
	} {
		if got := bus.SemanticVersion(version); got != want {
			t.Errorf("%q is %q, want %q", version, got, want)
		}
		accepts(t, raw, "name", bus.SemanticVersion(version))
	}
}

func TestServiceNames(t *testing.T) {
	t.Parallel()
	raw := rawClient(t, &world{Bus: newBus(t)})
	if got := bus.ServiceName("a-1.b.example"); got != "a-1-b-example" {
		t.Errorf("the host is %q", got)
	}
	accepts(t, raw, bus.ServiceName("a-1.b.example"), "1.0.0")
	for name, want := range map[string]string{
		"Calculator.Add": "Calculator-Add", "GET /files/{path+}": "GET-files-path", "GET /openapi.json": "GET-openapi-json",
		"* /a_b/ü": "a_b", "* /": "any", "": "any", "GET /": "GET",
	} {
		if got := bus.EndpointName(name); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
		accepts(t, raw, bus.EndpointName(name), "1.0.0")
	}
}

// accepts has package micro look at a name and a version.
func accepts(t *testing.T, raw *nats.Conn, name, version string) {
	t.Helper()
	service, err := micro.AddService(raw, micro.Config{Name: name, Version: version})
	if err != nil {
		t.Errorf("%q %q: %v", name, version, err)
		return
	}
	if err := service.Stop(); err != nil {
		t.Error(err)
	}
}
