// Package live shows a stream and events in a browser. docs/recipes/live.md explains it.
package live

import (
	"context"
	_ "embed"
	"fmt"
	"iter"
	"net/http"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/events"
)

//go:embed index.html
var page []byte

// Kitchen cooks.
type Kitchen struct {
	ready events.Event[Ready]
	turn  func(ctx context.Context) error // takes as long as a step
}

// Ready is the event that an order can be fetched.
type Ready struct {
	Order string `json:"order"`
}

// Step says how far an order is.
type Step struct {
	Done int `json:"done"` // percent
}

// Cook cooks an order, and yields each step. The event follows the last one.
func (k *Kitchen) Cook(ctx context.Context, order string) iter.Seq2[Step, error] {
	return func(yield func(Step, error) bool) {
		for done := 25; done <= 100; done += 25 {
			if err := k.turn(ctx); err != nil {
				yield(Step{}, err)
				return
			}
			if !yield(Step{done}, nil) {
				return // the caller has left
			}
		}
		if err := k.ready.Publish(ctx, Ready{order}); err != nil {
			yield(Step{}, err)
		}
	}
}

// Serve puts the kitchen and its page on the bus. turn takes as long as a step.
func Serve(conn *bus.Conn, turn func(ctx context.Context) error) error {
	publisher, err := events.NewPublisher(conn, conn.Host())
	if err != nil {
		return err
	}
	kitchen := &Kitchen{events.NewEvent[Ready](publisher, "/on-ready"), turn}
	if err := bus.Serve(conn, kitchen); err != nil {
		return err
	}
	return conn.Handle(http.MethodGet, "/", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, "%s", page)
	}))
}
