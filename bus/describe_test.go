package bus_test

import (
	"strings"
	"testing"

	"github.com/busline/busline/bus"
)

// TestDocumentOfRefusesWhatServeRefuses holds that a document is not of a service that could not start.
func TestDocumentOfRefusesWhatServeRefuses(t *testing.T) {
	t.Parallel()
	conn := newBus(t).Connect("twins.example")
	for name, option := range map[string]bus.ServeOption{
		"port 0":     bus.Port(0),
		"port 417":   bus.Port(bus.EventPort),
		"port 888":   bus.Port(888),
		"body limit": bus.BodyLimit(-1),
		"HEAD":       bus.Method("Two", bus.HTTPMethod("HEAD")),
		"a conflict": bus.Method("Two", bus.Path("/one")),
		"documents":  bus.Method("Two", bus.Path("/openapi.json"), bus.HTTPMethod("GET")),
		"durable":    bus.Durable(),
		"claims":     bus.Claims("level >"),
		"no option":  nil,
	} {
		served := bus.Serve(conn, twins{}, option)
		_, described := bus.DocumentOf("twins.example", twins{}, option)
		if served == nil || described == nil {
			t.Errorf("%s: served %v, described %v", name, served, described)
			continue
		}
		_, why, found := strings.Cut(served.Error(), " on twins.example: ")
		if !found || !strings.HasSuffix(described.Error(), why) {
			t.Errorf("%s: described %v, served %v", name, described, served)
		}
	}
	if _, err := bus.DocumentOf("not a host", twins{}); err == nil || !strings.Contains(err.Error(), "not a host") {
		t.Errorf("a bad host: %v", err)
	}
}
