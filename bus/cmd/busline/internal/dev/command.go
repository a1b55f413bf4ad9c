// Package dev runs a bus for development, the subcommand dev: a broker, a gateway, and programs that are built,
// started, and replaced when their source changes.
//
// command.go has the flags and starts the bus. sources.go lists what a program is made of, watcher.go tells of changes,
// program.go builds and replaces the instances of one program, process.go is one instance, output.go joins their lines.
package dev

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/bus/cmd/busline/internal/cli"
	"github.com/busline/busline/bus/cmd/busline/internal/gateway"
	"github.com/busline/busline/portal"
)

// defaultBroker is where services look for a broker.
const defaultBroker = "127.0.0.1:4222"

// options are the flags of the subcommand.
type options struct {
	gateway gateway.Config
	listen  string // address of the broker
	store   string // folder of stored events; "" for a temporary one
}

// Command returns the subcommand dev, for [cli.Environment].
func Command(environment cli.Environment) *cobra.Command {
	chosen := options{listen: defaultBroker}
	c := &cobra.Command{
		Use:   "dev [package …]",
		Short: "A bus for development: broker, portal, and programs that follow their source",
		Long: `Starts a broker with JetStream, the portal and the ingress, and builds and starts the programs of the
packages named, such as ./cmd/orders or ./cmd/...; by default the program in this folder, or all programs
below it. When the source of a program changes, it is built anew, and replaced: the new instance serves
before the former one finishes its calls and ends, so that no call is lost. If it cannot be built, or
ends at once, the former one goes on; the error is here and on the page.

The programs get BUS_NATS_URL, BUS_JWKS with the key set of busline token, and BUS_OPERATORS=*, so that everyone
may operate events and see traces. Their lines have their names in front. With --url there is no
broker of its own. Not for production: everyone on this machine may call everything.`,
		Example:     "  busline dev\n  busline dev ./cmd/orders ./cmd/shipping --events 'orders.example/*'",
		Annotations: map[string]string{cli.Changes: "yes", cli.Endless: "yes"},
		RunE: func(c *cobra.Command, packages []string) error {
			return run(c, environment, chosen, packages)
		},
	}
	chosen.gateway.Flags(c.Flags())
	c.Flags().StringVar(&chosen.listen, "nats", defaultBroker, "`address` of the broker")
	c.Flags().StringVar(&chosen.store, "store", "", "`folder` that keeps stored events (default: a temporary one)")
	return c
}

// run runs the bus until the context of the command ends, or the gateway fails.
func run(c *cobra.Command, environment cli.Environment, chosen options, packages []string) error {
	if c.Flag("context").Changed {
		return cli.Misuse("--context does not go with dev, which has a broker of its own: name another one with --url")
	}
	for flag, example := range map[string]string{"nats": defaultBroker, "http": "127.0.0.1:8080"} {
		address := c.Flag(flag).Value.String()
		if _, _, err := net.SplitHostPort(address); err != nil && address != "" {
			return cli.Misuse("--%s %s: write an address with a port, such as %s", flag, address, example)
		}
	}
	ctx, cancel := context.WithCancel(c.Context())
	defer cancel()
	programs, err := findPrograms(ctx, packages)
	if err != nil {
		return cli.Misuse("%w", err)
	}
	out := newOutput(environment.Stdout, cli.Colours(c, environment), programs)
	say := out.lines("dev")
	directory, err := os.MkdirTemp("", "busline-dev-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(directory) }()
	url := c.Flag("url").Value.String()
	if url == "" {
		embedded, err := startBroker(chosen, directory)
		if err != nil {
			return err
		}
		defer embedded.Close()
		url = embedded.URL()
	}
	keySet, err := cli.MakeKeys(say.printf)
	if err != nil {
		return err
	}
	if keySet, err = filepath.Abs(keySet); err != nil {
		return err
	}
	say.printf("broker %s, key set %s", url, keySet)
	s := &supervisor{
		out: out, say: say, directory: directory, problems: new(problems),
		environment: append(os.Environ(), "BUS_NATS_URL="+url, "BUS_JWKS="+keySet, "BUS_OPERATORS=*"),
	}
	if environment.Getenv("BUS_LOG_FORMAT") == "" {
		s.environment = append(s.environment, "BUS_LOG_FORMAT=console")
	}
	if plane := c.Flag("plane").Value.String(); plane != "" {
		s.environment = append(s.environment, "BUS_PLANE="+plane)
	}
	var gatewayErr error
	var running sync.WaitGroup
	running.Go(func() {
		defer cancel()
		gatewayErr = serveGateway(ctx, c, environment, chosen, s, url, keySet)
	})
	err = s.supervise(ctx, programs)
	cancel()
	running.Wait()
	return errors.Join(err, gatewayErr)
}

// startBroker starts a broker with JetStream.
func startBroker(chosen options, directory string) (*broker.Broker, error) {
	store := chosen.store
	if store == "" {
		store = filepath.Join(directory, "jetstream")
	}
	started, err := broker.Start(broker.Listen(chosen.listen), broker.JetStream(store))
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%w: join the broker there with --url nats://%[2]s, or choose another address with --nats",
			err, net.JoinHostPort(splitAddress(chosen.listen)))
	}
	return started, err
}

// splitAddress returns the host and the port of an address that the broker has accepted.
func splitAddress(address string) (host, port string) {
	host, port, _ = net.SplitHostPort(address)
	if host == "" {
		host = "127.0.0.1"
	}
	return host, port
}

// serveGateway serves the portal and the ingress until ctx ends.
func serveGateway(ctx context.Context, c *cobra.Command, environment cli.Environment, chosen options, s *supervisor,
	url, keySet string) error {
	config, says := chosen.gateway, s.out.lines("gateway")
	config.Page = []portal.RegisterOption{portal.WithOperators(""), portal.WithNotices(s.problems.notices)}
	config.Ready = func(baseURL string) {
		s.say.printf("%s/portal/ shows the bus; calls go to %s/<host>/…", baseURL, baseURL)
	}
	logger := zerolog.New(zerolog.ConsoleWriter{Out: says, NoColor: true, TimeFormat: time.TimeOnly}).
		Level(zerolog.WarnLevel).With().Timestamp().Logger()
	verifier, err := claims.Open(ctx, claims.Config{KeySet: keySet})
	if err != nil {
		return err
	}
	defer verifier.Close()
	err = bus.RunAll(ctx, config.Services(), bus.WithOptions(gateway.ConnectOptions(c, environment)...), bus.WithURL(url),
		bus.WithVerifier(verifier), bus.WithLogger(logger), bus.WithCloseTimeout(time.Second))
	if err != nil && strings.Contains(err.Error(), "BUS_HTTP_ADDR") {
		return fmt.Errorf("%w, or choose one with --http", err)
	}
	return err
}
