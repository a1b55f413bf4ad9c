package bus

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/nats-io/nats.go"

	"github.com/busline/busline/bus/internal/natsconn"
	"github.com/busline/busline/bus/internal/worker"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

// WatchedEvent is an event of [Conn.WatchEvent].
type WatchedEvent struct {
	// MsgID is the message id of the event.
	MsgID string
	// Body is the arguments as JSON, as the publisher has sent them. Empty stands for none.
	Body []byte
}

// WatchEvent has heard called for each event such as "on-ordered" of a publisher, a host, until stop is called. It is
// for tools: this instance gets every event, whatever others get, does not check the arguments, and answers nothing. So
// the publisher neither waits for it nor learns of it; but Outcomes of an event to which no service subscribes ends
// after 1 s, and not at once. Events are those of [Event.Publish], at most once; the stored ones are those of
// eventlog.Tail. Some may be missing after an announcement with Missed, see [Conn.WatchAnnouncements].
//
// heard runs on the goroutine that receives all messages of the process, and must neither block nor call. It may be
// called concurrently, and once more while stop runs. WatchEvent waits for the broker, as long as ctx allows; an error
// means that nothing is watched: 400 for a name that is none, 403 if the broker denies it. WatchEvent and stop are safe
// for concurrent use.
func (c *Conn) WatchEvent(ctx context.Context, publisher, event string, heard func(WatchedEvent)) (stop func(), err error) {
	if err := validSource(publisher); err != nil {
		return nil, unsent(err)
	}
	to, err := subject.Address{Port: subject.EventPort, Host: publisher, Method: http.MethodPost, Path: "/" + event}.Subject(c.plane)
	if err != nil {
		return nil, unsent(err)
	}
	added := &natsconn.Subscription{Subject: to, For: "to watch the event " + event + " of " + publisher, Receive: c.watcher(heard)}
	c.registry.registering.Lock() // a registration that fails takes back all that was subscribed meanwhile
	defer c.registry.registering.Unlock()
	ctx, cancel := context.WithTimeout(ctx, natsconn.DefaultTimeout)
	defer cancel()
	if err := c.session.Attempt(ctx, func() error { return c.session.Subscribe(added) }, nil); err != nil {
		return nil, notWatched(c.closedMeanwhile(err))
	}
	return func() { c.session.Unsubscribe([]*natsconn.Subscription{added}) }, nil
}

// notWatched returns the error for one of the broker.
func notWatched(err error) error {
	status := http.StatusServiceUnavailable
	if errors.Is(err, nats.ErrPermissionViolation) {
		status = http.StatusForbidden
	}
	return notRun(status, err, "%s", err)
}

// watcher returns the receiver of events that are watched.
func (c *Conn) watcher(heard func(WatchedEvent)) natsconn.Receiver {
	return func(message *nats.Msg, reader *wire.Reader) worker.Job {
		var request wire.Request
		if err := reader.ParseRequest(message.Data, &request); err != nil {
			c.drop(message.Subject, err)
			return nil
		}
		heard(WatchedEvent{MsgID: request.MsgID, Body: slices.Clone(request.Body)})
		return nil
	}
}
