package ingress

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/portal/internal/outside"
)

// openEvents are the events that clients outside may listen to: "orders.example/on-ordered", "orders.example/*" for all
// of a publisher, "*" for all of the bus.
type openEvents []string

// check returns an error for what names no events.
func (o openEvents) check() error {
	if o != nil && len(o) == 0 {
		return errors.New(`ingress.WithEvents names no events: name each, as in "orders.example/on-ordered", all of a publisher, "orders.example/*", or "*" for all`)
	}
	for _, each := range o {
		publisher, event, _ := strings.Cut(each, "/")
		if each != "*" && (!isPublisher(publisher) || event != "*" && !isEventName(event)) {
			return fmt.Errorf(`ingress.WithEvents: %q names no events: write "orders.example/on-ordered", "orders.example/*" for all of a publisher, or "*" for all`, each)
		}
	}
	return nil
}

func isPublisher(host string) bool { return host != outside.HostAll && subject.CheckHost(host) == nil }

// isEventName reports whether a path that is called can be this event, which has no wildcard.
func isEventName(event string) bool {
	return event != "" && event[0] != '/' && !strings.Contains(event, "*") && strings.IndexFunc(event, outside.IsStray) < 0
}

// has reports whether an event is open.
func (o openEvents) has(publisher, event string) bool {
	return slices.Contains(o, "*") || slices.Contains(o, publisher+"/*") || slices.Contains(o, publisher+"/"+event)
}

// hasAllOf reports whether all events of a publisher are open.
func (o openEvents) hasAllOf(publisher string) bool { return o.has(publisher, "*") }

// errNotOpen is the error for an event that clients outside may not listen to. It does not say whether there is such an
// event.
func errNotOpen(publisher, event string) error {
	return bus.Errorf(http.StatusNotFound, "the event %.80s of %s is not open to the outside", event, publisher)
}
