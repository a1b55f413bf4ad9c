package events

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/internal/client"
	"github.com/busline/busline/bus/internal/durable"
	"github.com/busline/busline/bus/internal/feature"
	"github.com/busline/busline/bus/internal/natsconn"
	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/reflectapi/similar"
	"github.com/busline/busline/restmap"
)

// Event is one event of a publisher, with its arguments as a Go type. It is safe for concurrent use.
type Event[Arguments any] struct {
	of      *Publisher
	path    string
	address string
	key     *eventKey // nil for none
	to      feature.Destination
	err     error // invalid path or type: returned by every Publish
}

// NewEvent prepares to publish one event under its path, "/on-ordered". Arguments is a struct with a json tag for each
// argument, or bus.Args. If the path is invalid, every Publish returns the error.
func NewEvent[Arguments any](of *Publisher, path string) Event[Arguments] {
	event := Event[Arguments]{of: of, path: path, address: addressOf(of.host, path)}
	if of.conn == nil {
		event.err = feature.Bus.NoConnection("POST " + event.address)
	} else if event.err = validPath(of.host, path); event.err == nil {
		event.to, event.err = of.sources.Destination("POST "+event.address, reflect.TypeFor[Arguments]())
	}
	if key := of.declaredKey(path); key != "" {
		return event.KeyedBy(key)
	}
	if event.err == nil {
		of.sources.publish(of, path, "")
	}
	return event
}

// KeyedBy returns the event with a key: the value of an argument, found by its json tag in a struct, or by its name in
// bus.Args. Events with equal keys are handled in order. A key is a text, an integer, or a value that marshals as text.
// If an event has no key, or an empty one, Publish returns an error with status 400, and nothing is sent. Default: no
// key, and no order. Generated publishers set it from //busline:key.
func (e Event[Arguments]) KeyedBy(argument string) Event[Arguments] {
	e.key = newEventKey(reflect.TypeFor[Arguments](), argument)
	if e.err == nil && e.key.err == nil {
		e.of.sources.publish(e.of, e.path, argument)
	}
	return e
}

// Publish sends the event to the broker, which delivers it at most once to one instance of each service that subscribes
// at this moment without [Durable]. It returns when the broker has the event, and does not wait for its handlers; an
// error of a handler is not returned. The handlers have a time budget of their own, 20 s.
//
// An error means that the event did not reach the broker: the arguments cannot be encoded or exceed one message of the
// broker (413), the connection is closed or the broker is out of reach (503), or the broker denies the event (403).
// Executed is then bus.ExecutedNo, unless the broker went away before it had confirmed.
//
// If the publisher has [Durable], the event is stored first, for services that subscribe with that option. An error
// then means that the event is not stored or, with executed unknown, that it may be. Without Durable those services do
// not get the event. See also [WithID].
func (e Event[Arguments]) Publish(ctx context.Context, arguments Arguments) error {
	message, err := e.message(arguments)
	if err != nil {
		return err
	}
	return e.of.sources.send(ctx, message, e.of.store)
}

// Cancel drops an event of [At] that has not come yet, by the id of [WithID]. It has no effect on one that has, and on
// one that waits in an outbox. The id cannot be used again for two minutes. Its errors are those of Publish.
func (e Event[Arguments]) Cancel(ctx context.Context, id string) error {
	err := e.err
	if err == nil && id == "" {
		err = status.NotRun(http.StatusBadRequest, nil, "event %s cannot be canceled without the id of events.WithID",
			e.address)
	}
	if err != nil {
		return feature.Bus.Unsent(err)
	}
	if e.of.store == nil {
		return notStored(subject.Address{Host: e.of.host, Path: e.path}, "be canceled")
	}
	return feature.Bus.Error(e.of.store.Cancel(ctx, e.path, id))
}

// message is an event that is to be sent.
type message struct {
	request feature.Request
	key     string // "" for none
}

func (m message) outgoing() *client.Outgoing { return m.request.Outgoing() }

// message encodes the arguments.
func (e Event[Arguments]) message(arguments Arguments) (message, error) {
	if e.err != nil {
		return message{}, feature.Bus.Unsent(e.err)
	}
	key, err := e.key.of(e.address, arguments)
	if err != nil {
		return message{}, feature.Bus.Unsent(err)
	}
	request, err := e.to.Request(arguments)
	if err != nil {
		return message{}, feature.Bus.Unsent(err)
	}
	if reflect.TypeFor[Arguments]().Kind() != reflect.Struct {
		err = e.of.sources.checkArguments(request.Outgoing())
	}
	return message{request, key}, err
}

// Outcomes publishes the event when the sequence is ranged over, once for each range. It waits until the event is
// handled, and yields the outcome at each service, in no particular order: the instance that handled the event and, if
// its handler failed, the error. It ends like Multicast of bus.Conn; leaving the loop early cancels the handlers that
// are still running. If no instance subscribes, nothing is yielded. Services that subscribe with [Durable] do not
// answer. If the publisher has [Durable], interceptors and metrics see two calls: one that stores the event and a
// multicast.
func (e Event[Arguments]) Outcomes(ctx context.Context, arguments Arguments) iter.Seq2[bus.Response[struct{}], error] {
	return func(yield func(bus.Response[struct{}], error) bool) {
		event, err := e.message(arguments)
		if err == nil && (recorderOf(ctx) != nil || !laterOf(ctx).IsZero()) {
			err = feature.Bus.Error(status.NotRun(http.StatusBadRequest, nil,
				"event %s: no service handles it now: in a transaction, or for later, use Publish in place of Outcomes", e.address))
		}
		if err == nil && e.of.store != nil {
			err = e.of.sources.OneWay(ctx, event.request,
				func(ctx context.Context) error { return feature.Bus.Error(e.of.store.Store(ctx, event.stored(ctx))) })
		}
		if err != nil {
			yield(bus.Response[struct{}]{}, err)
			return
		}
		bus.NewOperation[Arguments, struct{}](e.of.conn, "POST "+e.address).Multicast(ctx, arguments)(yield)
	}
}

// Publish publishes an event by its address, "https://orders.example:417/on-ordered", at most once, like
// [Event.Publish]. The arguments are those of Call of bus.Conn. Publish never stores the event, so services that
// subscribe with [Durable] do not get it: use [NewPublisher] with that option for them. It is safe for concurrent use.
//
// Names that the publisher of this connection does not have, of the event or of arguments, are logged as warnings if
// they resemble those that it has. On a bus of bustest they are refused, with status 400, if any connection of the bus
// has the publisher or, for arguments, subscribes to the event.
func Publish(ctx context.Context, conn *bus.Conn, address string, arguments any) error {
	if conn == nil {
		return feature.Bus.NoConnection(address)
	}
	s := sourcesOf(conn)
	to, err := s.FindDestination(address, reflect.TypeOf(arguments))
	if err != nil {
		return feature.Bus.Unsent(err)
	}
	request, err := to.Request(arguments)
	if err == nil {
		err = s.checkByAddress(address, request.Outgoing())
	}
	if err != nil {
		return feature.Bus.Unsent(err)
	}
	return s.send(ctx, message{request: request}, nil)
}

// checkByAddress returns an error for an address that is not that of an event, and for names that look misspelt.
func (s *sources) checkByAddress(address string, request *client.Outgoing) error {
	switch {
	case request.Address.Port != subject.EventPort:
		return status.NotRun(http.StatusBadRequest, nil, "the event %s is not on port %d: write https://host:%d/on-…",
			address, subject.EventPort, subject.EventPort)
	case request.Method != http.MethodPost:
		return status.NotRun(http.StatusBadRequest, nil, "the event %s is published with POST: leave the method out", address)
	}
	if err := validPath(request.Address.Host, request.Address.Path); err != nil {
		return err
	}
	if err := s.checkName(request.Address); err != nil {
		return err
	}
	return s.checkArguments(request)
}

// checkName returns an error, or logs a warning, for an event that its publisher is not known to have, and that
// resembles one that it has.
func (s *sources) checkName(address subject.Address) error {
	if s.knownPublication(eventName{address.Host, address.Path}).publisher != nil {
		return nil
	}
	meant := similar.DidYouMean(strings.TrimPrefix(address.Path, "/"), s.knownEvents(address.Host))
	switch {
	case meant == "":
		return nil
	case s.IsStrict():
		return status.NotRun(http.StatusBadRequest, nil, "%s publishes no event at %s%s", address.Host, address.Path, meant)
	}
	s.warn(fmt.Sprintf("an event is published by hand that the publisher of %s does not have: %s%s", address.Host,
		address.Path, meant))
	return nil
}

// checkArguments returns an error for arguments that the event is not known to have, or logs a warning if they resemble
// those that it has.
func (s *sources) checkArguments(event *client.Outgoing) error {
	name := eventName{event.Address.Host, event.Address.Path}
	var described *handledEvent
	if by := s.knownPublication(name).publisher; by != nil {
		described = by.described[name]
	}
	if described == nil && s.IsStrict() {
		shared, _ := s.Shared().Load(subscribed(name))
		described, _ = shared.(*handledEvent)
	}
	if described == nil {
		return nil
	}
	_, query, _ := strings.Cut(event.Target, "?")
	request := &restmap.Request{Method: http.MethodPost, Query: query, ContentType: event.Header.Get("Content-Type"),
		Body: event.Body}
	_, err := described.Mapped().Decode(request)
	s.warnOfMisspelt(name, request)
	if unfit, ok := errors.AsType[*restmap.InputError](err); ok && unfit.NamesUnknown() && s.IsStrict() {
		return feature.Bus.Unsent(err)
	}
	return nil
}

// warnOfMisspelt logs the arguments of an event that were ignored although they may be meant for others.
func (s *sources) warnOfMisspelt(name eventName, request *restmap.Request) {
	for _, argument := range request.Misspelt {
		s.warn(fmt.Sprintf("event %s of %s has no argument %s", name.path, name.host, argument))
	}
}

// send sends an event to the broker and returns when the broker has it. No caller waits for answers: the acks and
// responses of the subscribers count as unmatched.
func (s *sources) send(ctx context.Context, event message, store store) error {
	return s.OneWay(ctx, event.request, func(ctx context.Context) error {
		outgoing := event.outgoing()
		if record := recorderOf(ctx); record != nil {
			return event.record(ctx, store, record)
		}
		if store != nil {
			return s.sendStored(ctx, event, store)
		}
		if laterOf(ctx).After(time.Now()) {
			return notStored(outgoing.Address, "come later")
		}
		before := s.Broker().LastReport()
		if err := s.Client().Publish(ctx, outgoing); err != nil {
			return feature.Bus.Unsent(err)
		}
		return s.confirm(ctx, outgoing, before)
	})
}

// record passes the event to a recorder.
func (m message) record(ctx context.Context, store store, record func(context.Context, Record) error) error {
	address := m.outgoing().Address
	if store == nil {
		return notStored(address, "be part of a transaction")
	}
	event := m.stored(ctx)
	if err := store.Check(event); err != nil {
		return feature.Bus.Error(err)
	}
	kept := newRecord(address.Host, event)
	if err := kept.checkTexts(); err != nil {
		return feature.Bus.Error(err)
	}
	if err := record(ctx, kept); err != nil {
		return feature.Bus.Error(status.NotRun(http.StatusInternalServerError, err,
			"event %s of %s is not kept for later: %s", address.Path, address.Host, err))
	}
	return nil
}

// notStored returns the error for what only stored events can.
func notStored(address subject.Address, what string) error {
	return feature.Bus.Error(status.NotRun(http.StatusBadRequest, nil,
		"event %s of %s is not stored, so it cannot %s: use a publisher with events.Durable()", address.Path, address.Host,
		what))
}

// sendStored stores an event, and then also sends it to subscribers without Durable. If they do not get it, that is no
// error, because the event is stored.
func (s *sources) sendStored(ctx context.Context, event message, store store) error {
	stored := event.stored(ctx)
	if err := store.Store(ctx, stored); err != nil {
		return feature.Bus.Error(err)
	}
	if stored.At.IsZero() {
		s.sendUnstored(ctx, event.outgoing())
	}
	return nil
}

// stored returns what is stored of the event.
func (m message) stored(ctx context.Context) durable.Event {
	id, _ := ctx.Value(idKey{}).(string)
	outgoing := m.outgoing()
	event := durable.Event{Path: outgoing.Address.Path, ID: id, Key: m.key, Request: &outgoing.Request}
	if at := laterOf(ctx); at.After(time.Now()) {
		event.At = at
	}
	return event
}

// confirm returns when the broker has received the published event. It returns an error if the broker denied it.
func (s *sources) confirm(ctx context.Context, event *client.Outgoing, before error) error {
	ctx, cancel := context.WithTimeout(ctx, natsconn.DefaultTimeout)
	defer cancel()
	broker := s.Broker()
	if err := broker.Flush(ctx); err != nil {
		failed := status.MayHaveRun(http.StatusServiceUnavailable, errors.Join(status.ErrDisconnected, err),
			"the broker has not confirmed the event: %s", err)
		failed.MsgID = event.MsgID
		return failed
	}
	if broker.IsNewViolation(before, natsconn.Violation{Publish: true, Subject: event.Subject}) {
		failed := broker.Forbidden(event.Subject)
		failed.Executed, failed.Cause = status.ExecutedNo, nats.ErrPermissionViolation
		return failed
	}
	return nil
}
