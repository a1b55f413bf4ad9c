package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/cmd/busline/internal/output"
	"github.com/busline/busline/bus/eventlog"
	"github.com/busline/busline/bus/subject"
)

// newEvents returns the command events, whose subcommands are each in a file of its own.
func (s *session) newEvents() *cobra.Command {
	c := WithSubcommands(s.Stderr, &cobra.Command{
		Use:   "events",
		Short: "Stored events: who has not handled which, read them, publish and replay them, dead letters",
		Long: `Shows and changes the logs of stored events: each publisher has one, and keeps its events for some time,
handled or not. All but publish work in JetStream, for which the broker user needs permissions; see
docs/guides/events.md. What deletes, or sets a subscription back, asks first.`,
		Example: examples("busline events ls", "busline events tail orders.example --since 10m"),
	})
	c.AddCommand(s.newEventsList(), s.newEventsDescribe(), s.newEventsTail(), s.newEventsPublish(), s.newEventsReplay(),
		s.newDeadLetters(), s.newEventsForget())
	return c
}

// checkHosts returns an error unless there are from least to most operands, all of them hosts; usage says what they
// are.
func checkHosts(operands []string, least, most int, usage string) error {
	if len(operands) < least || len(operands) > most {
		return misuse("%s", usage)
	}
	for _, host := range operands {
		if err := subject.CheckHost(host); err != nil {
			return misuse("%w", err)
		}
	}
	return nil
}

// eventsFailure gives an error of package eventlog its exit status.
func eventsFailure(err error) error {
	busErr, ok := errors.AsType[*bus.Error](err)
	switch {
	case ok && busErr.Status == http.StatusNotFound:
		return &failure{status: absent, err: errors.New(busErr.Detail)}
	case ok && busErr.Status == http.StatusBadRequest:
		return &failure{status: misused, err: errors.New(busErr.Detail)}
	default:
		return err
	}
}

// parseStart parses a point in a log: "beginning", which becomes the zero time, a time, or how long ago it was, also in
// days.
func parseStart(flag, text string) (time.Time, error) {
	if text == "beginning" {
		return time.Time{}, nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	ago, err := time.ParseDuration(text)
	if days, isDays := strings.CutSuffix(text, "d"); isDays {
		var count int
		count, err = strconv.Atoi(days)
		ago = time.Duration(count) * 24 * time.Hour
	}
	if err != nil || ago < 0 {
		return time.Time{}, misuse("--%s: %q is not valid; write how long ago, such as 10m or 2d, "+
			"a time such as 2026-11-26T07:00:00Z, or beginning", flag, text)
	}
	return time.Now().Add(-ago), nil
}

func (s *session) newEventsList() *cobra.Command {
	return prints(&cobra.Command{
		Use:   "ls [publisher]",
		Short: "Publishers, and how far each service is",
		Long: `Lists who publishes stored events, and who subscribes to them: the events that a service has not handled
yet, when the oldest of these was stored, how many are in flight, how many of those again, the dead
letters, and about how many events the log has dropped before the service could handle them.`,
		Example: examples("busline events ls", "busline events ls orders.example",
			"busline events ls --jq '.[].publisher'", "busline events ls -o name"),
		RunE: func(c *cobra.Command, operands []string) error {
			if err := checkHosts(operands, 0, 1, "name one publisher, or none for all"); err != nil {
				return err
			}
			return s.listEvents(c.Context(), operands)
		},
		ValidArgsFunction: s.completing(s.completePublisher),
	}, output.Wide, output.Name)
}

// listEvents prints the logs of all publishers, or of one.
func (s *session) listEvents(ctx context.Context, publishers []string) error {
	conn, err := s.join(ctx)
	if err != nil {
		return err
	}
	var logs []eventlog.Log
	if len(publishers) > 0 {
		logs = make([]eventlog.Log, 1)
		logs[0], err = eventlog.Describe(ctx, conn, publishers[0])
	} else {
		logs, err = eventlog.Publishers(ctx, conn)
	}
	if err != nil {
		return eventsFailure(err)
	}
	if len(logs) > 0 || s.settings.IsJSON() {
		err = s.show(logs, func() string { return s.logTable(logs) }, func() []string { return eventNames(logs) })
	}
	if err == nil && len(logs) == 0 {
		err = &failure{status: absent, err: fmt.Errorf("no publisher in plane %s has stored events", conn.Plane())}
	}
	return err
}

// eventNames returns the events that the logs keep: "orders.example/on-ordered".
func eventNames(logs []eventlog.Log) (names []string) {
	for i := range logs {
		for _, kind := range logs[i].Kinds {
			names = append(names, logs[i].Publisher+"/"+kind.Event)
		}
	}
	return names
}

// logTable formats logs: a line for each subscription, and one for a log without any.
func (s *session) logTable(logs []eventlog.Log) string {
	rows := table{{cells: []string{"PUBLISHER", "SERVICE", "EVENT", "BACKLOG", "OLDEST", "IN FLIGHT", "REDELIVERED",
		"DEAD", "CUT OFF"}}}
	if s.settings.IsWide() {
		rows[0].cells = append(rows[0].cells, "WAITING", "ORDERED", "LAST HANDLED")
	}
	for i := range logs {
		for j := range logs[i].Subscriptions {
			each := &logs[i].Subscriptions[j]
			cells := slices.Concat([]string{logs[i].Publisher, each.Service, cleanLine(each.Event)}, subscriptionCells(each))
			if s.settings.IsWide() {
				cells = append(cells, deliveryCells(each)...)
			}
			rows.add("", cells...)
		}
		if len(logs[i].Subscriptions) == 0 {
			rows.add("", logs[i].Publisher, "-")
		}
	}
	return s.headed(rows)
}

// subscriptionCells formats the figures of a subscription.
func subscriptionCells(of *eventlog.Subscription) []string {
	cut := 0
	for _, each := range of.CutOff {
		cut += each.Events
	}
	return []string{
		strconv.Itoa(of.Backlog), ago(of.Oldest), strconv.Itoa(of.InFlight), strconv.Itoa(of.Redelivered),
		strconv.Itoa(of.DeadLetters), strconv.Itoa(cut),
	}
}

// deliveryCells formats how events are delivered to a subscription.
func deliveryCells(of *eventlog.Subscription) []string {
	last := time.Time{}
	if of.LastHandled != nil {
		last = *of.LastHandled
	}
	return []string{strconv.Itoa(of.Waiting), yesOrNo(of.Ordered), ago(last)}
}

// ago formats how long ago a time was, in the largest unit: "3m"; "-" for the zero time.
func ago(at time.Time) string {
	if at.IsZero() {
		return "-"
	}
	since := time.Since(at)
	for _, unit := range []struct {
		size time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}} {
		if since >= unit.size {
			return strconv.Itoa(int(since/unit.size)) + unit.name
		}
	}
	return strconv.Itoa(int(max(since, 0)/time.Second)) + "s"
}

func (s *session) newEventsDescribe() *cobra.Command {
	return prints(&cobra.Command{
		Use:   "describe <publisher>",
		Short: "The log of a publisher: its size and limits, its events, its subscriptions",
		Long: `Shows how many events the log of a publisher keeps, and for how long, how many of each kind, and its
subscriptions. WAITING is the number of requests with which instances wait for events: with 0, probably
none runs.`,
		Example: examples("busline events describe orders.example"),
		RunE: func(c *cobra.Command, operands []string) error {
			if err := checkHosts(operands, 1, 1, "name a publisher, as in: busline events describe orders.example"); err != nil {
				return err
			}
			return s.describeLog(c.Context(), operands[0])
		},
		ValidArgsFunction: s.completing(s.completePublisher),
	})
}

func (s *session) describeLog(ctx context.Context, publisher string) error {
	conn, err := s.join(ctx)
	if err != nil {
		return err
	}
	log, err := eventlog.Describe(ctx, conn, publisher)
	if err != nil {
		return eventsFailure(err)
	}
	if s.settings.IsJSON() {
		return s.print("%s\n", jsonOf(log))
	}
	return s.print("%s", s.logText(&log))
}

// logText describes a log for people.
func (s *session) logText(log *eventlog.Log) string {
	var text strings.Builder
	text.WriteString(s.style().bold(log.Publisher) + "\n")
	facts := table{}
	facts.add("", "events", strconv.Itoa(log.Events))
	facts.add("", "size", size(log.Bytes)+" of "+limitOf(log.MaxBytes > 0, size(log.MaxBytes)))
	facts.add("", "kept", limitOf(log.MaxAge > 0, span(log.MaxAge)))
	facts.add("", "first", moment(log.First))
	facts.add("", "last", moment(log.Last))
	facts.add("", "replicas", strconv.Itoa(log.Replicas))
	facts.write(&text, "  ")
	if len(log.Kinds) > 0 {
		kinds := table{{cells: []string{"EVENT", "STORED"}}}
		for _, each := range log.Kinds {
			kinds.add("", cleanLine(each.Event), strconv.Itoa(each.Stored))
		}
		text.WriteString("\n" + s.headed(kinds))
	}
	if len(log.Subscriptions) == 0 {
		return text.String()
	}
	rows := table{{cells: []string{"SERVICE", "EVENT", "BACKLOG", "OLDEST", "IN FLIGHT", "REDELIVERED", "DEAD", "CUT OFF",
		"WAITING", "ORDERED", "LAST HANDLED"}}}
	for i := range log.Subscriptions {
		each := &log.Subscriptions[i]
		rows.add("", slices.Concat([]string{each.Service, cleanLine(each.Event)}, subscriptionCells(each),
			deliveryCells(each))...)
	}
	text.WriteString("\n" + s.headed(rows) + cutOffText(log))
	return text.String()
}

// cutOffText has a line for each time that a service was cut off.
func cutOffText(log *eventlog.Log) string {
	var text strings.Builder
	for i := range log.Subscriptions {
		of := &log.Subscriptions[i]
		for _, each := range of.CutOff {
			fmt.Fprintf(&text, "%s has missed about %s %s, stored before %s: noted at %s\n",
				of.Service, plural(each.Events, "event"), cleanLine(of.Event), moment(each.Until), moment(each.At))
		}
	}
	return text.String()
}

// moment formats a time, "-" for the zero time.
func moment(at time.Time) string {
	if at.IsZero() {
		return "-"
	}
	return at.UTC().Format(time.RFC3339)
}

// span formats a time span, whole days as such: "7d".
func span(of time.Duration) string {
	const day = 24 * time.Hour
	if of%day == 0 {
		return strconv.Itoa(int(of/day)) + "d"
	}
	return of.String()
}

// limitOf returns a limit, or that there is none.
func limitOf(limited bool, limit string) string {
	if !limited {
		return "no limit"
	}
	return limit
}

// size formats a number of bytes.
func size(bytes int64) string {
	const step = 1024
	value, unit := float64(bytes), "B"
	for _, larger := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if value < step {
			break
		}
		value, unit = value/step, larger
	}
	return strconv.FormatFloat(value, 'f', min(1, len(unit)-1), 64) + " " + unit
}

// completePublisher completes the publisher that is the only operand.
func (s *session) completePublisher(ctx context.Context, before []string, word string) []string {
	if len(before) > 0 {
		return nil
	}
	return startingWith(word, publishersIn(s.logs(ctx)))
}

// completeSubscription completes a publisher, and then a service that subscribes to it.
func (s *session) completeSubscription(ctx context.Context, before []string, word string) []string {
	logs := s.logs(ctx)
	switch len(before) {
	case 0:
		return startingWith(word, publishersIn(logs))
	case 1:
		others := func(log eventlog.Log) bool { return log.Publisher != before[0] }
		return startingWith(word, servicesIn(slices.DeleteFunc(logs, others)))
	default:
		return nil
	}
}

// logs returns the logs of all publishers, none after an error.
func (s *session) logs(ctx context.Context) []eventlog.Log {
	conn, err := s.join(ctx)
	if err != nil {
		return nil
	}
	logs, _ := eventlog.Publishers(ctx, conn)
	return logs
}

func publishersIn(logs []eventlog.Log) (hosts []string) {
	for i := range logs {
		hosts = append(hosts, logs[i].Publisher)
	}
	return hosts
}

// servicesIn returns the services that subscribe, sorted.
func servicesIn(logs []eventlog.Log) (hosts []string) {
	for i := range logs {
		subscriptions := logs[i].Subscriptions
		for j := range subscriptions {
			hosts = append(hosts, subscriptions[j].Service)
		}
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}
