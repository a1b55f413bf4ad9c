// Package retry repeats calls that have not run. docs/recipes/retry.md explains it.
package retry

import (
	"context"
	"time"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/interceptors"
)

// Retrying is an option of bus.Connect: calls that have not run are repeated while their time lasts.
func Retrying() bus.ConnectOption { return bus.WithInterceptors(interceptors.Retry()) }

// Pay has three seconds, repetitions included.
func Pay(ctx context.Context, conn *bus.Conn, cents int) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	return conn.Call(ctx, "https://till.example/pay", bus.Args{"cents": cents}, nil)
}

// Paid is repeated even when it may have run: reading twice does no harm.
func Paid(ctx context.Context, conn *bus.Conn) (cents int, err error) {
	var results struct{ Cents int }
	err = conn.Call(interceptors.WithIdempotent(ctx), "https://till.example/paid", nil, &results)
	return results.Cents, err
}
