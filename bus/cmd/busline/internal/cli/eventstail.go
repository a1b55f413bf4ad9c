package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/busline/busline/bus/eventlog"
)

func (s *session) newEventsTail() *cobra.Command {
	var event, since string
	var noFollow bool
	c := prints(&cobra.Command{
		Use:   "tail <publisher>",
		Short: "Events as they are stored, or from some time on",
		Long: `Prints the stored events of a publisher, handled or not: those that are stored from now on, until
interrupted, or until --timeout is over, if that is given: exit status 4. With --since also those before.
It changes nothing for those who subscribe.`,
		Example: examples("busline events tail orders.example",
			"busline events tail orders.example --since beginning --no-follow --json | jq -r .body"),
		Annotations: annotated(Endless),
		RunE: func(c *cobra.Command, operands []string) error {
			if err := checkHosts(operands, 1, 1, "name a publisher, as in: busline events tail orders.example"); err != nil {
				return err
			}
			var options []eventlog.TailOption
			if c.Flags().Changed("since") {
				at, err := parseStart("since", since)
				if err != nil {
					return err
				}
				options = append(options, eventlog.Since(at))
			}
			if event != "" {
				options = append(options, eventlog.OnlyEvent(event))
			}
			if noFollow {
				options = append(options, eventlog.NoFollow())
			}
			return s.tail(c.Context(), operands[0], options)
		},
		ValidArgsFunction: s.completing(s.completePublisher),
	})
	set := c.Flags()
	set.StringVar(&event, "event", "", "only events of this `name`, such as on-ordered")
	set.StringVar(&since, "since", "",
		"begin at this `time`: how long ago, such as 10m or 2d, a time in RFC 3339, or beginning")
	set.BoolVar(&noFollow, "no-follow", false, "end after the events that are there")
	return c
}

// tail prints events.
func (s *session) tail(ctx context.Context, publisher string, options []eventlog.TailOption) error {
	conn, err := s.join(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := s.limitedIfGiven(ctx)
	defer cancel()
	for event, err := range eventlog.Tail(ctx, conn, publisher, options...) {
		if err == nil {
			err = s.printEvent(&event)
		}
		if err != nil {
			return s.endedBy(ctx, eventsFailure(err))
		}
	}
	return nil
}

// printEvent prints an event on one line.
func (s *session) printEvent(event *eventlog.Event) error {
	if s.settings.IsJSON() {
		return s.print("%s\n", jsonOf(event))
	}
	return s.print("%s  %s  %s  %s\n", event.Stored.Local().Format("2006-01-02 15:04:05.000"),
		s.style().bold(cleanLine(event.Event)),
		s.style().dim(cleanLine(event.ID)), cleanLine(event.Body))
}
