package mcp

import (
	"errors"
	"fmt"
	"time"

	"github.com/busline/busline/portal/internal/outside"
)

// Option configures the tools, in [New].
type Option interface{ apply(*config) }

type option func(*config)

func (o option) apply(c *config) { o(c) }

// WithFunctions names the functions that are tools, by the host and the path: "payments.example/pay"; all of a host are
// "payments.example/*", all of the bus "*". Those on other ports than 443, or without a doc comment, are no tools.
// Default: all.
func WithFunctions(functions ...string) Option {
	return option(func(c *config) { c.functions = append(outside.Chosen{}, functions...) })
}

// WithEvents offers stored events as resources, named as "orders.example/on-ordered"; all of a publisher are
// "orders.example/*", all of the bus "*". A caller reads those that the publisher lets it see, with
// [bus.RequireClaims] in NewPublisher of bus/events. The user of the connection needs permissions for JetStream: see
// docs/guides/events.md. Default: none.
func WithEvents(events ...string) Option {
	return option(func(c *config) { c.events = append(outside.Chosen{}, events...) })
}

// WithListLimit sets how many tools a caller may have before find, describe and call replace the list, because a model
// that reads them all has little room left. 0 always replaces it. Default: 40.
func WithListLimit(tools int) Option {
	return option(func(c *config) { c.listLimit = tools })
}

// WithStreamLimit sets what a tool returns at most of a function that streams: so many elements, so many bytes of
// them, and what comes in so long. Then the call is cancelled. Default: 1000 elements, 1 MiB, and 20 s.
func WithStreamLimit(elements, bytes int, longest time.Duration) Option {
	return option(func(c *config) { c.stream = streamLimit{elements, bytes, longest} })
}

// WithResultLimit sets the largest result of a function in bytes; of a larger one the tool only says how large it is.
// Default: 1 MiB.
func WithResultLimit(bytes int) Option {
	return option(func(c *config) { c.resultLimit = bytes })
}

// RequireToken refuses requests without a token, so that clients ask for one before they list tools: see
// ingress.WithAuthorizationServers. Default: callers without a token have the tools that need none.
func RequireToken() Option {
	return option(func(c *config) { c.tokenRequired = true })
}

// config is the configuration of the tools: defaults, then options.
type config struct {
	functions     outside.Chosen
	events        outside.Chosen // nil for none
	listLimit     int
	stream        streamLimit
	resultLimit   int // bytes
	tokenRequired bool
}

// streamLimit is how much of a stream is collected at most.
type streamLimit struct {
	elements, bytes int
	longest         time.Duration
}

func newConfig(options []Option) (*config, error) {
	const megabyte = 1 << 20
	c := &config{functions: outside.Chosen{"*"}, listLimit: 40, stream: streamLimit{1000, megabyte, 20 * time.Second},
		resultLimit: megabyte}
	for at, option := range options {
		if option == nil {
			return nil, outside.ErrNilOption(at)
		}
		option.apply(c)
	}
	return c, errors.Join(c.functions.Check("mcp.WithFunctions", "functions", "payments.example/pay"),
		c.events.Check("mcp.WithEvents", "events", "orders.example/on-ordered"), c.checkLimits())
}

func (c *config) checkLimits() error {
	switch {
	case c.listLimit < 0:
		return fmt.Errorf("mcp.WithListLimit: %d tools are too few: 0 always replaces the list", c.listLimit)
	case c.stream.elements < 1 || c.stream.bytes < 1 || c.stream.longest <= 0:
		return fmt.Errorf("mcp.WithStreamLimit: %d elements, %d bytes and %s leave nothing of a stream", c.stream.elements,
			c.stream.bytes, c.stream.longest)
	case c.resultLimit < 1:
		return fmt.Errorf("mcp.WithResultLimit: %d bytes leave nothing of a result", c.resultLimit)
	default:
		return nil
	}
}
