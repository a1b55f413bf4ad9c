package bus

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"github.com/busline/busline/bus/internal/durable"
	"github.com/busline/busline/bus/internal/natsconn"
	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
	"github.com/busline/busline/reflectapi/similar"
)

// Publisher publishes the events of one host over a connection. Generated publishers (see bus/cmd/apigen, -events)
// use it. It is safe for concurrent use.
type Publisher struct {
	conn  *Conn
	host  string
	store eventStore // nil: events are not stored

	doc       string                  // of the interface
	described map[eventName]*endpoint // events of the interface, as for a subscriber; nil if it is not known
	access    *endpoint               // whose rule says which callers see the events, and may publish them by hand
}

// PublishOption configures the events of a publisher, in [Conn.NewPublisher].
type PublishOption interface{ applyToPublisher(*publishConfig) }

// publishConfig holds what the options of NewPublisher set.
type publishConfig struct {
	durable *storing // nil: events are not stored
	limits  durable.Limits
	limited bool // an option has set limits

	events    reflect.Type  // the interface; nil if it is not known
	described serviceConfig // of its events: the claims
}

// EventsOf tells a publisher the interface of its events, which generated publishers do: EventsOf[ordersapi.Events]().
// The events are then described in documents, and can be published by hand. The names of their arguments come from the
// signature table that apigen writes. Default: only the paths of events are known.
func EventsOf[T any]() PublishOption {
	return publishOption(func(c *publishConfig) { c.events = reflect.TypeFor[T]() })
}

// eventStore stores events for services that subscribe with [Durable].
type eventStore interface {
	// Store stores the event of a path, and returns when that is confirmed. id is that of [WithEventID], "" for none.
	// Events with equal keys are kept in order; "" stands for none.
	Store(ctx context.Context, path, id, key string, event *wire.Request) error
	// Permissions returns the permissions that the user of the connection needs for storing.
	Permissions() (publish, subscribe []durable.Permission)
}

// NewPublisher prepares to publish the events of a host, usually that of the connection. With [Durable] they are also
// stored: NewPublisher creates the stream if there is none, and returns an error if the broker has no JetStream. It
// takes at most 5 s.
func (c *Conn) NewPublisher(host string, options ...PublishOption) (*Publisher, error) {
	config := publishConfig{described: *newEventsConfig(nil)}
	for i, option := range options {
		if option == nil {
			return nil, notRun(http.StatusBadRequest, nil, "events of %s: %s", host, noOption(i))
		}
		option.applyToPublisher(&config)
	}
	if err := validSource(host); err != nil {
		return nil, unsent(err)
	}
	events := &Publisher{conn: c, host: host}
	if err := events.describe(&config); err != nil {
		return nil, notRun(http.StatusBadRequest, err, "events of %s: %s", host, err)
	}
	if c != nil {
		c.callees.note(subject.Address{Host: host, Port: subject.EventPort}, nil) // Permissions may be called before the first event is published
	}
	if config.durable == nil && config.limited {
		return nil, notRun(http.StatusBadRequest, nil, "events of %s: bus.MaxAge, bus.MaxBytes and bus.Replicas are for stored events: add bus.Durable()", host)
	}
	switch {
	case c == nil && config.durable == nil:
		return events, nil
	case c == nil:
		return nil, noConnection("https://" + host)
	}
	c.noteRequired([]*endpoint{events.access})
	ctx, cancel := context.WithTimeout(c.life.base, natsconn.DefaultTimeout)
	defer cancel()
	if config.durable != nil {
		store, err := config.durable.open(ctx, c, host, config.limits)
		if err != nil {
			return nil, err
		}
		events.store = store
	}
	c.events.describe(events)
	c.listPublisher(ctx)
	return events, nil
}

// validSource returns an error if a host cannot publish events.
func validSource(host string) error {
	if host == subject.HostAll {
		return notRun(http.StatusBadRequest, nil, "the host %q has no events: name the service that publishes them", host)
	}
	return subject.CheckHost(host)
}

// Event is one event of a publisher, with its arguments as a Go type. It is safe for concurrent use.
type Event[Arguments any] struct {
	events *Publisher
	path   string
	key    *eventKey // nil for none
	call   Operation[Arguments, struct{}]
}

// NewEvent prepares to publish one event under its path, "/on-ordered". Arguments is a struct with a json tag for each
// argument, or [Args]. If the path is invalid, every Publish returns the error.
func NewEvent[Arguments any](of *Publisher, path string) Event[Arguments] {
	call := NewOperation[Arguments, struct{}](of.conn, "POST https://"+of.host+":"+strconv.Itoa(subject.EventPort)+path)
	event := Event[Arguments]{events: of, path: path, call: call}
	if key := of.declaredKey(path); key != "" {
		return event.KeyedBy(key)
	}
	if call.err == nil {
		of.conn.events.publish(of, path, "")
	}
	return event
}

// Publish sends the event to the broker, which delivers it at most once to one instance of each service that subscribes
// at this moment without [Durable]. It returns when the broker has the event, and does not wait for its handlers; an
// error of a handler is not returned. The handlers have a time budget of their own, 20 s.
//
// An error means that the event did not reach the broker: the arguments cannot be encoded or exceed one message of the
// broker (413), the connection is closed or the broker is out of reach (503), or the broker denies the event (403).
// Executed is then [ExecutedNo], unless the broker went away before it had confirmed.
//
// If the publisher has [Durable], the event is stored first, for services that subscribe with that option. An error
// then means that the event is not stored or, with executed unknown, that it may be. Without Durable those services do
// not get the event. See also [WithEventID].
func (e Event[Arguments]) Publish(ctx context.Context, arguments Arguments) error {
	request, err := e.request(arguments)
	if err != nil {
		return err
	}
	return e.call.conn.publishEvent(ctx, request, e.events.store)
}

// request encodes the arguments.
func (e Event[Arguments]) request(arguments Arguments) (*clientCall, error) {
	if e.call.err != nil {
		return nil, unsent(e.call.err)
	}
	key, err := e.key.of(e.call.to.address, arguments)
	if err != nil {
		return nil, err
	}
	request, err := e.call.request(arguments)
	if err != nil {
		return nil, err
	}
	request.key = key
	return request, nil
}

// Outcomes publishes the event when the sequence is ranged over, once for each range. It waits until the event is
// handled, and yields the outcome at each service, in no particular order: the instance that handled the event and, if
// its handler failed, the error. It ends like [Conn.Multicast]; leaving the loop early cancels the handlers that are
// still running. If no instance subscribes, nothing is yielded. Services that subscribe with [Durable] do not answer.
// If the publisher has [Durable], interceptors and metrics see two calls: one that stores the event and a multicast.
func (e Event[Arguments]) Outcomes(ctx context.Context, arguments Arguments) iter.Seq2[Response[struct{}], error] {
	return func(yield func(Response[struct{}], error) bool) {
		if err := e.keep(ctx, arguments); err != nil {
			yield(Response[struct{}]{}, err)
			return
		}
		e.call.Multicast(ctx, arguments)(yield)
	}
}

// keep stores the event if the publisher has a store.
func (e Event[Arguments]) keep(ctx context.Context, arguments Arguments) error {
	request, err := e.request(arguments)
	if err != nil || e.events.store == nil {
		return err
	}
	return e.call.conn.storeEvent(ctx, request, e.events.store)
}

// Publish publishes an event by its address, "https://orders.example:417/on-ordered", at most once, like
// [Event.Publish]. The arguments are those of [Conn.Call]. Publish never stores the event, so services that subscribe
// with [Durable] do not get it: use [Conn.NewPublisher] with that option for them. An event that resembles one of a
// publisher of this connection is logged as a warning, and refused on a bus of bustest. It is safe for concurrent use.
func (c *Conn) Publish(ctx context.Context, address string, arguments any) error {
	if c == nil {
		return noConnection(address)
	}
	to, err := c.destinationOf(address, arguments)
	if err != nil {
		return unsent(err)
	}
	request, err := to.request(arguments)
	switch {
	case err != nil:
		return unsent(err)
	case request.Address.Port != subject.EventPort:
		return notRun(http.StatusBadRequest, nil, "the event %s is not on port %d: write https://host:%d/on-…", address, subject.EventPort, subject.EventPort)
	case request.Method != http.MethodPost:
		return notRun(http.StatusBadRequest, nil, "the event %s is published with POST: leave the method out", address)
	}
	if err := c.misspeltEvent(request.Address); err != nil {
		return err
	}
	return c.publishEvent(ctx, request, nil)
}

// misspeltEvent tells of an event that a publisher of this connection does not have, and that resembles one that it
// has.
func (c *Conn) misspeltEvent(address subject.Address) error {
	meant := ""
	if event := strings.TrimPrefix(address.Path, "/"); c.events.publicationOf(address.Host, event).publisher == nil {
		var names []string
		for _, each := range c.events.publishes() {
			if each.Publisher == address.Host {
				names = append(names, each.Event)
			}
		}
		meant = similar.DidYouMean(event, names)
	}
	switch {
	case meant == "":
		return nil
	case c.config.strict:
		return notRun(http.StatusBadRequest, nil, "%s publishes no event at %s%s", address.Host, address.Path, meant)
	}
	text := fmt.Sprintf("an event is published by hand that the publisher of %s does not have: %s%s", address.Host, address.Path, meant)
	c.log(c.limitedLine(zerolog.WarnLevel, text), text)
	return nil
}

// publishEvent sends an event to the broker and returns when the broker has it. No caller waits for answers: the acks
// and responses of the subscribers count as unmatched.
func (c *Conn) publishEvent(ctx context.Context, event *clientCall, store eventStore) error {
	return c.publishing(ctx, event, func(ctx context.Context) error {
		if store != nil {
			return c.publishStored(ctx, event, store)
		}
		before := c.broker.LastReport()
		if err := c.client.Publish(ctx, &event.Outgoing); err != nil {
			return unsent(err)
		}
		return c.confirm(ctx, event, before)
	})
}

// publishing sends an event through the interceptors, seals it, and calls carry.
func (c *Conn) publishing(ctx context.Context, event *clientCall, carry func(context.Context) error) error {
	c.telemetry.made.Add(1)
	x := event.exchange(c)
	x.Multicast = true
	event.carry = func(ctx context.Context) error {
		c.callees.note(event.Address, nil)
		return c.client.PublishEvent(ctx, &event.Outgoing, carry)
	}
	err := c.calling(ctx, x)
	switch {
	case err != nil:
		return x.failed(err)
	case x.answeredByInterceptor() && x.Response.Status >= http.StatusBadRequest:
		return unsent(responseError(x.Response))
	default:
		return nil
	}
}

// publishStored stores an event, and then also sends it to subscribers without Durable. If they do not get it, that is
// no error, because the event is stored.
func (c *Conn) publishStored(ctx context.Context, event *clientCall, store eventStore) error {
	if err := keep(ctx, event, store); err != nil {
		return err
	}
	if err := c.client.Publish(ctx, &event.Outgoing); err != nil {
		c.log(c.logger.Warn().Err(err).Str("subject", event.Subject),
			"an event was stored, but subscribers without bus.Durable did not get it")
	}
	return nil
}

// storeEvent only stores an event.
func (c *Conn) storeEvent(ctx context.Context, event *clientCall, store eventStore) error {
	return c.publishing(ctx, event, func(ctx context.Context) error { return keep(ctx, event, store) })
}

func keep(ctx context.Context, event *clientCall, store eventStore) error {
	id, _ := ctx.Value(eventIDKey{}).(string)
	return errorOrNil(store.Store(ctx, event.Address.Path, id, event.key, &event.Request))
}

// confirm returns when the broker has received the published event. It returns an error if the broker denied it.
func (c *Conn) confirm(ctx context.Context, event *clientCall, before error) error {
	ctx, cancel := context.WithTimeout(ctx, natsconn.DefaultTimeout)
	defer cancel()
	err := c.broker.Flush(ctx)
	if err != nil {
		failed := mayHaveRun(http.StatusServiceUnavailable, errors.Join(ErrDisconnected, err), "the broker has not confirmed the event: %s", err)
		failed.MsgID = event.MsgID
		return failed
	}
	if c.broker.IsNewViolation(before, natsconn.Violation{Publish: true, Subject: event.Subject}) {
		failed := c.broker.Forbidden(event.Subject)
		failed.Executed, failed.Cause = status.ExecutedNo, nats.ErrPermissionViolation
		return failed
	}
	return nil
}
