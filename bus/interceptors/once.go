package interceptors

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/bus/wire"
)

// onceAge is a day longer than publishers keep events by default.
const onceAge = 8 * 24 * time.Hour

// Once returns an interceptor that skips a delivery of a stored event that the service of conn has handled: one with
// the publisher, the path and the ID (see [events.DeliveryOf]) of an event whose handler has returned nil in the last
// age. 0 stands for 8 days, a day longer than publishers keep events by default.
//
//	once, err := interceptors.Once(ctx, conn, 0)
//	…
//	err = events.Subscribe[ordersapi.Events](conn, ordersapi.Host, mailer{}, events.Durable(), bus.Intercept(once))
//
// It marks an event after its handler. So the handler runs again if its instance dies between the two, if the mark
// cannot be stored, which is logged, or if it exceeds its time, so that two deliveries are handled at once. Where that
// must not be, have the handler store the ID together with its effect. A failed delivery is not marked. As long as the
// marks cannot be read, deliveries fail with 503, as if the handler had: see [events.MaxDeliver].
//
// The marks are in the JetStream key-value bucket <plane>_HANDLED_<service>, about 200 bytes each, which all instances
// share. Once makes the bucket with one replica. It leaves one that is there as it is, but returns an error if its
// marks expire before age. The broker has to allow $JS.API.STREAM.INFO, CREATE and MSG.GET of the stream KV_<bucket>,
// and $KV.<bucket>.>.
//
// Calls, and events that are not stored, pass. The interceptor is for the connections of one service.
func Once(ctx context.Context, conn *bus.Conn, age time.Duration) (bus.Interceptor, error) {
	switch {
	case conn == nil:
		return nil, errors.New("interceptors.Once: the connection is nil: connect first, and use bus.Intercept in " +
			"events.Subscribe")
	case age < 0:
		return nil, fmt.Errorf("interceptors.Once: an age of %s remembers nothing: set one above zero, or 0 for %s",
			age, onceAge)
	}
	o := &once{newBucket(conn, "HANDLED", "events that "+conn.Host()+" has handled", cmp.Or(age, onceAge))}
	if _, err := o.marks.open(ctx); err != nil {
		return nil, fmt.Errorf("interceptors.Once: %w", err)
	}
	return o.intercept, nil
}

// once remembers the handled events of a service.
type once struct{ marks *bucket }

func (o *once) intercept(next bus.CallFunc) bus.CallFunc {
	return func(ctx context.Context, call *bus.Exchange) error {
		event, isEvent := events.DeliveryOf(ctx)
		if !isEvent || event.Stored.IsZero() || call.Side == bus.ClientSide {
			return next(ctx, call)
		}
		mark := event.Publisher + call.Path + " " + event.ID
		handled, err := o.isMarked(ctx, mark)
		switch {
		case err != nil:
			return bus.Errorf(http.StatusServiceUnavailable, "cannot tell whether the event was handled before: %w", err)
		case handled:
			call.Response = &wire.Response{Status: http.StatusNoContent}
			return nil
		}
		err = next(ctx, call)
		if call.Failure(err) != nil {
			return err
		}
		if err := o.mark(ctx, mark); err != nil {
			bus.Logger(ctx).Warn().Err(err).Str("bucket",
				o.marks.name).Msg("a handled event cannot be marked; if it comes again, it is handled again")
		}
		return nil
	}
}

// isMarked reports whether the bucket has a mark.
func (o *once) isMarked(ctx context.Context, mark string) (bool, error) {
	err := o.marks.use(ctx, func(ctx context.Context, kv jetstream.KeyValue) error {
		_, err := kv.Get(ctx, bucketKey(mark))
		return err
	})
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return false, nil
	}
	return err == nil, err
}

// mark stores a mark. The time of the handler may be over.
func (o *once) mark(ctx context.Context, mark string) error {
	return o.marks.use(context.WithoutCancel(ctx), func(ctx context.Context, kv jetstream.KeyValue) error {
		_, err := kv.Put(ctx, bucketKey(mark), []byte(mark))
		return err
	})
}
