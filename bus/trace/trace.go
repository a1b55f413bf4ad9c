// Package trace shows the calls of a trace without a collector. Each instance that turns it on remembers its own calls
// that have ended, the latest ones, in memory of a fixed size:
//
//	conn, err := bus.Connect(ctx, "shop.example", trace.Record())
//
// [Gather] asks all instances for the calls of one trace, and puts these together. Nothing is sent while no client
// asks.
//
// A call belongs to the trace that the field Traceparent of its request names (W3C Trace Context). A call without it
// begins a trace, whose id is made of its message id. Record adds the field to the calls that a handler makes, with a
// span id of their own. It does not change one that a program or OpenTelemetry has set.
package trace

import (
	"errors"
	"fmt"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/internal/feature"
	"github.com/busline/busline/bus/operators"
)

// Limits of the memory for calls.
const (
	defaultBytes = 256 << 10
	minBytes     = 16 << 10
	maxBytes     = 1 << 30
)

// Option is an option of [Record].
type Option func(*config)

type config struct {
	bytes     int
	operators *string // nil for those of BUS_OPERATORS
}

// Bytes sets how much memory a connection has for its calls: 16 KiB to 1 GiB. A call takes about 200 bytes. A quarter
// is for calls that have failed or were slow, which thereby stay longer. Default: 256 KiB.
func Bytes(n int) Option { return func(c *config) { c.bytes = n } }

// Operators says which callers may see the calls. The rule is an expression on claims as in [bus.RequireClaims]; "" or
// * allows it to every caller. Default: BUS_OPERATORS; else every caller on the bus, or none if the connection has keys
// for tokens (see BUS_JWKS).
func Operators(rule string) Option { return func(c *config) { c.operators = &rule } }

// Record returns an option of [bus.Connect] with which the connection remembers the calls that it makes and serves, and
// answers [Gather]. It may be used for several connections. Calls to port 888 are not remembered; no body, header
// field, query or token is. An invalid option is an error of Connect.
func Record(options ...Option) bus.ConnectOption {
	option, _ := feature.Bus.Recording(func() (feature.Recorder, error) {
		c := config{bytes: defaultBytes, operators: operators.FromEnvironment()}
		for i, option := range options {
			if option == nil {
				return nil, fmt.Errorf("trace.Record: %w", feature.NoOption(i))
			}
			option(&c)
		}
		rule, err := operators.New("trace.Operators", c.operators)
		return newRecorder(&c, rule), errors.Join(err, c.check())
	}).(bus.ConnectOption)
	return option
}

func (c *config) check() error {
	if c.bytes < minBytes || c.bytes > maxBytes {
		return fmt.Errorf("trace.Bytes %d: choose %d to %d, or leave it out for %d", c.bytes, minBytes, maxBytes,
			defaultBytes)
	}
	return nil
}
