package bus

import (
	"context"
	"iter"
	"net/http"
	"time"

	"github.com/busline/busline/bus/internal/durable"
)

// DeadLetter is a stored event that a service could not handle: see [Durable].
type DeadLetter struct {
	Source   string    `json:"source"`   // host that published the event
	Service  string    `json:"service"`  // host that could not handle it
	Event    string    `json:"event"`    // path of the event without the slash, "on-ordered"
	MsgID    string    `json:"msgId"`    // Bus-Msg-Id of the event
	Parked   time.Time `json:"parked"`   // time when it became a dead letter
	Attempts int       `json:"attempts"` // number of deliveries
	Reason   string    `json:"reason"`   // error of the last attempt
	Body     string    `json:"body"`     // arguments, as JSON

	// Both are nil in a value that does not come from DeadLetters.
	redeliver, remove func(context.Context) error
}

// DeadLetters yields the events of a publisher that services could not handle, the oldest first: the dead letters that
// exist when the sequence is ranged over. An error ends the sequence. It is for tools and operators: the user of the
// connection needs permissions for JetStream that services do not have, see docs/guides/events.md. It is a function because the
// linker keeps all methods of Conn, and would link JetStream into every service.
func DeadLetters(ctx context.Context, conn *Conn, source string) iter.Seq2[DeadLetter, error] {
	return func(yield func(DeadLetter, error) bool) {
		if err := yieldParked(ctx, conn, source, func(parked DeadLetter) bool { return yield(parked, nil) }); err != nil {
			yield(DeadLetter{}, err)
		}
	}
}

func yieldParked(ctx context.Context, conn *Conn, source string, yield func(DeadLetter) bool) error {
	if conn == nil {
		return noConnection("https://" + source)
	}
	if err := validSource(source); err != nil {
		return unsent(err)
	}
	err := durable.NewStream(conn.durableConfig(), source).EachDeadLetter(ctx, func(kept *durable.DeadLetter) bool {
		return yield(DeadLetter{
			Source: kept.Source, Service: kept.Service, Event: kept.Event, MsgID: kept.MsgID, Parked: kept.Parked,
			Attempts: kept.Attempts, Reason: kept.Reason, Body: kept.Body,
			redeliver: kept.Redeliver, remove: kept.Delete,
		})
	})
	return errorOrNil(err)
}

// Redeliver delivers the event again, only to the service that could not handle it, with a full number of attempts, and
// deletes the dead letter. It returns when JetStream has stored the event. It does not wait for the handler: the
// outcome appears in the log, and possibly as a new dead letter. It returns an error with status 404 if the dead letter
// does not exist any more. It returns an error and keeps the dead letter if the service does not subscribe to such
// events any more (404), or if its consumer does not accept redelivered events (503).
func (p DeadLetter) Redeliver(ctx context.Context) error {
	return changeDeadLetter(ctx, p.redeliver)
}

// Delete deletes the dead letter; the event is lost then. It returns an error with status 404 if the dead letter does
// not exist any more.
func (p DeadLetter) Delete(ctx context.Context) error {
	return changeDeadLetter(ctx, p.remove)
}

func changeDeadLetter(ctx context.Context, change func(context.Context) error) error {
	if change == nil {
		return newError(http.StatusBadRequest, ExecutedNo, nil, "the event does not come from bus.DeadLetters")
	}
	return errorOrNil(change(ctx))
}
