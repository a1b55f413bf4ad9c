package interceptors

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/bus/wire"
)

const (
	// onceAge is a day longer than publishers keep events by default.
	onceAge = 8 * 24 * time.Hour

	// onceTimeout bounds each use of the bucket.
	onceTimeout = 5 * time.Second

	// onceWindow is the duplicate window of JetStream: it is at most the age.
	onceWindow = 2 * time.Minute
)

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
	o := &once{
		conn: conn, age: cmp.Or(age, onceAge),
		name: conn.Plane() + "_HANDLED_" + strings.ReplaceAll(conn.Host(), ".", "_"),
	}
	if _, err := o.bucket(ctx); err != nil {
		return nil, fmt.Errorf("interceptors.Once: %w", err)
	}
	return o.intercept, nil
}

// once remembers the handled events of a service.
type once struct {
	conn   *bus.Conn
	age    time.Duration
	name   string // of the bucket
	opened atomic.Pointer[onceBucket]
}

// onceBucket is a bucket with the broker connection that it was opened through.
type onceBucket struct {
	jetstream.KeyValue

	through *nats.Conn
}

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
				o.name).Msg("a handled event cannot be marked; if it comes again, it is handled again")
		}
		return nil
	}
}

// isMarked reports whether the bucket has a mark.
func (o *once) isMarked(ctx context.Context, mark string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, onceTimeout)
	defer cancel()
	bucket, err := o.bucket(ctx)
	if err != nil {
		return false, err
	}
	_, err = bucket.Get(ctx, markKey(mark))
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, jetstream.ErrKeyNotFound):
		return false, nil
	default:
		o.opened.Store(nil) // the bucket may be gone
		return false, err
	}
}

// mark stores a mark. The time of the handler may be over.
func (o *once) mark(ctx context.Context, mark string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), onceTimeout)
	defer cancel()
	bucket, err := o.bucket(ctx)
	if err == nil {
		_, err = bucket.Put(ctx, markKey(mark), []byte(mark))
	}
	return err
}

// markKey returns a key for a mark: a bucket takes few characters.
func markKey(mark string) string {
	sum := sha256.Sum256([]byte(mark))
	return hex.EncodeToString(sum[:])
}

// bucket returns the bucket. It opens it again through a broker connection that has replaced another one.
func (o *once) bucket(ctx context.Context) (jetstream.KeyValue, error) {
	through := o.conn.NATS()
	if opened := o.opened.Load(); opened != nil && opened.through == through {
		return opened, nil
	}
	bucket, err := o.open(ctx, through)
	if err != nil {
		return nil, fmt.Errorf("the key-value bucket %s: %w", o.name, err)
	}
	o.opened.Store(&onceBucket{bucket, through})
	return bucket, nil
}

// open opens the bucket, and makes it if there is none: by its stream, as a bucket that is made otherwise lets a
// replica answer that has not got the last mark yet.
func (o *once) open(ctx context.Context, through *nats.Conn) (jetstream.KeyValue, error) {
	manager, err := jetstream.NewWithAPIPrefix(through, o.conn.JetStreamPrefix())
	if err != nil {
		return nil, err
	}
	bucket, err := manager.KeyValue(ctx, o.name)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		_, err = manager.CreateStream(ctx, jetstream.StreamConfig{
			Name: "KV_" + o.name, Description: "events that " + o.conn.Host() + " has handled",
			Subjects:          []string{"$KV." + o.name + ".>"},
			MaxMsgsPerSubject: 1, MaxAge: o.age, Duplicates: min(o.age, onceWindow), Discard: jetstream.DiscardNew,
			AllowRollup: true, DenyDelete: true,
		})
		if err == nil {
			bucket, err = manager.KeyValue(ctx, o.name)
		}
	}
	if errors.Is(err, nats.ErrNoResponders) || errors.Is(err, jetstream.ErrJetStreamNotEnabled) ||
		errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount) {
		return nil, fmt.Errorf("the broker has no JetStream: turn it on: %w", err)
	}
	if err != nil {
		return nil, err
	}
	return bucket, o.checkAge(ctx, bucket)
}

// checkAge returns an error if the marks of a bucket expire too early.
func (o *once) checkAge(ctx context.Context, bucket jetstream.KeyValue) error {
	status, err := bucket.Status(ctx)
	if err != nil {
		return err
	}
	if kept := status.TTL(); kept > 0 && kept < o.age {
		return fmt.Errorf("its marks expire after %s, not %s: change its age (nats stream edit KV_%s --max-age), "+
			"or ask for less", kept, o.age, o.name)
	}
	return nil
}
