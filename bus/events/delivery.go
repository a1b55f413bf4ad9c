package events

import (
	"context"
	"time"

	"github.com/busline/busline/bus/internal/callctx"
)

// Delivery is one delivery of an event to a handler.
type Delivery struct {
	// Publisher is the host whose event it is.
	Publisher string
	// ID is that of [WithID] if the event is stored, else its message id. Each delivery of the event has the same ID, also
	// that of a dead letter; events under other paths may have it, too.
	ID string
	// Attempt is 1 for the first delivery. It counts those whose instance died, and begins again for a dead letter.
	Attempt int
	// Stored is when JetStream stored the event, or took back the dead letter; zero for an event that is not stored.
	Stored time.Time
}

// DeliveryOf returns the delivery that the handler of an event is serving; false outside the handler of an event.
func DeliveryOf(ctx context.Context) (delivery Delivery, ok bool) {
	h := callctx.Of(ctx)
	if h == nil || h.Event == nil {
		return Delivery{}, false
	}
	return Delivery(*h.Event), true
}
