package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/cobra"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/internal/similar"
)

func (s *session) newParked() *cobra.Command {
	var options parkedOptions
	c := &cobra.Command{
		Use:   "parked <source> [service]",
		Short: "Stored events that services could not handle: list them, deliver them again, remove them",
		Long: `Lists the stored events of a source that services could not handle, the oldest first: those of one service, or of all. With
--retry each is stored again, for the service that could not handle it and for no other, which gets it when it runs, with
all its attempts. With --remove they are lost. JSON has their arguments, too. The broker user needs permissions for
JetStream; see docs/guides/events.md.`,
		Example: examples(
			"busline parked orders.example", "busline parked orders.example mailer.example --event on-ordered --retry",
			"busline parked orders.example --json | jq -r '.[].body'",
		),
		RunE: func(c *cobra.Command, operands []string) error {
			if err := options.read(operands); err != nil {
				return err
			}
			return s.parked(c.Context(), options)
		},
		ValidArgsFunction: s.completing(s.completeHosts),
	}
	set := c.Flags()
	set.BoolVar(&options.retry, "retry", false, "deliver them again")
	set.BoolVar(&options.remove, "remove", false, "remove them for good")
	set.StringVar(&options.event, "event", "", "only events of this `name`, such as on-ordered")
	return c
}

// parkedOptions say which events are meant, and what to do with them.
type parkedOptions struct {
	source, service, event string // service, event: "" for all
	retry, remove          bool
}

// read takes the operands, and says what is wrong with them.
func (o *parkedOptions) read(operands []string) error {
	if len(operands) < 1 || len(operands) > 2 {
		return misuse("name a source and perhaps a service, as in: busline parked orders.example mailer.example")
	}
	for _, host := range operands {
		if err := subject.CheckHost(host); err != nil {
			return misuse("%w", err)
		}
	}
	o.source = operands[0]
	if len(operands) > 1 {
		o.service = operands[1]
	}
	if o.retry && o.remove {
		return misuse("--retry and --remove exclude each other")
	}
	return nil
}

// selects reports whether an event is meant.
func (o *parkedOptions) selects(event *bus.DeadLetter) bool {
	return (o.service == "" || o.service == event.Service) && (o.event == "" || o.event == event.Event)
}

// parked lists events, after it has done with each what was asked for.
func (s *session) parked(ctx context.Context, options parkedOptions) error {
	conn, err := s.join(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := s.limited(ctx)
	defer cancel()
	done, others := []bus.DeadLetter{}, parkedKinds{}
	err = s.eachParked(ctx, conn, options, others, func(event bus.DeadLetter) { done = append(done, event) })
	if err != nil && len(done) == 0 {
		return err
	}
	if len(done) == 0 {
		err = s.noneParked(ctx, conn, options, others)
	}
	text := options.told(s.style(), done)
	switch {
	case s.settings.json:
		text = string(jsonOf(done)) + "\n"
	case len(done) == 0 && err == nil:
		text = "no event of " + options.source + " is parked\n"
	}
	if printed := s.print("%s", text); printed != nil {
		return printed
	}
	return err
}

// eachParked yields the events that are meant, each after what was asked for is done, and notes the kinds of the others. Where
// that fails it goes on: one of a service that is gone does not hold up those behind it.
func (s *session) eachParked(ctx context.Context, conn *bus.Conn, options parkedOptions, others parkedKinds, done func(bus.DeadLetter)) error {
	var errs []error
	for event, err := range bus.DeadLetters(ctx, conn, options.source) {
		if err != nil {
			return errors.Join(append(errs, err)...)
		}
		if !options.selects(&event) {
			others.add(&event)
			continue
		}
		switch {
		case options.retry:
			err = event.Redeliver(ctx)
		case options.remove:
			err = event.Delete(ctx)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		done(event)
	}
	return errors.Join(errs...)
}

// told formats the events as a table, with what was done.
func (o *parkedOptions) told(style style, events []bus.DeadLetter) string {
	var text strings.Builder
	if len(events) > 0 {
		rows := table{{cells: []string{"PARKED", "SERVICE", "EVENT", "ATTEMPTS", "REASON"}}}
		for i := range events {
			each := &events[i]
			rows.add("", each.Parked.UTC().Format(time.RFC3339), each.Service, cleanLine(each.Event), strconv.Itoa(each.Attempts), cleanLine(each.Reason))
		}
		var plain strings.Builder
		rows.write(&plain, "")
		heading, rest, _ := strings.Cut(plain.String(), "\n")
		text.WriteString(style.bold(heading) + "\n" + rest)
	}
	switch {
	case len(events) == 0:
	case o.retry:
		text.WriteString(plural(len(events), "event") + " stored again for " + strings.Join(servicesOf(events), ", ") + ", delivered as soon as the service runs\n")
	case o.remove:
		text.WriteString(plural(len(events), "event") + " removed\n")
	}
	return text.String()
}

// servicesOf returns the services that could not handle the events, sorted.
func servicesOf(events []bus.DeadLetter) (services []string) {
	for i := range events {
		services = append(services, events[i].Service)
	}
	slices.Sort(services)
	return slices.Compact(services)
}

// parkedKinds are kinds of parked events: "on-ordered of mailer.example".
type parkedKinds map[string]bool

func (k parkedKinds) add(event *bus.DeadLetter) {
	k[cleanLine(event.Event)+" of "+event.Service] = true
}

// noneParked returns the error for a source, a service or an event that is probably misspelt, as nothing is parked of it. It
// returns nil if the source stores events and none is parked, which is good news.
func (s *session) noneParked(ctx context.Context, conn *bus.Conn, options parkedOptions, others parkedKinds) error {
	if len(others) > 0 {
		kinds := strings.Join(slices.Sorted(maps.Keys(others)), ", ")
		return &failure{status: absent, err: fmt.Errorf("no such event of %s is parked; there are %s", options.source, kinds)}
	}
	manager, err := jetstream.New(conn.NATS())
	if err != nil {
		return err
	}
	_, err = manager.Stream(ctx, conn.Plane()+"_EVENTS_"+strings.ReplaceAll(options.source, ".", "_")) // see docs/reference/wire.md
	if !errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil // it is there, or may be
	}
	instances, err := s.discover(ctx, "all")
	if err != nil {
		return err
	}
	return &failure{status: absent, err: fmt.Errorf("%s has no stored events in plane %s%s", options.source, conn.Plane(), similar.DidYouMean(options.source, hostsIn(instances)))}
}

// hostsIn returns all hosts, also those that serve nothing, such as a mere source of events.
func hostsIn(instances []instance) (hosts []string) {
	for _, each := range instances {
		hosts = append(hosts, each.Host)
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}
