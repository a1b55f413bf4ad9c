// Node is one version of Busline in a process of its own: a broker, a service, a caller, or a portal. The program of
// the folder above builds it in the tree of each version, and runs all of them together.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"

	"github.com/rs/zerolog"

	"github.com/busline/busline/benchmarks/child"
	"github.com/busline/busline/bus"
	"github.com/busline/busline/portal"
)

const plane = "upgrade"

func main() {
	isChild, err := child.Run(context.Background(), map[string]child.Role{
		"broker": child.Broker, "service": beService, "caller": beCaller, "portal": bePortal,
	})
	if !isChild {
		err = fmt.Errorf("%s is run by go run ./benchmarks/upgrade", os.Args[0])
	}
	if err != nil {
		log.Fatal(err)
	}
}

func connect(ctx context.Context, url, host string) (*bus.Conn, error) {
	return bus.Connect(ctx, host, bus.WithURL(url), bus.WithPlane(plane), bus.WithoutSharing(),
		bus.WithLogger(zerolog.New(os.Stderr).Level(zerolog.ErrorLevel)))
}

// server is an HTTP server in front of the bus.
type server interface {
	BaseURL() string
	Serve(ctx context.Context) error
}

// bePortal runs the portal and an ingress at a broker. Its line is the address of the ingress.
func bePortal(ctx context.Context, arguments []string) (base string, _ func(string) (string, error), err error) {
	page, err := connect(ctx, arguments[0], "portal")
	if err != nil {
		return "", nil, err
	}
	if err := portal.Register(page); err != nil {
		return "", nil, err
	}
	front, err := connect(ctx, arguments[0], "ingress")
	if err != nil {
		return "", nil, err
	}
	listening, err := listen(front)
	if err != nil {
		return "", nil, err
	}
	go func() { _ = listening.Serve(ctx) }() // ends with the process
	return listening.BaseURL(), nil, nil
}

// request makes a request without a body.
func request(ctx context.Context, address string) (*http.Request, error) {
	return http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
}
