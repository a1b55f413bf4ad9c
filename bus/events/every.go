package events

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	"github.com/rs/zerolog"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/internal/durable"
	"github.com/busline/busline/bus/internal/feature"
	"github.com/busline/busline/bus/internal/natsconn"
	"github.com/busline/busline/restmap"
)

// Tick is one time of the schedule of [Every].
type Tick struct {
	// Time is when the broker stored the tick: the time of the schedule, to some 250 ms, or when the broker came back.
	Time time.Time
	// Last is the time of the tick before it, handled or not; zero if the log has none, as for the first one.
	Last time.Time
	// Missed is how many times of the schedule passed in between without a tick, as the broker was away. They are logged.
	// It is 0 if Last is zero, or of another schedule.
	Missed int
}

// Every calls a function at the times of a schedule, once for all instances of the service of conn, in one of them. The
// broker keeps the schedule. Each time, a tick, is a stored event of the service itself, under a path such as
// "/on-nightly". So a tick that comes while no instance runs waits for one, and is handled again after an error, with
// the retries and dead letters of [Durable] and of the options, which are those of [Subscribe]. Its handler has 20 s,
// unless bus.TimeBudget sets another time. A tick that comes while one before it is handled, is handled beside it. ID
// of [DeliveryOf] is the time of the tick.
//
// The schedule has five fields: minute (0-59), hour (0-23), day of the month (1-31), month (1-12 or JAN-DEC) and day of
// the week (0-6 or SUN-SAT, 0 is Sunday). A field is *, a number, a range 1-5, a list 1,15 or steps */10; if both days
// are restricted, one of them has to fit. It may also be @hourly, @daily, @weekly, @monthly or @yearly. Its times are
// UTC, unless it begins with a time zone, as in "TZ=Europe/Berlin 0 3 * * *". There, an hour that a change of clocks
// skips has no ticks, and one that comes twice has them twice. Or it is @every 90m, a period of whole seconds: a tick
// comes that long after the one before it. There the broker counts anew when it starts, and Missed may leave one out.
// An invalid schedule is an error.
//
// Another schedule under the path replaces the one before. A schedule that no instance has called Every for ends after
// the time for which the log of the service keeps events ([MaxAge], 7 days), and so do its ticks that no
// instance has handled. To end it at once: nats stream purge bus_EVENTS_mailer_example --subject
// bus.l.example.mailer.on-nightly.every. The broker has to be nats-server 2.14 or later.
func Every(conn *bus.Conn, path, schedule string, handle func(ctx context.Context, tick Tick) error,
	options ...SubscribeOption) error {
	if conn == nil {
		return fmt.Errorf("events.Every %s: there is no connection", path)
	}
	if err := sourcesOf(conn).every(path, schedule, handle, options); err != nil {
		return fmt.Errorf("events.Every %s of %s: %w", path, conn.Host(), err)
	}
	return nil
}

// timetable has the times of a schedule.
type timetable struct {
	text          string        // as in Every, with single spaces
	pattern, zone string        // as JetStream has them
	period        time.Duration // of @every; 0 for none
	times         cron.Schedule
}

// scheduleFields follows what is wrong with a schedule.
const scheduleFields = "; write minute, hour, day of the month, month and day of the week, as in \"0 3 * * 1-5\", or " +
	"@hourly, @daily, @weekly, @monthly, @yearly, or @every 90m, after a time zone if it is not UTC: \"TZ=Europe/Berlin 0 3 * * *\""

// parseSchedule returns the times of a schedule.
func parseSchedule(schedule string) (timetable, error) {
	fields := strings.Fields(schedule)
	t := timetable{text: strings.Join(fields, " ")}
	if len(fields) > 0 && strings.HasPrefix(fields[0], "TZ=") {
		if t.zone = strings.TrimPrefix(fields[0], "TZ="); t.zone == "" {
			return t, fmt.Errorf("the schedule %q: TZ= names no time zone%s", schedule, scheduleFields)
		}
		fields = fields[1:]
	}
	t.pattern = strings.Join(fields, " ")
	zone, err := time.LoadLocation(t.zone) // "" is UTC
	if err != nil || t.zone == "Local" {
		return t, fmt.Errorf("the schedule %q: the time zone %s is not known here%s", schedule, t.zone, scheduleFields)
	}
	if strings.Contains(t.pattern, "TZ=") { // the parser would take that
		return t, fmt.Errorf("the schedule %q has another time zone%s", schedule, scheduleFields)
	}
	t.times, err = cron.ParseStandard(t.pattern)
	if err != nil {
		return t, fmt.Errorf("the schedule %q: %w%s", schedule, err, scheduleFields)
	}
	switch times := t.times.(type) {
	case cron.ConstantDelaySchedule:
		if t.period = times.Delay; t.zone != "" {
			return t, fmt.Errorf("the schedule %q: a period has no time zone%s", schedule, scheduleFields)
		}
		if text := strings.TrimPrefix(t.pattern, "@every "); !isWhole(text) {
			return t, fmt.Errorf("the schedule %q: a period has whole seconds, and at least one: write @every 1s", schedule)
		}
		t.pattern = "@every " + t.period.String()
	case *cron.SpecSchedule:
		times.Location = zone
		if times.Next(time.Now()).IsZero() {
			return t, fmt.Errorf("the schedule %q: no day fits in five years%s", schedule, scheduleFields)
		}
		if !strings.HasPrefix(t.pattern, "@") {
			t.pattern = "0 " + t.pattern // seconds
			err = checkFields(fields)
		}
	}
	if err != nil {
		return t, fmt.Errorf("the schedule %q: %w%s", schedule, err, scheduleFields)
	}
	return t, nil
}

// isWhole reports whether a period has whole seconds, and at least one. The parser would round it.
func isWhole(text string) bool {
	period, err := time.ParseDuration(text)
	return err == nil && period >= time.Second && period%time.Second == 0
}

// checkFields returns an error for what the parser takes in five fields, but is a mistake.
func checkFields(fields []string) error {
	for i, largest := range []int{59, 23, 31, 12, 6} {
		for part := range strings.SplitSeq(fields[i], ",") {
			_, step, _ := strings.Cut(part, "/")
			number, _ := strconv.Atoi(step) // 0 without a step
			switch {
			case part == "":
				return fmt.Errorf("a part of the list %s is empty", fields[i])
			case number > largest:
				return fmt.Errorf("the step of %s exceeds %d", part, largest)
			}
		}
	}
	return nil
}

// missed returns how many times there are between two ticks.
func (t timetable) missed(after, before time.Time) (count int) {
	if t.period > 0 {
		late := min(300*time.Millisecond, t.period/2) // a tick may be, and the next one is not
		return max(0, int((before.Sub(after)+late)/t.period)-1)
	}
	for next := t.times.Next(after); !next.After(before) && !next.IsZero(); next = t.times.Next(next) {
		count++
	}
	return max(0, count-1) // that of the tick itself
}

// missedBetween returns how many times there are between two ticks of one schedule, which need not be that of this
// instance.
func missedBetween(before, tick durable.Tick) int {
	if before.Schedule != tick.Schedule || before.Time.IsZero() {
		return 0
	}
	times, err := parseSchedule(tick.Schedule)
	if err != nil { // the time zone is not known here
		return 0
	}
	return times.missed(before.Time, tick.Time)
}

// isNear reports whether a time of the schedule is near, so that the schedule had better not be touched.
func (t timetable) isNear(now time.Time) bool {
	const near = 5 * time.Second
	return !t.times.Next(now.Add(-near)).After(now.Add(near))
}

// ticker handles the ticks of a schedule.
type ticker struct {
	of     *sources
	path   string
	times  timetable
	table  *durable.Timetable // set before the first tick is handled
	begun  chan struct{}      // closed then
	handle func(ctx context.Context, tick Tick) error
}

// OnTick handles a tick.
func (t *ticker) OnTick(ctx context.Context) error {
	delivery, _ := DeliveryOf(ctx)
	at, err := time.Parse(time.RFC3339Nano, delivery.ID)
	if err != nil { // it is no tick, but published by another client
		return t.handle(ctx, Tick{Time: delivery.Stored})
	}
	select {
	case <-t.begun:
	case <-ctx.Done():
		return ctx.Err()
	}
	before, stored, err := t.table.Ticks(ctx, at)
	if err != nil {
		return feature.Bus.Error(err)
	}
	missed := missedBetween(before, stored)
	if missed > 0 && delivery.Attempt == 1 {
		t.of.Log(t.of.logger.Warn().Str("path", t.path).Int("missed", missed).Time("last", before.Time).Time("tick", at),
			"times of a schedule have passed without a tick: the broker was away")
	}
	if t.times.period > 0 { // at another moment the next tick would come late
		t.renew()
	}
	return t.handle(ctx, Tick{Time: at, Last: before.Time, Missed: missed})
}

// renew renews the schedule, so that the log does not drop it.
func (t *ticker) renew() {
	ctx, cancel := context.WithTimeout(t.of.Base(), natsconn.DefaultTimeout)
	defer cancel()
	if err := t.table.Renew(ctx); err != nil {
		t.of.Log(t.of.LimitedLine(zerolog.WarnLevel, "a schedule cannot be renewed").Str("path", t.path).Err(err),
			"a schedule cannot be renewed; it ends when the log drops it, unless that succeeds later")
	}
}

// renewLater renews a schedule of times now and then, until the connection is closed.
func (t *ticker) renewLater() {
	const soon = 15 * time.Second // a near time is over then
	var timer *time.Timer
	timer = time.AfterFunc(time.Hour, func() {
		if t.of.IsClosing() {
			return
		}
		if t.times.isNear(time.Now()) {
			timer.Reset(min(soon, t.table.Pause()))
			return
		}
		t.renew()
		timer.Reset(t.table.Pause())
	})
	timer.Reset(t.table.Pause())
	context.AfterFunc(t.of.Base(), func() { timer.Stop() })
}

func (s *sources) every(path, schedule string, handle func(context.Context, Tick) error,
	options []SubscribeOption) error {
	times, err := parseSchedule(schedule)
	if err != nil {
		return err
	}
	if handle == nil {
		return errors.New("there is no function to call")
	}
	if path == "" || path == "/" {
		return errors.New("there is no path: write one such as /on-nightly")
	}
	publisher, err := NewPublisher(s.conn, s.conn.Host(), Durable())
	if err != nil {
		return err
	}
	request, err := s.tickRequest(path)
	if err != nil {
		return err
	}
	t := &ticker{of: s, path: path, times: times, handle: handle, begun: make(chan struct{})}
	config := newSubscribeConfig(append([]SubscribeOption{Durable()}, options...))
	events, err := t.plan(config)
	if err != nil {
		return err
	}
	if written := events[0].Routed().Path; written != path {
		return fmt.Errorf("the path %q has characters that a path escapes: write %s", path, written)
	}
	s.publish(publisher, path, "")
	if err := s.register(s.conn.Host(), events, config.durable); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(s.Base(), natsconn.DefaultTimeout)
	defer cancel()
	request.Pattern, request.Zone, request.Period, request.Text = times.pattern, times.zone, times.period, times.text
	if t.table, err = publisher.store.Timetable(ctx, request); err != nil {
		return feature.Bus.Error(err)
	}
	close(t.begun)
	if times.period == 0 {
		t.renewLater()
	}
	return nil
}

// plan returns the event whose handler is the ticker.
func (t *ticker) plan(config *subscribeConfig) ([]*handledEvent, error) {
	if err := config.check(); err != nil {
		return nil, err
	}
	config.handlers.SetStrict(t.of.IsStrict())
	service, err := config.handlers.Describe(nil, t)
	if err != nil {
		return nil, err
	}
	routes := config.handlers.Routes()
	routes.Methods["OnTick"] = restmap.MethodOptions{HTTPMethod: http.MethodPost, Path: t.path}
	mapped, err := restmap.Map(service, routes)
	if err != nil {
		return nil, err
	}
	planned := config.handlers.Endpoints(t.of.conn.Host(), mapped, service)
	events := make([]*handledEvent, len(planned))
	for i, each := range planned {
		events[i] = &handledEvent{each, true}
	}
	return events, nil
}

// tickRequest returns the event that the broker stores.
func (s *sources) tickRequest(path string) (durable.Timing, error) {
	to, err := s.FindDestination("POST "+addressOf(s.conn.Host(), path), nil)
	if err != nil {
		return durable.Timing{}, feature.Bus.Unsent(err)
	}
	request := to.WithBody([]byte("{}")).Outgoing()
	request.FromHost, request.FromID, request.MsgID, request.CallDepth = s.conn.Host(), s.conn.ID(), "tick", 1
	return durable.Timing{Path: request.Address.Path, Request: &request.Request}, nil
}
