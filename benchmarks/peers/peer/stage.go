package peer

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/busline/busline/benchmarks/peers/rounds"
)

// peer is one way to call a function: stages, the last of which clients call, and a client.
type peer struct {
	name   string
	stages []stage
	dial   func(ctx context.Context, address string, setup *rounds.Setup) (client, error)
}

// stage is a broker, a server or a gateway. It is started with the address of the stage before it, "" for the first one, and returns its own.
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

// stageVariable has the name of the stage that a child process is, and the address before it.
const stageVariable = "BUSLINE_PEERS_STAGE"

// apart starts a stage in a child process: this program again, which has to call [RunStage].
func apart(ctx context.Context, s stage, before string, setup *rounds.Setup) (string, error) {
	executable, err := os.Executable()
	if err != nil {
		return "", err
	}
	child := exec.CommandContext(context.WithoutCancel(ctx), executable) //nolint:gosec // this program
	child.Env = append(os.Environ(), stageVariable+"="+s.name+"="+before)
	child.Stderr = os.Stderr
	stdin, err := child.StdinPipe()
	if err != nil {
		return "", err
	}
	stdout, err := child.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := child.Start(); err != nil {
		return "", err
	}
	setup.Process(child.Process.Pid)
	setup.Cleanup(func() {
		_ = stdin.Close()
		_ = child.Wait() // the figures are measured
	})
	address, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("it tells no address: %w", err)
	}
	return strings.TrimSpace(address), nil
}

// RunStage reports whether this process is a stage, started by another one. If so, it runs the stage until the other one ends.
func RunStage(ctx context.Context) (isStage bool, err error) {
	name, before, isStage := strings.Cut(os.Getenv(stageVariable), "=")
	if !isStage {
		return false, nil
	}
	all := stages()
	at := slices.IndexFunc(all, func(s stage) bool { return s.name == name })
	if at < 0 {
		return true, fmt.Errorf("%s: there is no stage %q", stageVariable, name)
	}
	var setup rounds.Setup
	defer setup.Undo()
	address, err := all[at].run(ctx, before, &setup)
	if err != nil {
		return true, fmt.Errorf("%s: %w", name, err)
	}
	fmt.Println(address)
	_, err = io.Copy(io.Discard, os.Stdin)
	return true, err
}

// stages returns those of all peers.
func stages() (all []stage) {
	for _, each := range slices.Concat(distant(), gateways()) {
		all = append(all, each.stages...)
	}
	return all
}
