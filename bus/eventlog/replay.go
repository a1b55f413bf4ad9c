package eventlog

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/subject"
)

// Replay delivers the events of a publisher again to a service, from those on that were stored at a time; the zero time
// stands for the beginning of the log, and event "" for all events that the service subscribes to. It sets the
// subscription back: what comes again comes with a full number of attempts, and includes dead letters that were
// redelivered. Events that are not handled yet still come, also older ones. A service that runs need not be stopped;
// one that does not gets the events when it runs.
//
// It returns how many events come now, those that were not handled yet included. It returns an error with status 400
// for a time before the first event of the log, which says when the log begins, or in the future, and 404 for a service
// or an event that does not subscribe. If only some of the events could be set back, it returns the number of those
// with the error; their status Executed is unknown.
func Replay(ctx context.Context, conn *bus.Conn, publisher, service, event string,
	from time.Time) (events int, err error) {
	c, log, consumers, err := toReplay(ctx, conn, publisher, service, event, from)
	if err != nil {
		return 0, err
	}
	for i := range consumers {
		pending, err := c.setBack(ctx, log, &consumers[i], from)
		if err != nil {
			return events, partly(c.failed(err), i, len(consumers))
		}
		events += int(pending)
	}
	return events, nil
}

// toReplay returns the log of a publisher and the consumers of a service in it, if they can be set back to a time.
func toReplay(ctx context.Context, conn *bus.Conn, publisher, service, event string,
	from time.Time) (c *client, log jetstream.Stream, consumers []consumer, err error) {
	if c, log, err = openLog(ctx, conn, publisher); err != nil {
		return nil, nil, nil, err
	}
	if err := c.checkStart(ctx, log, from); err != nil {
		return nil, nil, nil, err
	}
	consumers, err = c.subscribed(ctx, log, service, event)
	return c, log, consumers, err
}

// ReplayCount returns how many events [Replay] would deliver now, and the same errors. It changes nothing.
func ReplayCount(ctx context.Context, conn *bus.Conn, publisher, service, event string,
	from time.Time) (events int, err error) {
	c, log, consumers, err := toReplay(ctx, conn, publisher, service, event, from)
	if err != nil {
		return 0, err
	}
	for i := range consumers {
		config, err := c.startingAt(ctx, log, &consumers[i], from)
		if err != nil {
			return 0, err
		}
		counting, err := ask(ctx, func(ctx context.Context) (jetstream.Consumer, error) {
			return log.CreateConsumer(ctx, jetstream.ConsumerConfig{
				FilterSubjects: consumers[i].filters(), DeliverPolicy: config.DeliverPolicy, OptStartTime: config.OptStartTime,
				AckPolicy: jetstream.AckNonePolicy, InactiveThreshold: answerTimeout, MemoryStorage: true,
			})
		})
		if err != nil {
			return 0, c.failed(err)
		}
		events += int(counting.CachedInfo().NumPending)
	}
	return events, nil
}

// partly says in an error that some of the consumers were done before.
func partly(err error, done, all int) error {
	if failed, ok := errors.AsType[*bus.Error](err); ok && done > 0 {
		failed.Executed = bus.ExecutedUnknown
		failed.Detail += fmt.Sprintf("; %d of %d consumers were done before, repeat it for the others", done, all)
	}
	return err
}

// checkStart returns an error for a time that the log does not reach back to, or that has not come.
func (c *client) checkStart(ctx context.Context, log jetstream.Stream, from time.Time) error {
	first, err := c.first(ctx, log)
	switch {
	case err != nil:
		return err
	case first.IsZero():
		return errorf(http.StatusBadRequest, "the log of %s is empty: there is nothing to replay", c.names.Publisher)
	case from.IsZero():
		return nil
	case from.After(time.Now()):
		return inFuture(from)
	case from.Before(first):
		return errorf(http.StatusBadRequest,
			"the log of %s begins at %s, so it does not reach back to %s: choose a time from then on, or the beginning",
			c.names.Publisher, first.UTC().Format(time.RFC3339Nano), from.UTC().Format(time.RFC3339Nano))
	default:
		return nil
	}
}

// subscribed returns the consumers of a service for an event, "" for all.
func (c *client) subscribed(ctx context.Context, log jetstream.Stream, service, event string) ([]consumer, error) {
	if err := subject.CheckHost(service); err != nil {
		return nil, errorf(http.StatusBadRequest, "the service: %w", err)
	}
	all, err := c.consumers(ctx, log)
	if err != nil {
		return nil, err
	}
	var services, events []string
	var found []consumer
	for _, each := range all {
		services = append(services, each.Service)
		if each.Service != service {
			continue
		}
		events = append(events, eventName(each.Event))
		if event == "" || eventName(each.Event) == event {
			found = append(found, each)
		}
	}
	switch {
	case len(events) == 0:
		return nil, unknown(service+" does not subscribe to stored events of "+c.names.Publisher, service, services)
	case len(found) == 0:
		return nil, unknown(service+" does not subscribe to "+event+" of "+c.names.Publisher, event, events)
	default:
		return found, nil
	}
}

const (
	// setBackAttempts is how often a consumer is created again, if an instance of the service is faster.
	setBackAttempts = 10
	// setBackPause comes before the next attempt, if JetStream could not create the consumer.
	setBackPause = 100 * time.Millisecond
)

// setBack replaces a consumer by one with another start, and returns how many events that has. It goes on when ctx
// ends, because an instance would create a missing consumer without the backlog.
func (c *client) setBack(ctx context.Context, log jetstream.Stream, of *consumer,
	from time.Time) (pending uint64, err error) {
	config, err := c.startingAt(ctx, log, of, from)
	if err != nil {
		return 0, err
	}
	ctx = context.WithoutCancel(ctx)
	for range setBackAttempts {
		_, err = ask(ctx, func(ctx context.Context) (struct{}, error) { return struct{}{}, log.DeleteConsumer(ctx, of.Name) })
		if err != nil && !isGone(err) {
			return 0, err
		}
		consumer, failed := ask(ctx, func(ctx context.Context) (jetstream.Consumer, error) {
			return log.CreateConsumer(ctx, config)
		})
		if failed == nil {
			return consumer.CachedInfo().NumPending, nil
		}
		if err = failed; !errors.Is(err, jetstream.ErrConsumerExists) { // an instance was faster
			time.Sleep(setBackPause)
		}
	}
	return 0, err
}

// startingAt returns the configuration of a consumer with another start: a time, or the oldest event that is not
// handled if that is older.
func (c *client) startingAt(ctx context.Context, log jetstream.Stream, of *consumer,
	from time.Time) (jetstream.ConsumerConfig, error) {
	config := of.Config
	config.OptStartSeq, config.OptStartTime = 0, nil
	if from.IsZero() {
		config.DeliverPolicy = jetstream.DeliverAllPolicy
		return config, nil
	}
	oldest, err := c.oldest(ctx, log, of)
	if err != nil {
		return config, err
	}
	if oldest != nil && oldest.Time.Before(from) {
		from = oldest.Time
	}
	config.DeliverPolicy, config.OptStartTime = jetstream.DeliverByStartTimePolicy, &from
	return config, nil
}

// ForgetOption is an option of [Forget].
type ForgetOption func(*forgetOptions)

type forgetOptions struct{ force bool }

// Force forgets a subscription although an instance waits for its events. A running instance subscribes again, from
// then on.
func Force() ForgetOption { return func(o *forgetOptions) { o.force = true } }

// Forget removes the subscriptions of a service that has left, so that they do not show a backlog for ever; event ""
// stands for all. It returns how many subscriptions it has removed. It returns an error with status 404 if the service
// does not subscribe, and 409 if an instance waits for such events, unless [Force] is given. The log keeps its events,
// and dead letters stay.
func Forget(ctx context.Context, conn *bus.Conn, publisher, service, event string,
	options ...ForgetOption) (n int, err error) {
	var chosen forgetOptions
	for _, option := range options {
		option(&chosen)
	}
	c, log, err := openLog(ctx, conn, publisher)
	if err != nil {
		return 0, err
	}
	consumers, err := c.subscribed(ctx, log, service, event)
	if err != nil {
		return 0, err
	}
	if waiting := awaited(consumers); len(waiting) > 0 && !chosen.force {
		return 0, errorf(http.StatusConflict, "an instance of %s runs and waits for %s of %s: stop it first", service,
			strings.Join(waiting, ", "), publisher)
	}
	removed := make(map[string]bool)
	for i, each := range consumers {
		_, err := ask(ctx, func(ctx context.Context) (struct{}, error) {
			return struct{}{},
				log.DeleteConsumer(ctx, each.Name)
		})
		if err != nil && !isGone(err) {
			return len(removed), partly(c.failed(err), i, len(consumers))
		}
		removed[each.Event] = true
	}
	return len(removed), nil
}

// awaited returns the events for which instances wait, sorted.
func awaited(consumers []consumer) (events []string) {
	for _, each := range consumers {
		if each.NumWaiting > 0 {
			events = append(events, eventName(each.Event))
		}
	}
	slices.Sort(events)
	return slices.Compact(events)
}
