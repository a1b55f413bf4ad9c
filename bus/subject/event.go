package subject

import "strings"

// These tokens replace the port in the subjects of stored events.
const (
	eventPort   = "e"
	parkedPort  = "p"
	retriedPort = "a" // "again"
)

// Event returns the subject under which an event is stored: "bus.e.example.orders.on-ordered" for the host
// orders.example. The token is written by Escape, or "*" for all events of the host. The parts are not validated.
// Neither calls nor subscriptions for calls have such a subject, because it has no divider.
func Event(plane, host, token string) string {
	return strings.Join([]string{plane, eventPort, reverse(host), token}, ".")
}

// ParkedEvent returns the subject for an event that a service could not handle:
// "bus.p.example.orders.mailer_example.on-ordered". consumer is the token of the service, or "*".
func ParkedEvent(plane, host, consumer, token string) string {
	return strings.Join([]string{plane, parkedPort, reverse(host), consumer, token}, ".")
}

// RetriedEvent returns the subject for a parked event that is delivered again, to one service only:
// "bus.a.example.orders.mailer_example.on-ordered".
func RetriedEvent(plane, host, consumer, token string) string {
	return strings.Join([]string{plane, retriedPort, reverse(host), consumer, token}, ".")
}
