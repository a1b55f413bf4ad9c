package peer

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"connectrpc.com/connect"
	"github.com/nats-io/nats.go"
	"google.golang.org/grpc/status"

	"github.com/busline/busline/benchmarks/peers/rounds"
	"github.com/busline/busline/bus"
)

const (
	// openConnections is how many connections clients of HTTP/1.1 have in an open loop.
	openConnections = 1024
	// boundedHandlers is how many handlers run at once of a service that has a limit.
	boundedHandlers = 256
	// waitingHandlers is how many handlers of the service run at once whose handlers wait, and waitingTime for how long
	// they do.
	waitingHandlers = 64
	waitingTime     = 10 * time.Millisecond
)

// Target is what an open loop calls.
type Target struct {
	rounds.Contender
	// Callers are how many callers are in the closed loops, the best of which tells the capacity.
	Callers []int
	// OnlyOverload leaves the target out of all but the overload.
	OnlyOverload bool
}

// Open returns the targets of open loops, each part of which runs in a process of its own. All calls of a target are
// safe for concurrent use.
func Open() []Target {
	var targets []Target
	for _, each := range open() {
		each.dial = takingTurns(each.dial)
		target := Target{Contender: work(adding).by(apart, []peer{each})[0], Callers: []int{64, 256, openConnections}}
		switch each.name {
		case waitingName:
			target.Callers, target.OnlyOverload = []int{waitingHandlers}, true
		case boundedName:
			target.OnlyOverload = true
		}
		targets = append(targets, target)
	}
	return targets
}

const (
	boundedName = "busline, `WithMaxHandlers(256)`"
	waitingName = "busline, `WithMaxHandlers(64)` of 10 ms"
)

// open returns the peers of open loops.
func open() []peer {
	var peers []peer
	for _, each := range append(distant(), gateways()...) {
		switch each.name {
		case "connect-go, HTTP/1.1":
			each.dial = dialConnectPool
			fallthrough
		case "nats micro", rival, "busline", proxy, "busline ingress, broker":
			peers = append(peers, each)
		}
	}
	brokerStage := stage{"broker", startBroker}
	return append(peers,
		peer{boundedName, []stage{brokerStage, {"busline bounded service", startBuslineBounded}}, dialBusline},
		peer{waitingName, []stage{brokerStage, {"busline waiting service", startBuslineWaiting}}, dialBusline})
}

// takingTurns returns a dial whose client is for any number of callers: those that have a connection each take turns.
func takingTurns(dial func(context.Context, string, *rounds.Setup) (client, error)) func(context.Context, string,
	*rounds.Setup) (client, error) {
	return func(ctx context.Context, address string, setup *rounds.Setup) (client, error) {
		caller, err := dial(ctx, address, setup)
		if err != nil || caller.newAdder == nil {
			return caller, err
		}
		idle := make(chan func(context.Context, int, int) (int, error), openConnections)
		for range openConnections {
			add, err := caller.newAdder()
			if err != nil {
				return client{}, err
			}
			idle <- add
		}
		return client{add: func(ctx context.Context, x, y int) (int, error) {
			add := <-idle
			defer func() { idle <- add }()
			return add(ctx, x, y)
		}}, nil
	}
}

// StatusOf returns what a call ended with, as its peer names it: "503", "ResourceExhausted". "no Retry-After"
// stands behind a status 503 for which the peer does not suggest a retry. Any other error is "failed".
func StatusOf(err error) string {
	var (
		ofBus     *bus.Error
		ofHTTP    *httpError
		ofConnect *connect.Error
	)
	switch {
	case errors.As(err, &ofBus):
		return httpStatus(ofBus.Status, ofBus.RetryAfter > 0)
	case errors.As(err, &ofHTTP):
		return httpStatus(ofHTTP.status, ofHTTP.retryAfter != "")
	case errors.As(err, &ofConnect):
		return ofConnect.Code().String()
	case errors.Is(err, nats.ErrTimeout):
		return "timeout"
	case errors.Is(err, nats.ErrNoResponders):
		return "no responders"
	}
	if known, is := status.FromError(err); is {
		return known.Code().String()
	}
	return "failed"
}

func httpStatus(code int, retries bool) string {
	if code == http.StatusServiceUnavailable && !retries {
		return fmt.Sprintf("%d, no Retry-After", code)
	}
	return strconv.Itoa(code)
}
