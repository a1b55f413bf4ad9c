package benchmarks_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/busline/busline/bus"
)

// service is what is called.
type service struct{}

// Add returns the sum of x and y.
func (service) Add(x, y int) (sum int) { return x + y }

// Echo returns the text.
func (service) Echo(text string) (echo string) { return text }

// What callers know of the service: the types of a generated client.
type (
	addArguments struct {
		X int `json:"x"`
		Y int `json:"y"`
	}
	addResults struct {
		Sum int `json:"sum"`
	}
	echoArguments struct {
		Text string `json:"text"`
	}
	echoResults struct {
		Echo string `json:"echo"`
	}
)

const (
	serviceHost = "service.example"
	callerHost  = "caller.example"
)

// client is the service as the callers of one path see it.
type client struct {
	add  func(ctx context.Context, arguments addArguments) (addResults, error)
	echo func(ctx context.Context, arguments echoArguments) (echoResults, error)
	conn *bus.Conn // nil where the path does not begin with one
}

// operation makes one call, and checks the answer.
type operation func(ctx context.Context) error

func (c client) adding() operation {
	return func(ctx context.Context) error {
		out, err := c.add(ctx, addArguments{X: 5, Y: 6})
		if err == nil && out.Sum != 11 {
			err = fmt.Errorf("5 + 6 = %d", out.Sum)
		}
		return err
	}
}

func (c client) echoing(size int) operation {
	arguments := echoArguments{Text: strings.Repeat("a", size)}
	return func(ctx context.Context) error {
		out, err := c.echo(ctx, arguments)
		if err == nil && len(out.Echo) != size {
			err = fmt.Errorf("%d bytes came back of %d", len(out.Echo), size)
		}
		return err
	}
}
