package benchmarks_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	"github.com/busline/busline/bus"
)

// BenchmarkEndpoints calls the last endpoint of a service that has many.
func BenchmarkEndpoints(b *testing.B) {
	for _, count := range []int{1, 100, 1000} {
		b.Run(strconv.Itoa(count), func(b *testing.B) {
			options := []bus.ConnectOption{startBroker(b, overTCP()), bus.WithoutSharing()}
			server := connect(b, serviceHost, options...)
			serveMany(b, server, count)
			inModes(b, callersPerCore, 1, addAt(connect(b, callerHost, options...), count-1))
		})
	}
}

// serveMany serves Add at /add/0, /add/1 and so on.
func serveMany(b *testing.B, conn *bus.Conn, count int) {
	b.Helper()
	for i := range count {
		serve(b, conn, bus.ExcludeMethods("Echo"), bus.ParamNames("Add", "x, y", "sum"),
			bus.Method("Add", bus.Path(addPath(i))))
	}
}

func addPath(i int) string { return "/add/" + strconv.Itoa(i) }

// addAt returns calls of one of many endpoints.
func addAt(caller *bus.Conn, i int) operation {
	add := bus.NewOperation[addArguments, addResults](caller, "POST https://"+serviceHost+addPath(i))
	return func(ctx context.Context) error {
		response, err := add.Call(ctx, addArguments{X: 5, Y: 6})
		if err == nil && response.Results.Sum != 11 {
			err = fmt.Errorf("5 + 6 = %d", response.Results.Sum)
		}
		return err
	}
}
