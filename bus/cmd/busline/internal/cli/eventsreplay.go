package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/busline/busline/bus/eventlog"
)

// subscriptionFlags select subscriptions of a service to a publisher.
type subscriptionFlags struct {
	event string // "" for all
	yes   bool
}

func (f *subscriptionFlags) register(c *cobra.Command) {
	c.Flags().StringVar(&f.event, "event", "", "only events of this `name`, such as on-ordered")
	c.Flags().BoolVar(&f.yes, "yes", false, "do not ask first")
}

// what names the events for people.
func (f *subscriptionFlags) what() string {
	if f.event == "" {
		return "the events"
	}
	return "the events " + cleanLine(f.event)
}

func (s *session) newEventsReplay() *cobra.Command {
	var flags subscriptionFlags
	var from string
	c := prints(&cobra.Command{
		Use:   "replay <publisher> <service>",
		Short: "Deliver events again to a service",
		Long: `Sets the subscription of a service back, so that it gets the events of a publisher again that were
stored from some time on: all that it subscribes to, or one; where the log begins later, from there.
Events that it has not handled yet still come. Other services do not notice. The service may run, or be
started later; its handlers have to cope with an event that comes twice.`,
		Example: examples("busline events replay orders.example mailer.example --from 10m",
			"busline events replay orders.example mailer.example --event on-ordered --from beginning"),
		Annotations: annotated(Changes),
		RunE: func(c *cobra.Command, operands []string) error {
			if err := checkHosts(operands, 2, 2,
				"name a publisher and a service, as in: busline events replay orders.example mailer.example --from 10m"); err != nil {
				return err
			}
			if from == "" {
				return misuse("--from is missing: since when events come again, such as 10m, 2026-11-26T07:00:00Z or beginning")
			}
			at, err := parseStart("from", from)
			if err != nil {
				return err
			}
			return s.replay(c.Context(), operands[0], operands[1], at, &flags)
		},
		ValidArgsFunction: s.completing(s.completeSubscription),
	})
	flags.register(c)
	c.Flags().StringVar(&from, "from", "",
		"begin at this `time`: how long ago, such as 10m or 2d, a time in RFC 3339, or beginning")
	return c
}

func (s *session) replay(ctx context.Context, publisher, service string, from time.Time,
	flags *subscriptionFlags) error {
	conn, err := s.join(ctx)
	if err != nil {
		return err
	}
	since := "the beginning"
	if !from.IsZero() {
		since = moment(from)
	}
	if err := s.confirm(ctx, fmt.Sprintf("deliver %s of %s since %s to %s again", flags.what(), publisher, since, service),
		flags.yes); err != nil {
		return err
	}
	log, err := eventlog.Describe(ctx, conn, publisher)
	if err != nil {
		return eventsFailure(err)
	}
	if from.Before(log.First) && !from.IsZero() {
		fmt.Fprintf(s.Stderr, "busline events replay: the log of %s begins at %s, after %s: from its beginning\n", publisher,
			moment(log.First), moment(from))
		from = time.Time{}
	}
	events, err := eventlog.Replay(ctx, conn, publisher, service, flags.event, from)
	if err != nil {
		return eventsFailure(err)
	}
	return s.show(map[string]int{"events": events}, func() string {
		return fmt.Sprintf("%s of %s come to %s, as soon as it runs\n", plural(events, "event"), publisher, service)
	}, nil)
}

func (s *session) newEventsForget() *cobra.Command {
	var flags subscriptionFlags
	var force bool
	c := prints(&cobra.Command{
		Use:   "forget <publisher> <service>",
		Short: "Remove the subscription of a service that has left",
		Long: `Removes what JetStream knows of a service that subscribes no more: to all events of a publisher, or to
one. If it subscribes again, it gets the events that are stored from then on. An instance that runs is
an error, unless --force is given.`,
		Example: examples("busline events forget orders.example mailer.example",
			"busline events forget orders.example mailer.example --event on-ordered"),
		Annotations: annotated(Changes),
		RunE: func(c *cobra.Command, operands []string) error {
			if err := checkHosts(operands, 2, 2,
				"name a publisher and a service, as in: busline events forget orders.example mailer.example"); err != nil {
				return err
			}
			return s.forget(c.Context(), operands[0], operands[1], force, &flags)
		},
		ValidArgsFunction: s.completing(s.completeSubscription),
	})
	flags.register(c)
	c.Flags().BoolVar(&force, "force", false, "also if an instance runs")
	return c
}

func (s *session) forget(ctx context.Context, publisher, service string, force bool, flags *subscriptionFlags) error {
	conn, err := s.join(ctx)
	if err != nil {
		return err
	}
	log, err := eventlog.Describe(ctx, conn, publisher)
	if err != nil {
		return eventsFailure(err)
	}
	found, backlog := 0, 0
	for i := range log.Subscriptions {
		each := &log.Subscriptions[i]
		if each.Service == service && (flags.event == "" || flags.event == each.Event) {
			found++
			backlog += each.Backlog
		}
	}
	if found > 0 { // else Forget says what is there
		question := fmt.Sprintf("forget %s of %s to %s, with %s that it has not handled", plural(found, "subscription"),
			service, publisher, plural(backlog, "event"))
		if err := s.confirm(ctx, question, flags.yes); err != nil {
			return err
		}
	}
	var options []eventlog.ForgetOption
	if force {
		options = append(options, eventlog.Force())
	}
	removed, err := eventlog.Forget(ctx, conn, publisher, service, flags.event, options...)
	if err != nil {
		return eventsFailure(err)
	}
	return s.show(map[string]int{"subscriptions": removed}, func() string {
		return fmt.Sprintf("%s of %s to %s removed\n", plural(removed, "subscription"), service, publisher)
	}, nil)
}
