package peer

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"slices"

	"github.com/busline/busline/benchmarks/child"
	"github.com/busline/busline/benchmarks/peers/rounds"
)

// peer is one way to call a function: stages, the last of which clients call, and a client.
type peer struct {
	name   string
	stages []stage
	dial   func(ctx context.Context, address string, setup *rounds.Setup) (client, error)
}

// stage is a broker, a server or a gateway. It is started with the address of the stage before it, "" for the first
// one, and returns its own.
type stage struct {
	name string
	run  func(ctx context.Context, before string, setup *rounds.Setup) (address string, err error)
}

// starter starts a stage, here or in a process of its own.
type starter func(ctx context.Context, s stage, before string, setup *rounds.Setup) (address string, err error)

// here starts a stage in this process.
func here(ctx context.Context, s stage, before string, setup *rounds.Setup) (string, error) {
	return s.run(ctx, before, setup)
}

// start starts all stages, and dials the last one.
func (p peer) start(ctx context.Context, start starter, setup *rounds.Setup) (client, error) {
	address := ""
	for _, each := range p.stages {
		var err error
		if address, err = start(ctx, each, address, setup); err != nil {
			return client{}, fmt.Errorf("%s: %w", each.name, err)
		}
	}
	return p.dial(ctx, address, setup)
}

// apart starts a stage in a process of its own.
func apart(_ context.Context, s stage, before string, setup *rounds.Setup) (string, error) {
	process, err := child.Start(s.name, before)
	if err != nil {
		return "", err
	}
	setup.Process(process.ID())
	setup.Cleanup(func() { _ = process.Close() }) // the figures are measured
	return process.Told(), nil
}

// Stages returns what children of this process may be: the stages of all peers.
func Stages() map[string]child.Role {
	roles := make(map[string]child.Role)
	for _, each := range slices.Concat(distant(), gateways(), open()) {
		for _, s := range each.stages {
			roles[s.name] = func(ctx context.Context, arguments []string) (string, func(string) (string, error), error) {
				var setup rounds.Setup
				context.AfterFunc(ctx, setup.Undo)
				address, err := s.run(ctx, arguments[0], &setup)
				return address, nil, err
			}
		}
	}
	return roles
}

// Main runs a program that measures, or is a stage of one that runs in the parent process. It returns the exit code.
func Main(run func(ctx context.Context, arguments []string, out, progress io.Writer) error) (code int) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	isChild, err := child.Run(ctx, Stages())
	if !isChild {
		err = run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	}
	if err != nil {
		log.Print(err)
		return 1
	}
	return 0
}
