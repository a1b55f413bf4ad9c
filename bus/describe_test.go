package bus_test

import (
	"strings"
	"testing"

	"github.com/busline/busline/bus"
)

// TestDocument_OfRefusesWhatServeRefuses holds that a document is not of a service that could not start.
func TestDocument_OfRefusesWhatServeRefuses(t *testing.T) {
	t.Parallel()
	conn := newBus(t).Connect("twins.example")
	for name, option := range map[string]bus.ServeOption{
		"port 0":     bus.Port(0),
		"port 417":   bus.Port(417),
		"port 888":   bus.Port(888),
		"body limit": bus.MaxBodyBytes(-1),
		"HEAD":       bus.Method("Two", bus.HTTPMethod("HEAD")),
		"a conflict": bus.Method("Two", bus.Path("/one")),
		"documents":  bus.Method("Two", bus.Path("/openapi.json"), bus.HTTPMethod("GET")),
		"claims":     bus.RequireClaims("level >"),
		"two claims": bus.Method("Two", bus.RequireClaims("a"), bus.RequireClaims("b")),
		"no option":  nil,
	} {
		served := bus.Serve(conn, twins{}, option)
		_, described := bus.OpenAPIOf("twins.example", twins{}, option)
		if served == nil || described == nil {
			t.Errorf("%s: served %v, described %v", name, served, described)
			continue
		}
		_, why, found := strings.Cut(served.Error(), " on twins.example: ")
		if !found || !strings.HasSuffix(described.Error(), why) {
			t.Errorf("%s: described %v, served %v", name, described, served)
		}
	}
	if _, err := bus.OpenAPIOf("not a host", twins{}); err == nil || !strings.Contains(err.Error(), "not a host") {
		t.Errorf("a bad host: %v", err)
	}
}

// TestDocument_OfEventsRefusesWhatSubscribeRefuses holds that a document is not of events that nobody could handle.
func TestDocument_OfEventsRefusesWhatSubscribeRefuses(t *testing.T) {
	t.Parallel()
	conn := newBus(t).Connect("twins.example")
	for name, test := range map[string]struct {
		source string
		impl   any
		option bus.SubscribeOption
	}{
		"no events":  {"source.example", twins{}, bus.TimeBudget(0)},
		"a bad host": {"not a host", happening{}, bus.TimeBudget(0)},
		"port":       {"source.example", happening{}, bus.Method("OnDone", bus.Port(444))},
		"body limit": {"source.example", happening{}, bus.MaxBodyBytes(-1)},
		"no option":  {"source.example", happening{}, nil},
	} {
		subscribed := bus.Subscribe(conn, test.source, test.impl, test.option)
		_, described := bus.EventsOpenAPIOf(test.source, test.impl, test.option)
		if subscribed == nil || described == nil {
			t.Errorf("%s: subscribed %v, described %v", name, subscribed, described)
			continue
		}
		_, why, found := strings.Cut(subscribed.Error(), "to the events of "+test.source+": ")
		if !found || !strings.HasSuffix(described.Error(), why) {
			t.Errorf("%s: described %v, subscribed %v", name, described, subscribed)
		}
	}
	document, err := bus.EventsOpenAPIOf("source.example", happening{}, bus.Durable())
	for _, want := range []string{`"/source.example:417/on-done":{"post":`, `"x-stored":true`} {
		if !strings.Contains(string(document), want) {
			t.Errorf("%s is not in %s, %v", want, document, err)
		}
	}
}

type happening struct{}

func (happening) OnDone() error { return nil }
