package bustest

import (
	"reflect"
	"testing"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/restmap/openapi/compare"
)

// LockAPI compares the API of a service with a committed file, by convention testdata/<name>.api.json. A change that
// would break callers fails the test, with a sentence that names the change and the callers: an operation that is gone,
// an argument that is now required, a type that accepts less, a result that is gone, a stricter constraint, other
// claims, another path, an HTTP method less. A mere addition to the API passes, and is logged.
//
//	func TestAPI(t *testing.T) {
//		bustest.LockAPI[calculatorapi.Calculator](t, "testdata/calculator.api.json", calculatorsvc.Calculator{})
//	}
//
// It takes what [bus.Serve] takes, and needs no bus. The file is the document of [bus.OpenAPIOf], of all ports and with
// the claims. It does not lock undocumented endpoints, nor what [bus.NoQueue], [bus.MaxBodyBytes],
// [bus.TimeBudget] and [bus.Intercept] change. It is written with BUSLINE_UPDATE=1 in the environment, and with go test
// -update if the test binary has such a flag.
//
// [LockEvents] locks events, as their subscribers read what the publisher writes; LockAPI refuses them.
func LockAPI[T any](t testing.TB, path string, impl T, options ...bus.ServeOption) {
	t.Helper()
	if _, err := events.OpenAPIOf("service", impl, subscribeOptions(options)...); err == nil {
		t.Errorf("bustest: all methods of %v are events: lock them with bustest.LockEvents or, "+
			"if a service has such methods, with LockConn", reflect.TypeFor[T]())
		return
	}
	document, err := bus.OpenAPIOf("service", impl, options...)
	if err != nil {
		t.Errorf("bustest: %v", err)
		return
	}
	LockDocument(t, path, document)
}

// subscribeOptions returns those of the options that Subscribe accepts, too.
func subscribeOptions(options []bus.ServeOption) (both []events.SubscribeOption) {
	for _, option := range options {
		if option, ok := option.(events.SubscribeOption); ok {
			both = append(both, option)
		}
	}
	return both
}

// LockEvents is [LockAPI] for the events of a publisher, with reversed rules: the publisher writes the arguments, and
// each subscriber checks them by the interface that it was built with. An argument may be added, but not removed, nor
// allowed more values, and an event may not be removed.
//
//	func TestEvents(t *testing.T) {
//		bustest.LockEvents[ordersapi.Events](t, "testdata/events.api.json", new(ordersapi.Publisher), events.Durable())
//	}
//
// It takes what [events.Subscribe] takes, and needs no bus; impl may be the generated publisher. [events.Durable] says
// that the events are stored: then new subscribers must accept what was stored before, so that arguments may not be
// restricted, either, and the events have to remain stored. Subscribers' own options, such as claims, are not locked.
func LockEvents[T any](t testing.TB, path string, impl T, options ...events.SubscribeOption) {
	t.Helper()
	document, err := events.OpenAPIOf("source", impl, options...)
	if err != nil {
		t.Errorf("bustest: %v", err)
		return
	}
	lock{path, "events break", "subscriber", compare.Events}.check(t, document)
}

// LockConn is [LockAPI] for everything that a connection serves at the moment, with the options in use, and with plain
// handlers.
func LockConn(t testing.TB, path string, conn *bus.Conn) {
	t.Helper()
	document, err := conn.OpenAPI()
	if err != nil {
		t.Errorf("bustest: %v", err)
		return
	}
	LockDocument(t, path, document)
}

// LockDocument is [LockAPI] for an OpenAPI document, of a service or of the portal, that the test already has.
func LockDocument(t testing.TB, path string, document []byte) {
	t.Helper()
	lock{path, "API breaks", "caller", compare.Documents}.check(t, document)
}
