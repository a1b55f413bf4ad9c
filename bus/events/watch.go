package events

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/nats-io/nats.go"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/internal/feature"
	"github.com/busline/busline/bus/internal/natsconn"
	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/internal/worker"
	"github.com/busline/busline/bus/wire"
)

// Watched is an event of [Watch].
type Watched struct {
	// MsgID is the message id of the event.
	MsgID string
	// Body is the arguments as JSON, as the publisher has sent them. Empty stands for none.
	Body []byte
}

// Watch calls receive for each event such as "on-ordered" of a publisher, a host, until stop is called. It is for
// tools: this instance gets every event, whatever others get, does not check the arguments, and answers nothing. So the
// publisher neither waits for it nor learns of it; but Outcomes of an event to which no service subscribes ends after
// 1 s, and not at once. Events are those of [Event.Publish], at most once; the stored ones are those of eventlog.Tail.
// Some may be missing after an announcement with Missed, see WatchAnnouncements of bus.Conn.
//
// receive runs on the goroutine that receives all messages of the process, and must neither block nor call. It may be
// called concurrently, and once more while stop runs. Watch waits for the broker, as long as ctx allows; an error means
// that nothing is watched: 400 for a name that is none, 403 if the broker denies it, 503 if it is out of reach. Watch
// and stop are safe for concurrent use.
func Watch(ctx context.Context, conn *bus.Conn, publisher, event string,
	receive func(Watched)) (stop func(), err error) {
	if conn == nil {
		return nil, feature.Bus.NoConnection("https://" + publisher)
	}
	path := "/" + event
	if err := cmp.Or(validSource(publisher), validPath(publisher, path)); err != nil {
		return nil, feature.Bus.Unsent(err)
	}
	to, err := subjectOf(conn.Plane(), publisher, path)
	if err != nil {
		return nil, feature.Bus.Unsent(err)
	}
	stop, err = feature.Bus.Conn(conn).Listen(ctx, &natsconn.Subscription{
		Subject: to, For: "to watch the event " + event + " of " + publisher,
		Receive: receiver(feature.Bus.Conn(conn), receive),
	})
	if err != nil {
		return nil, notWatched(err)
	}
	return stop, nil
}

// notWatched returns the error for one of the broker.
func notWatched(err error) error {
	code := http.StatusServiceUnavailable
	if errors.Is(err, nats.ErrPermissionViolation) {
		code = http.StatusForbidden
	}
	return feature.Bus.Error(status.NotRun(code, err, "%s", err))
}

// receiver returns the receiver of events that are watched.
func receiver(conn feature.Conn, receive func(Watched)) natsconn.Receiver {
	return func(message *nats.Msg, reader *wire.Reader) worker.Job {
		var request wire.Request
		if err := reader.ParseRequest(message.Data, &request); err != nil {
			conn.Drop(message.Subject, err)
			return nil
		}
		receive(Watched{MsgID: request.MsgID, Body: slices.Clone(request.Body)})
		return nil
	}
}
