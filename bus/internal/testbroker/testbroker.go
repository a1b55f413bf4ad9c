// Package testbroker has what only tests ask of a broker in the process. It is internal: a program that names two brokers means both,
// while the broker of a test gives way to another one.
package testbroker

import (
	"context"

	"github.com/nats-io/nats.go"
)

// Broker is the broker of a test. It gives way to another one that the code under test asks for.
type Broker struct {
	nats.InProcessConnProvider

	// ReportDifference, if it is not nil, gets every difference between a call that stays in the process and what the broker
	// would have carried: an error that names the call, the part (request, ack or response), and both values. Every such call of
	// the connection is also written as text and read again; the handler runs once, and the call itself is not affected. It is
	// called before the call returns, and must be safe for concurrent use.
	ReportDifference func(difference error)
}

// Quiet is a broker that can tell when no message is on its way, as one in a testing/synctest bubble can. Closing a connection then
// waits for such a moment to unsubscribe, instead of draining: to drain, nats.go uses timers that it shares with the whole process,
// and a timer must not leave its bubble.
type Quiet interface {
	nats.InProcessConnProvider
	// AwaitQuiet returns nil at a moment at which no message is on its way to or from any client, and none leaves
	// before the goroutine that called it waits for something. The error says why there was no such moment while ctx
	// lasted.
	AwaitQuiet(ctx context.Context) error
}
