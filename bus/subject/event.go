package subject

import "strings"

// What stands in the place of a port in the subjects of events that are stored.
const (
	eventPort  = "e"
	parkedPort = "p"
)

// Event joins the elements of the subject that an event is stored under, unchecked: "bus.e.example.orders.on-ordered" of
// the host orders.example. The token is written by Escape, or "*" for all events of the host. No call and no subscription
// for calls has such a subject, for it has no divider.
func Event(plane, host, token string) string {
	return strings.Join([]string{plane, eventPort, reverse(host), token}, ".")
}

// ParkedEvent does so for an event that a service could not handle: "bus.p.example.orders.mailer_example.on-ordered". The
// consumer is a token that stands for the service, or "*".
func ParkedEvent(plane, host, consumer, token string) string {
	return strings.Join([]string{plane, parkedPort, reverse(host), consumer, token}, ".")
}
