package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/busline/busline/bus/cmd/busline/internal/output"

	"github.com/busline/busline/bus/eventlog"
)

func (s *session) newDeadLetters() *cobra.Command {
	var options deadLetterOptions
	c := prints(&cobra.Command{
		Use:   "dead-letters <publisher> [service]",
		Short: "Events that services could not handle: list them, redeliver them, delete them",
		Long: `Lists the dead letters of a publisher, the oldest first: those of one service, or of all. With
--redeliver each is stored again, for the service that could not handle it and for no other, which gets
it when it runs, with all its attempts. With --delete they are lost for that service. JSON has their
arguments, too.`,
		Example: examples(
			"busline events dead-letters orders.example",
			"busline events dead-letters orders.example mailer.example --event on-ordered --redeliver",
			"busline events dead-letters orders.example --jq '.[].body'",
		),
		RunE: func(c *cobra.Command, operands []string) error {
			if err := options.read(operands); err != nil {
				return err
			}
			return s.deadLetters(c.Context(), &options)
		},
		ValidArgsFunction: s.completing(s.completeSubscription),
	}, output.Wide, output.Name)
	set := c.Flags()
	set.BoolVar(&options.redeliver, "redeliver", false, "deliver them again")
	set.BoolVar(&options.delete, "delete", false, "delete them for good")
	set.StringVar(&options.event, "event", "", "only events of this `name`, such as on-ordered")
	set.BoolVar(&options.yes, "yes", false, "do not ask before they are deleted")
	for _, flag := range []string{"redeliver", "delete", "yes"} {
		annotateFlag(set, flag, Changes)
	}
	return c
}

// deadLetterOptions say which dead letters are meant, and what to do with them.
type deadLetterOptions struct {
	publisher, service, event string // service, event: "" for all
	redeliver, delete, yes    bool
}

// read takes the operands, and says what is wrong with them.
func (o *deadLetterOptions) read(operands []string) error {
	if err := checkHosts(operands, 1, 2,
		"name a publisher and perhaps a service, as in: busline events dead-letters orders.example mailer.example"); err != nil {
		return err
	}
	o.publisher = operands[0]
	if len(operands) > 1 {
		o.service = operands[1]
	}
	if o.redeliver && o.delete {
		return misuse("--redeliver and --delete exclude each other")
	}
	return nil
}

// selects reports whether a dead letter is meant.
func (o *deadLetterOptions) selects(dead *eventlog.DeadLetter) bool {
	return (o.service == "" || o.service == dead.Service) && (o.event == "" || o.event == dead.Event)
}

// deadLetters lists dead letters, after it has done with each what was asked for.
func (s *session) deadLetters(ctx context.Context, options *deadLetterOptions) error {
	conn, err := s.join(ctx)
	if err != nil {
		return err
	}
	selected, others := []eventlog.DeadLetter{}, deadLetterKinds{}
	reading := &progress{session: s, what: "dead letters read"}
	for dead, err := range eventlog.DeadLetters(ctx, conn, options.publisher) {
		switch {
		case err != nil:
			reading.end()
			return eventsFailure(err)
		case options.selects(&dead):
			selected = append(selected, dead)
		default:
			others.add(&dead)
		}
		reading.step()
	}
	reading.end()
	if len(selected) == 0 {
		err = options.none(others)
	} else {
		selected, err = s.change(ctx, options, selected)
	}
	if err != nil && len(selected) == 0 && len(others) == 0 {
		return err
	}
	return errors.Join(s.show(selected, func() string {
		if len(selected) == 0 && err == nil {
			return options.publisher + " has no dead letters\n"
		}
		return s.deadLetterTable(options, selected)
	}, func() []string { return idsOfDead(selected) }), err)
}

// idsOfDead returns the ids of the events.
func idsOfDead(events []eventlog.DeadLetter) (ids []string) {
	for i := range events {
		ids = append(ids, events[i].ID)
	}
	return ids
}

// change redelivers or deletes dead letters, and returns those that are done. After a failure it continues: one of a
// service that is gone does not hold up those behind it.
func (s *session) change(ctx context.Context, options *deadLetterOptions,
	selected []eventlog.DeadLetter) (done []eventlog.DeadLetter, err error) {
	change, what := eventlog.DeadLetter.Redeliver, "delivered again"
	switch {
	case options.delete:
		change, what = eventlog.DeadLetter.Delete, "deleted"
		question := fmt.Sprintf("delete %s of %s", plural(len(selected), "dead letter"),
			strings.Join(servicesOf(selected), ", "))
		if err := s.confirm(ctx, question, options.yes); err != nil {
			return nil, err
		}
	case !options.redeliver:
		return selected, nil
	}
	shown := &progress{session: s, what: what, total: len(selected)}
	defer shown.end()
	var errs []error
	for i := range selected {
		if ctx.Err() != nil {
			return done, errors.Join(append(errs, ctx.Err())...)
		}
		if err := change(selected[i], ctx); err != nil {
			errs = append(errs, err)
		} else {
			done = append(done, selected[i])
		}
		shown.step()
	}
	return done, errors.Join(errs...)
}

// deadLetterTable formats dead letters as a table, with what was done.
func (s *session) deadLetterTable(o *deadLetterOptions, events []eventlog.DeadLetter) string {
	if len(events) == 0 {
		return ""
	}
	ids := func(_ string) []string { return nil }
	if s.settings.IsWide() {
		ids = func(id string) []string { return []string{id} }
	}
	rows := table{{cells: slices.Concat([]string{"AT", "SERVICE", "EVENT", "ATTEMPTS"}, ids("ID"), []string{"REASON"})}}
	for i := range events {
		each := &events[i]
		rows.add("", slices.Concat([]string{moment(each.At), each.Service, cleanLine(each.Event),
			strconv.Itoa(each.Attempts)}, ids(cleanLine(each.ID)), []string{cleanLine(each.Reason)})...)
	}
	text := s.headed(rows)
	switch {
	case o.redeliver:
		text += plural(len(events), "event") + " stored again for " + strings.Join(servicesOf(events), ", ") +
			", delivered as soon as the service runs\n"
	case o.delete:
		text += plural(len(events), "dead letter") + " deleted\n"
	}
	return text
}

// servicesOf returns the services that could not handle the events, sorted.
func servicesOf(events []eventlog.DeadLetter) (services []string) {
	for i := range events {
		services = append(services, events[i].Service)
	}
	slices.Sort(services)
	return slices.Compact(services)
}

// deadLetterKinds are kinds of dead letters: "on-ordered of mailer.example".
type deadLetterKinds map[string]bool

func (k deadLetterKinds) add(dead *eventlog.DeadLetter) {
	k[cleanLine(dead.Event)+" of "+dead.Service] = true
}

// none returns the error for a service or an event that is probably misspelt, as there is no dead letter of it. It
// returns nil if the publisher has no dead letters at all, which is good news.
func (o *deadLetterOptions) none(others deadLetterKinds) error {
	if len(others) == 0 {
		return nil
	}
	kinds := strings.Join(slices.Sorted(maps.Keys(others)), ", ")
	return &failure{status: absent, err: fmt.Errorf("%s has no such dead letter; there are %s", o.publisher, kinds)}
}
