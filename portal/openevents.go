package portal

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/busline/busline/bus/subject"
)

// openEvents are the events that clients outside may listen to: "orders.example/on-ordered", "orders.example/*" for all of a publisher, "*" for all
// of the bus.
type openEvents []string

// check returns an error for what names no events.
func (o openEvents) check() error {
	if o != nil && len(o) == 0 {
		return errors.New(`portal.WithEvents names no events: name each, as in "orders.example/on-ordered", all of a publisher, "orders.example/*", or "*" for all`)
	}
	for _, each := range o {
		publisher, event, found := strings.Cut(each, "/")
		valid := each == "*" || found && event != "" && subject.CheckHost(publisher) == nil && (event == "*" || !strings.Contains(event, "*"))
		if !valid {
			return fmt.Errorf(`portal.WithEvents: %q names no events: write "orders.example/on-ordered", "orders.example/*" for all of a publisher, or "*" for all`, each)
		}
	}
	return nil
}

// has reports whether an event is open.
func (o openEvents) has(publisher, event string) bool {
	return slices.Contains(o, "*") || slices.Contains(o, publisher+"/*") || slices.Contains(o, publisher+"/"+event)
}
