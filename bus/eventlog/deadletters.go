package eventlog

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/internal/durable"
	"github.com/busline/busline/bus/subject"
)

// DeadLetter is a stored event that a service could not handle.
type DeadLetter struct {
	Publisher string    `json:"publisher"`
	Service   string    `json:"service"`  // host that could not handle it
	Event     string    `json:"event"`    // "on-ordered"
	ID        string    `json:"id"`       // of the event, as in events.DeliveryOf
	MsgID     string    `json:"msgId"`    // Bus-Msg-Id of the event
	At        time.Time `json:"at"`       // when it became a dead letter
	Attempts  int       `json:"attempts"` // number of deliveries
	Reason    string    `json:"reason"`   // error of the last attempt
	Sequence  uint64    `json:"sequence"` // among the dead letters of the publisher, with gaps
	Body      string    `json:"body"`     // arguments, as JSON

	stored *storedDeadLetter // nil in a value that does not come from DeadLetters
}

// storedDeadLetter is the dead letter in its stream.
type storedDeadLetter struct {
	client    *client
	event     string // the token of the event
	partition string
	message   *jetstream.RawStreamMsg
}

// DeadLetterOption is an option of [DeadLetters].
type DeadLetterOption func(*deadLetterOptions)

type deadLetterOptions struct {
	service, event string
	after          uint64
	below          *uint64
}

// Of yields only the dead letters of a service and of one kind of events; "" stands for all. Default: all.
func Of(service, event string) DeadLetterOption {
	return func(o *deadLetterOptions) { o.service, o.event = service, event }
}

// After begins after the dead letter with a sequence number. Default: with the oldest.
func After(sequence uint64) DeadLetterOption {
	return func(o *deadLetterOptions) { o.after = sequence }
}

// Below begins with the newest dead letter below a sequence number, 0 for the newest of all, and goes back. It replaces
// [After].
func Below(sequence uint64) DeadLetterOption {
	return func(o *deadLetterOptions) { o.below = &sequence }
}

// DeadLetters yields the dead letters of a publisher that exist when the sequence is ranged over, the oldest first
// unless [Below] says otherwise; none if the publisher has no log. An error ends the sequence.
func DeadLetters(ctx context.Context, conn *bus.Conn, publisher string,
	options ...DeadLetterOption) iter.Seq2[DeadLetter, error] {
	return func(yield func(DeadLetter, error) bool) {
		var chosen deadLetterOptions
		for _, option := range options {
			option(&chosen)
		}
		c, err := newPublisherClient(conn, publisher)
		if err == nil {
			err = c.deadLetters(ctx, &chosen, func(dead DeadLetter) bool { return yield(dead, nil) })
		}
		if err != nil {
			yield(DeadLetter{}, err)
		}
	}
}

func (c *client) deadLetters(ctx context.Context, options *deadLetterOptions, yield func(DeadLetter) bool) error {
	service, event := durable.AnyToken, durable.AnyToken
	if options.service != "" {
		if err := subject.CheckHost(options.service); err != nil {
			return errorf(http.StatusBadRequest, "the service: %w", err)
		}
		service = options.service
	}
	if options.event != "" {
		event = subject.Escape(options.event)
	}
	stream, err := c.stream(ctx, c.names.DeadLetters())
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		_, err = c.log(ctx) // else no service has subscribed
		return err
	}
	if err != nil {
		return c.failed(err)
	}
	filter := c.names.DeadLetter(service, event, durable.AnyToken)
	take := func(message *jetstream.RawStreamMsg) bool {
		dead := c.newDeadLetter(message)
		return dead.stored.partition == durable.CutOffToken || yield(dead)
	}
	if options.below == nil {
		return c.each(ctx, stream, filter, options.after, take)
	}
	state := stream.CachedInfo().State
	before := state.LastSeq + 1
	if *options.below > 0 {
		before = min(before, *options.below)
	}
	return (&backwards{c, stream, filter}).each(ctx, state.FirstSeq, before, take)
}

func (c *client) newDeadLetter(message *jetstream.RawStreamMsg) DeadLetter {
	service, event, partition := lastTokens(message.Subject)
	letter := DeadLetter{
		Publisher: c.names.Publisher, Service: durable.Host(service), Event: eventName(event),
		At: message.Time, Reason: message.Header.Get(durable.ReasonHeader), Sequence: message.Sequence,
		stored: &storedDeadLetter{c, event, partition, message},
	}
	letter.Attempts, _ = strconv.Atoi(message.Header.Get(durable.AttemptsHeader))
	letter.MsgID, letter.ID, letter.Body = parse(message.Data, message.Header.Get(durable.EventIDHeader))
	return letter
}

// Redeliver delivers the event again, only to the service that could not handle it, with a full number of attempts, and
// deletes the dead letter. It returns when JetStream has stored the event. It does not wait for the handler: the
// outcome appears in the log, and possibly as a new dead letter. It returns an error with status 404 if the dead letter
// does not exist any more. It returns an error and keeps the dead letter if the service does not subscribe to such
// events any more (404), or if its consumer does not accept redelivered events (503).
func (d DeadLetter) Redeliver(ctx context.Context) error {
	stream, err := d.find(ctx)
	if err != nil {
		return err
	}
	err = d.stored.client.redeliver(ctx, &redelivery{
		service: d.Service, event: d.stored.event, partition: d.stored.partition,
		eventID: d.stored.message.Header.Get(durable.EventIDHeader), data: d.stored.message.Data,
		id: "retry " + d.Service + " " + strconv.FormatInt(d.At.UnixNano(), 10), otherwise: "so it stays a dead letter",
	})
	if err != nil {
		return err
	}
	return d.delete(ctx, stream)
}

// redelivery is an event that is delivered again to one service.
type redelivery struct {
	service, event, partition string // the last two as tokens
	eventID                   string // by which JetStream knows the event
	data                      []byte
	id                        string // with which JetStream stores it once; "" for each time
	otherwise                 string // what becomes of the event if the service does not subscribe, for errors
}

// redeliver has JetStream store an event for one service.
func (c *client) redeliver(ctx context.Context, of *redelivery) error {
	again := nats.NewMsg(c.names.Retried(of.service, of.event, of.partition))
	if err := c.checkSubscribed(ctx, of, again.Subject); err != nil {
		return err
	}
	again.Data = of.data
	again.Header.Set(durable.EventIDHeader, of.eventID)
	var options []jetstream.PublishOpt
	if of.id != "" {
		options = append(options, jetstream.WithMsgID(of.id))
	}
	_, err := ask(ctx, func(ctx context.Context) (*jetstream.PubAck, error) {
		return c.manager.PublishMsg(ctx, again, options...)
	})
	if errors.Is(err, jetstream.ErrNoStreamResponse) {
		return errorf(http.StatusServiceUnavailable, "the stream %s does not take %s, or the broker does not let this "+
			"connection publish it: add %s to its subjects, see docs/guides/events.md",
			c.names.Events(), again.Subject, c.names.Retried(durable.AnyToken, durable.AnyToken, durable.AnyToken))
	}
	return c.failed(err)
}

// checkSubscribed returns an error if the service would not get the event under a subject. JetStream does not report
// that: it confirms a message without a consumer, and delivers it to none.
func (c *client) checkSubscribed(ctx context.Context, of *redelivery, again string) error {
	name := durable.ConsumerName{Service: of.service, Event: of.event}
	found, err := c.consumer(ctx, name.String())
	if isGone(err) { // it may be handled in order
		name.Partition = of.partition
		found, err = c.consumer(ctx, name.String())
	}
	switch {
	case isGone(err):
		return errorf(http.StatusNotFound, "%s does not subscribe to %s of %s any more, %s", of.service,
			eventName(of.event), c.names.Publisher, of.otherwise)
	case err != nil:
		return c.failed(err)
	case !takes(&consumer{name, found.CachedInfo()}, again):
		return errorf(http.StatusServiceUnavailable,
			"the consumer %s does not take %s, %s: if the stream %s does not either, "+
				"add %s to its subjects, see docs/guides/events.md; then restart an instance of %s",
			name, again, of.otherwise, c.names.Events(),
			c.names.Retried(durable.AnyToken, durable.AnyToken, durable.AnyToken), of.service)
	default:
		return nil
	}
}

func (c *client) consumer(ctx context.Context, name string) (jetstream.Consumer, error) {
	return ask(ctx, func(ctx context.Context) (jetstream.Consumer, error) {
		return c.manager.Consumer(ctx, c.names.Events(), name)
	})
}

// takes reports whether a consumer has a filter that takes a subject, or none at all.
func takes(of *consumer, published string) bool {
	filters := of.filters()
	return len(filters) == 0 || slices.ContainsFunc(filters,
		func(filter string) bool { return subject.Covers(filter, published) })
}

// Delete deletes the dead letter; the event is lost for the service then. It returns an error with status 404 if the
// dead letter does not exist any more.
func (d DeadLetter) Delete(ctx context.Context) error {
	stream, err := d.find(ctx)
	if err != nil {
		return err
	}
	return d.delete(ctx, stream)
}

// find returns the stream of the dead letter. It returns an error if the dead letter does not exist any more.
func (d DeadLetter) find(ctx context.Context) (jetstream.Stream, error) {
	if d.stored == nil {
		return nil, errorf(http.StatusBadRequest, "the dead letter does not come from eventlog.DeadLetters")
	}
	c := d.stored.client
	stream, err := c.stream(ctx, c.names.DeadLetters())
	if err == nil {
		_, err = ask(ctx, func(ctx context.Context) (*jetstream.RawStreamMsg, error) {
			return stream.GetMsg(ctx, d.stored.message.Sequence)
		})
	}
	if errors.Is(err, jetstream.ErrMsgNotFound) || errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, errorf(http.StatusNotFound, "the event %s of %s is no dead letter of %s any more", d.Event,
			d.Publisher, d.Service)
	}
	return stream, c.failed(err)
}

// delete deletes the dead letter. Another client may have deleted it just before; that is no error.
func (d DeadLetter) delete(ctx context.Context, stream jetstream.Stream) error {
	_, err := ask(ctx, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, stream.DeleteMsg(ctx, d.stored.message.Sequence)
	})
	if errors.Is(err, jetstream.ErrMsgDeleteUnsuccessful) {
		return nil
	}
	return d.stored.client.failed(err)
}
