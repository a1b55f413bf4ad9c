// Package testbroker extends a broker in the process for tests. It is internal, because the broker of a test gives way
// to another one that the code under test passes to bus.Connect; two brokers of a program are an error.
package testbroker

import (
	"context"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// Broker is the broker of a test. It gives way to another one that the code under test asks for.
type Broker struct {
	nats.InProcessConnProvider

	// ReportDifference, if it is not nil, is called with every difference between a call that stays in the process and
	// what the broker would have carried: an error that names the call, the part (request, ack or response), and both
	// values. Every such call of the connection is then also written as text and parsed again; the handler runs once, and
	// the call itself is not affected. ReportDifference is called before the call returns, and must be safe for concurrent
	// use.
	ReportDifference func(difference error)

	// CheckResponse, if it is not nil, is called with every response of a function endpoint that the documents show,
	// before the caller gets it. Results that stay in the process as Go values are also written as text for it. It must be
	// safe for concurrent use.
	CheckResponse func(*Response)

	// Strict has services refuse unknown arguments, as bus.DisallowUnknownFields does.
	Strict bool

	// Shared is where the connections of the bus keep what they know of each other.
	Shared *sync.Map
}

// Response is a response of a function endpoint.
type Response struct {
	Endpoint string // as in "Shop.Order (POST /order on shop.example)"
	Key      any    // identifies the endpoint

	// Document returns the OpenAPI document of a service that has this endpoint alone.
	Document func() ([]byte, error)

	Status      int
	ContentType string // "" if there is no body
	Body        []byte
}

// Quiet is a broker that can wait until no message is in transit, such as a broker in a testing/synctest bubble.
// Closing a connection then waits for such a moment to unsubscribe, and does not drain: nats.go drains with timers that
// it shares with the whole process, and a timer must not leave its bubble.
type Quiet interface {
	nats.InProcessConnProvider
	// AwaitQuiet returns nil at a moment at which no message is in transit to or from any client. No message is sent
	// before the calling goroutine blocks. If ctx ends before there is such a moment, the error is the reason.
	AwaitQuiet(ctx context.Context) error
}

// Seeded is a broker that decides the random pauses of its connections, so that a test can be repeated.
type Seeded interface {
	nats.InProcessConnProvider
	// Spread returns a duration below another one, and not below zero. It is safe for concurrent use.
	Spread(below time.Duration) time.Duration
}
