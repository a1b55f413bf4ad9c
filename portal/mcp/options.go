package mcp

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/busline/busline/bus/subject"
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
	return option(func(c *config) { c.functions = append(choice{}, functions...) })
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
	functions     choice
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
	c := &config{functions: choice{"*"}, listLimit: 40, stream: streamLimit{1000, megabyte, 20 * time.Second},
		resultLimit: megabyte}
	for at, option := range options {
		if option == nil {
			return nil, outside.ErrNilOption(at)
		}
		option.apply(c)
	}
	return c, errors.Join(c.functions.check(), c.checkLimits())
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

// choice names functions: "payments.example/pay", "payments.example/*" for all of a host, "*" for all of the bus.
type choice []string

// check returns an error for what names no functions.
func (c choice) check() error {
	if len(c) == 0 {
		return errors.New(`mcp.WithFunctions names no functions: name each, as in "payments.example/pay", ` +
			`all of a host, "payments.example/*", or "*" for all`)
	}
	for _, each := range c {
		host, path, _ := strings.Cut(each, "/")
		if each != "*" && (subject.CheckHost(host) != nil || path == "") {
			return fmt.Errorf(`mcp.WithFunctions: %q names no functions: write "payments.example/pay", `+
				`"payments.example/*" for all of a host, or "*" for all`, each)
		}
	}
	return nil
}

// has reports whether a function is chosen.
func (c choice) has(host, path string) bool {
	return slices.Contains(c, "*") || slices.Contains(c, host+"/*") || slices.Contains(c, host+path)
}
