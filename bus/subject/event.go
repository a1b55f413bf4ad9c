package subject

import "strings"

// These tokens replace the port in the subjects of stored events.
const (
	eventPort      = "e"
	deadLetterPort = "d"
	retriedPort    = "a" // "again"
	laterPort      = "l"
)

// Event returns the subject under which an event is stored: "bus.e.example.orders.on-ordered.17" for the host
// orders.example. The token is written by Escape, or "*" for all events of the host; so is the partition, which is that
// of the event's key. The parts are not validated. Neither calls nor subscriptions for calls have such a subject,
// because it has no divider.
func Event(plane, host, token, partition string) string {
	return strings.Join([]string{plane, eventPort, reverse(host), token, partition}, ".")
}

// DeadLetter returns the subject for an event that a service could not handle:
// "bus.d.example.orders.mailer_example.on-ordered.17". consumer is the token of the service, or "*".
func DeadLetter(plane, host, consumer, token, partition string) string {
	return strings.Join([]string{plane, deadLetterPort, reverse(host), consumer, token, partition}, ".")
}

// RetriedEvent returns the subject for a dead letter that is delivered again, to one service only:
// "bus.a.example.orders.mailer_example.on-ordered.17".
func RetriedEvent(plane, host, consumer, token, partition string) string {
	return strings.Join([]string{plane, retriedPort, reverse(host), consumer, token, partition}, ".")
}

// LaterEvent returns the subject of an event that comes later: "bus.l.example.orders.on-ordered.<id>". id is the token
// of what JetStream knows it by, or "*".
func LaterEvent(plane, host, token, id string) string {
	return strings.Join([]string{plane, laterPort, reverse(host), token, id}, ".")
}
