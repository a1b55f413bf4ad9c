// Package eventlog operates stored events, for tools and operators: it describes the log of a publisher and its
// subscriptions, reads the log, sets a subscription back, forgets one, and redelivers or deletes dead letters.
//
//	for event, err := range eventlog.Tail(ctx, conn, "orders.example", eventlog.Since(yesterday), eventlog.NoFollow()) {
//		…
//	}
//
// All functions work in JetStream, for which the user of the connection needs permissions that services do not have:
// see docs/guides/events.md. They are not methods of bus.Conn, so that a service does not link them. They are safe for
// concurrent use.
//
// Every error is a [bus.Error] that was not executed, except where a function says otherwise: 400 for an argument that
// is wrong, 403 if the broker denies a subject, 404 for a publisher, a service or an event that is not there, with the
// name that was probably meant, 503 without JetStream, 504 without an answer.
package eventlog
