// Package troubleapi is what callers need to get into trouble: an interface, and a generated client.
package troubleapi

import (
	"context"
	"iter"
)

//go:generate go run github.com/busline/busline/bus/cmd/apigen -type Trouble

// Host is where trouble is on the bus.
const Host = "trouble.example"

// Numbers are a stream. It has a name because mockgen of github.com/golang/mock reads no generic types.
type Numbers = iter.Seq2[int, error]

// Trouble goes wrong on demand.
type Trouble interface {
	// Sleep answers after some milliseconds, unless its time budget ends or its caller leaves before.
	Sleep(ctx context.Context, ms int) (slept int, err error)
	// Hang answers after some milliseconds, whatever happens meanwhile.
	Hang(ctx context.Context, ms int) (err error)
	// Panic panics.
	Panic(ctx context.Context) (err error)
	// Exit ends the goroutine that it runs on.
	Exit(ctx context.Context) (err error)
	// Echo answers with what it was sent.
	Echo(ctx context.Context, httpRequestBody any) (httpResponseBody any, err error)
	// Count streams the numbers from 1 to n, with a pause of some milliseconds before each. It ends early as Sleep does.
	Count(ctx context.Context, n int, pauseMs int) Numbers
	// Cancelled returns how many calls of Sleep and Count were cut short in this instance.
	Cancelled(ctx context.Context) (count int, err error)
}
