// Package gateway is the portal and the ingress of a bus as one program, which needs no code: the subcommand gateway,
// and a part of the subcommand dev.
package gateway

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/cmd/busline/internal/cli"
	"github.com/busline/busline/portal"
	"github.com/busline/busline/portal/ingress"
	"github.com/busline/busline/portal/mcp"
)

// Config configures a gateway. The zero value is the default.
type Config struct {
	// Address is where it listens, host:port. Default: BUS_HTTP_ADDR, else 127.0.0.1:8080.
	Address string
	// Paths are public paths of services, "/shop=https://shop.example". Default: none.
	Paths []string
	// Events are offered as streams, "orders.example/on-ordered" or "orders.example/*". Default: none.
	Events []string
	// Tools serves the functions as tools for agents at /mcp. Default: false.
	Tools bool
	// Page are options of the portal. Default: none.
	Page []portal.RegisterOption
	// Ready is called with the base URL when requests are served. Default: nothing is called.
	Ready func(baseURL string)
}

// Services returns the services of the gateway, for bus.RunAll. The start of the last one blocks.
func (c *Config) Services() []bus.Service {
	return []bus.Service{
		{Host: "portal", Start: func(_ context.Context, conn *bus.Conn) error { return portal.Register(conn, c.Page...) }},
		{Host: "ingress", Start: c.serve},
	}
}

// serve lets HTTP onto the bus until ctx ends.
func (c *Config) serve(ctx context.Context, conn *bus.Conn) error {
	options, err := c.ingressOptions(conn)
	if err != nil {
		return err
	}
	handler, err := ingress.New(conn, options...)
	if err != nil {
		return cli.Misuse("%w", err) // an option of ours is a flag
	}
	listen := []ingress.ServerOption{ingress.WithLogger(conn.Logger())}
	if c.Address != "" {
		listen = append(listen, ingress.WithAddress(c.Address))
	}
	server, err := ingress.Listen(handler, listen...)
	if err != nil {
		return err
	}
	if c.Ready != nil {
		c.Ready(server.BaseURL())
	}
	return server.Serve(ctx)
}

func (c *Config) ingressOptions(conn *bus.Conn) (options []ingress.Option, err error) {
	for _, each := range c.Paths {
		path, address, isPair := strings.Cut(each, "=")
		if !isPair {
			return nil, cli.Misuse("--path %s: write a path and an address, /shop=https://shop.example", each)
		}
		options = append(options, ingress.WithPath(path, address))
	}
	if len(c.Events) > 0 {
		options = append(options, ingress.WithEvents(c.Events...))
	}
	if c.Tools {
		tools, err := mcp.New(conn)
		if err != nil {
			return nil, err
		}
		options = append(options, ingress.WithHandler("/mcp", tools))
	}
	return options, nil
}

// Flags adds the flags of a gateway to a set.
func (c *Config) Flags(set *pflag.FlagSet) {
	set.StringVar(&c.Address, "http", "",
		"`address` to listen on (default: BUS_HTTP_ADDR, else 127.0.0.1:8080)")
	set.StringArrayVar(&c.Paths, "path", nil, "public `path` of a service: /shop=https://shop.example; may be repeated")
	set.StringArrayVar(&c.Events, "events", nil,
		"`event` that is offered as a stream: orders.example/on-ordered, or orders.example/*; may be repeated")
	set.BoolVar(&c.Tools, "mcp", false, "serve the functions as tools for agents at /mcp")
}

// Command returns the subcommand gateway, for [cli.Environment].
func Command(environment cli.Environment) *cobra.Command {
	config := new(Config)
	c := &cobra.Command{
		Use:   "gateway",
		Short: "The portal and HTTP for a bus: a program that needs no code",
		Long: `Lets HTTP onto the bus, and serves the portal at /portal/, until it is interrupted. It waits for the
broker, and finishes requests before it ends. docs/reference/configuration.md has the variables of the
ingress and of the portal. /-/ready and /-/metrics are for operators.`,
		Args: cli.NoOperands,
		Example: "  busline gateway\n" +
			"  busline gateway --http :8080 --path /shop=https://products.example --events 'orders.example/*' --mcp",
		Annotations: map[string]string{cli.Changes: "yes", cli.Endless: "yes"},
		RunE: func(c *cobra.Command, _ []string) error {
			if err := cli.UseContext(c, environment); err != nil {
				return err
			}
			config.Ready = func(url string) { fmt.Fprintln(environment.Stdout, "ready", url) }
			return bus.RunAll(c.Context(), config.Services(), bus.WithOptions(ConnectOptions(c, environment)...))
		},
	}
	config.Flags(c.Flags())
	return c
}

// ConnectOptions returns the options for joining the bus that a command line and its environment have.
func ConnectOptions(c *cobra.Command, environment cli.Environment) (options []bus.ConnectOption) {
	options = append(options, bus.WithVersion(cmp.Or(cli.Version(), "(devel)")))
	options = append(options, environment.Connect...)
	if url := c.Flag("url").Value.String(); url != "" {
		options = append(options, bus.WithURL(url))
	}
	if plane := c.Flag("plane").Value.String(); plane != "" {
		options = append(options, bus.WithPlane(plane))
	}
	return options
}
