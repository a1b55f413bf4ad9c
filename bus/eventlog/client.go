package eventlog

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/internal/durable"
	"github.com/busline/busline/bus/internal/natsconn"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/reflectapi/similar"
)

// client asks JetStream about one publisher.
type client struct {
	conn    *bus.Conn
	manager jetstream.JetStream
	names   durable.Names
}

func newClient(conn *bus.Conn) (*client, error) {
	if conn == nil {
		return nil, errorf(http.StatusBadRequest, "the connection is nil: pass one from bus.Connect")
	}
	manager, err := jetstream.NewWithAPIPrefix(conn.NATS(), conn.JetStreamPrefix())
	if err != nil {
		return nil, errorf(http.StatusServiceUnavailable, "JetStream: %w", err)
	}
	return &client{conn, manager, durable.Names{Plane: conn.Plane()}}, nil
}

func newPublisherClient(conn *bus.Conn, publisher string) (*client, error) {
	c, err := newClient(conn)
	if err != nil {
		return nil, err
	}
	if err := subject.CheckHost(publisher); err != nil {
		return nil, errorf(http.StatusBadRequest, "the publisher: %w", err)
	}
	c.names.Publisher = publisher
	return c, nil
}

// answerTimeout bounds one request to JetStream, which does not answer a request that the broker denies.
const answerTimeout = 5 * time.Second

// ask makes a request to JetStream.
func ask[T any](ctx context.Context, request func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	return request(ctx)
}

// log returns the log of the publisher, and an error with the name that was probably meant if there is none.
func (c *client) log(ctx context.Context) (jetstream.Stream, error) {
	stream, err := c.stream(ctx, c.names.Events())
	if !errors.Is(err, jetstream.ErrStreamNotFound) {
		return stream, c.failed(err)
	}
	publishers, _ := c.publishers(ctx) // without permission there is no hint
	return nil, errorf(http.StatusNotFound, "%s has no stored events in plane %s%s", c.names.Publisher, c.names.Plane,
		similar.DidYouMean(c.names.Publisher, publishers))
}

// openLog returns the client for a publisher, and its log.
func openLog(ctx context.Context, conn *bus.Conn, publisher string) (*client, jetstream.Stream, error) {
	c, err := newPublisherClient(conn, publisher)
	if err != nil {
		return nil, nil, err
	}
	log, err := c.log(ctx)
	return c, log, err
}

func (c *client) stream(ctx context.Context, name string) (jetstream.Stream, error) {
	return ask(ctx, func(ctx context.Context) (jetstream.Stream, error) { return c.manager.Stream(ctx, name) })
}

// publishers returns the publishers on the plane that have a log, sorted.
func (c *client) publishers(ctx context.Context) (hosts []string, err error) {
	hosts, err = ask(ctx, func(ctx context.Context) (hosts []string, err error) {
		listed := c.manager.StreamNames(ctx)
		for name := range listed.Name() {
			if names, ok := durable.Publisher(name); ok && names.Plane == c.names.Plane {
				hosts = append(hosts, names.Publisher)
			}
		}
		return hosts, listed.Err()
	})
	slices.Sort(hosts)
	return hosts, c.failed(err)
}

// consumers returns the consumers of the log that are of subscriptions, with the parts of their names.
func (c *client) consumers(ctx context.Context, log jetstream.Stream) (found []consumer, err error) {
	found, err = ask(ctx, func(ctx context.Context) (found []consumer, err error) {
		listed := log.ListConsumers(ctx)
		for info := range listed.Info() {
			if name, ok := durable.ParseConsumer(info.Name); ok {
				found = append(found, consumer{name, info})
			}
		}
		return found, listed.Err()
	})
	return found, c.failed(err)
}

// consumer is a consumer of a subscription: its only one, or that of one partition.
type consumer struct {
	durable.ConsumerName
	*jetstream.ConsumerInfo
}

func (c *consumer) filters() []string {
	if c.Config.FilterSubject != "" {
		return []string{c.Config.FilterSubject}
	}
	return c.Config.FilterSubjects
}

// backlog returns the number of events that are not handled.
func (c *consumer) backlog() int { return int(c.NumPending) + c.NumAckPending }

// oldest returns the oldest event that a consumer has not handled; nil if there is none.
func (c *client) oldest(ctx context.Context, log jetstream.Stream,
	of *consumer) (oldest *jetstream.RawStreamMsg, err error) {
	for _, filter := range of.filters() {
		message, err := c.message(ctx, log, of.AckFloor.Stream+1, filter)
		switch {
		case errors.Is(err, jetstream.ErrMsgNotFound):
		case err != nil:
			return nil, c.failed(err)
		case oldest == nil || message.Sequence < oldest.Sequence:
			oldest = message
		}
	}
	return oldest, nil
}

// message returns the first message under a subject, from a sequence number on.
func (c *client) message(ctx context.Context, stream jetstream.Stream, from uint64,
	filter string) (*jetstream.RawStreamMsg, error) {
	return ask(ctx, func(ctx context.Context) (*jetstream.RawStreamMsg, error) {
		return stream.GetMsg(ctx, from, jetstream.WithGetMsgSubject(filter))
	})
}

// counts returns how many messages a stream has under each subject that a filter matches.
func (c *client) counts(ctx context.Context, stream jetstream.Stream, filter string) (map[string]uint64, error) {
	info, err := ask(ctx, func(ctx context.Context) (*jetstream.StreamInfo, error) {
		return stream.Info(ctx, jetstream.WithSubjectFilter(filter))
	})
	if err != nil {
		return nil, c.failed(err)
	}
	return info.State.Subjects, nil
}

// lastTokens returns the last tokens of a subject: the service, the event and the partition. It is not to be called for
// a subject with fewer.
func lastTokens(of string) (service, event, partition string) {
	tokens := strings.Split(of, ".")
	last := len(tokens) - 1
	return tokens[last-2], tokens[last-1], tokens[last]
}

// eventName returns the name of the event that a token stands for.
func eventName(token string) string {
	if name, err := subject.Unescape(token); err == nil {
		return name
	}
	return token
}

// errorf returns an error about something that was not done.
func errorf(status int, format string, arguments ...any) error {
	err := bus.Errorf(status, format, arguments...)
	if failed, ok := errors.AsType[*bus.Error](err); ok {
		failed.Executed = bus.ExecutedNo
	}
	return err
}

// failed returns the error for one of JetStream; nil for nil.
func (c *client) failed(err error) error {
	if _, ok := errors.AsType[*bus.Error](err); ok || err == nil {
		return err
	}
	about := "JetStream"
	if c.names.Publisher != "" {
		about = "the stored events of " + c.names.Publisher
	}
	timedOut := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout)
	denied := c.denied()
	switch {
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount),
		errors.Is(err, nats.ErrNoResponders):
		return errorf(http.StatusServiceUnavailable,
			"the broker has no JetStream for this connection, so that it stores no events: turn it on (%w)", err)
	case errors.Is(err, nats.ErrConnectionClosed), !c.conn.Connected():
		return errorf(http.StatusServiceUnavailable, "%s: %w: %w", about, bus.ErrDisconnected, err)
	case timedOut && denied != "":
		return errorf(http.StatusForbidden,
			"%s: the broker does not let this connection %s; see docs/guides/permissions.md (%w)", about, denied, err)
	case timedOut:
		return errorf(http.StatusGatewayTimeout, "%s: %w: %w", about, bus.ErrTimeout, err)
	default:
		return errorf(http.StatusServiceUnavailable, "%s: %w", about, err)
	}
}

// denied returns what the broker denied last, if JetStream may be silent because of that.
func (c *client) denied() string {
	last, ok := natsconn.ParseViolation(c.conn.NATS().LastError())
	switch {
	case !ok:
		return ""
	case last.Publish && (strings.HasPrefix(last.Subject, "$JS.") || strings.HasPrefix(last.Subject, c.names.Plane+".")):
		return "publish to " + last.Subject
	case !last.Publish:
		return "subscribe to " + last.Subject
	default:
		return ""
	}
}

// unknown returns the error for a name that is not among those that are there.
func unknown(what, name string, there []string) error {
	slices.Sort(there)
	there = slices.Compact(there)
	hint := similar.DidYouMean(name, there)
	if hint == "" && len(there) > 0 {
		hint = "; there are " + strings.Join(there[:min(len(there), mostNames)], ", ")
		if more := len(there) - mostNames; more > 0 {
			hint += fmt.Sprintf(" and %d more", more)
		}
	}
	return errorf(http.StatusNotFound, "%s%s", what, hint)
}

// mostNames is how many names an error lists.
const mostNames = 20
