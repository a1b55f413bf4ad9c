package durable

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/wire"
)

// Timing is an event that comes again and again.
type Timing struct {
	Path    string        // "/on-nightly"
	Pattern string        // as JetStream has it: "0 0 3 * * *", with seconds
	Zone    string        // "Europe/Berlin"; "" for UTC
	Period  time.Duration // of "@every 90m"; 0 for other patterns
	Text    string        // as the program has it: "0 3 * * *"
	Request *wire.Request
}

// Timetable is a schedule of JetStream, which stores an event of the stream at its times. JetStream has it in the log,
// which drops it with the events of its age: so it is renewed as long as an instance runs. It is safe for concurrent
// use.
type Timetable struct {
	of       *Stream
	schedule *nats.Msg
	tick     string // the subject of what is stored
}

const (
	zoneHeader = "Nats-Schedule-Time-Zone"
	// timetableHeader is on what a timetable stores. It has the path.
	timetableHeader = "Bus-Timetable"
	// timetableTextHeader is on it, too. It has the schedule that the tick is of.
	timetableTextHeader = "Bus-Timetable-Schedule"
	expectedHeader      = "Nats-Expected-Last-Subject-Sequence"

	// scheduleToken is in the place of an id; those of events that come later begin with the escape of a slash.
	scheduleToken = "every"
)

// EventID returns the id by which JetStream knows a stored event. What a timetable stores has none, but a time.
func EventID(header nats.Header, stored time.Time) string {
	for _, name := range []string{EventIDHeader, jetstream.MsgIDHeader} {
		if id := header.Get(name); id != "" {
			return id
		}
	}
	if path := header.Get(timetableHeader); path != "" {
		return path + " " + stored.UTC().Format(time.RFC3339Nano)
	}
	return ""
}

// Timetable has JetStream store an event at the times of a timetable, in place of those that the event had.
func (s *Stream) Timetable(ctx context.Context, timing Timing) (*Timetable, error) {
	message, _, err := s.message(Event{Path: timing.Path, Request: timing.Request})
	if err != nil {
		return nil, err
	}
	if err := s.allowLater(ctx, time.Time{}); err != nil {
		return nil, err
	}
	t := &Timetable{of: s, schedule: message, tick: message.Subject}
	if age := t.maxAge(); age > 0 && timing.Period > age/2 {
		return nil, status.NotRun(http.StatusBadRequest, nil, "a period of %s exceeds half of the time for which the log of "+
			"%s keeps events, %s: write the times of the schedule with five fields, or choose a longer one of events.MaxAge",
			timing.Period, s.Publisher, age)
	}
	message.Header.Set(scheduleHeader, timing.Pattern)
	message.Header.Set(targetHeader, message.Subject)
	message.Header.Set(timetableHeader, timing.Path)
	message.Header.Set(timetableTextHeader, timing.Text)
	if timing.Zone != "" {
		message.Header.Set(zoneHeader, timing.Zone)
	}
	message.Subject = s.Later(eventToken(t.tick), scheduleToken)
	return t, t.begin(ctx)
}

// begin stores the schedule, unless the log has the same. Another instance may do so at the same time.
func (t *Timetable) begin(ctx context.Context) error {
	for {
		found, err := t.of.last(ctx, t.schedule.Subject)
		if err != nil {
			return t.of.failed(err)
		}
		if found != nil && t.isSame(found.Header) {
			return nil
		}
		again, err := t.of.replace(ctx, t.schedule, found)
		if isAPIError(err, jetstream.JSErrCodeSchedulePatternInvalid) || isAPIError(err, scheduleZoneInvalid) {
			return status.NotRun(http.StatusNotImplemented, err, "the broker (nats-server %s) does not take the schedule %q in "+
				"%s: %s; it has to be nats-server 2.14 or later, and to know the time zone",
				t.of.config.Broker.NATS().ConnectedServerVersion(), t.schedule.Header.Get(scheduleHeader),
				cmp.Or(t.schedule.Header.Get(zoneHeader), "UTC"), err)
		}
		if err != nil {
			return t.of.failed(err)
		}
		if !again {
			return nil
		}
	}
}

// scheduleZoneInvalid is an error code of JetStream.
const scheduleZoneInvalid = 10223

// isSame reports whether a schedule is that of the timetable.
func (t *Timetable) isSame(found nats.Header) bool {
	for _, name := range []string{scheduleHeader, zoneHeader, timetableHeader, timetableTextHeader} {
		if found.Get(name) != t.schedule.Header.Get(name) {
			return false
		}
	}
	return true
}

// last returns the last message under a subject of the stream, nil for none.
func (s *Stream) last(ctx context.Context, of string) (*jetstream.RawStreamMsg, error) {
	stream, err := s.find(ctx, s.Events())
	if err != nil {
		return nil, err
	}
	message, err := stream.GetLastMsgForSubject(ctx, of)
	return message, ignoreMissing(err)
}

// replace stores a message under its subject in place of one, nil for none. It returns true, and does nothing, if
// another instance has done so meanwhile.
func (s *Stream) replace(ctx context.Context, message *nats.Msg,
	before *jetstream.RawStreamMsg) (again bool, err error) {
	manager, err := s.manager()
	if err != nil {
		return false, err
	}
	next := nats.NewMsg(message.Subject)
	next.Data = message.Data
	maps.Copy(next.Header, message.Header)
	next.Header.Set(rollupHeader, "sub")
	next.Header.Set(expectedHeader, "0")
	if before != nil {
		next.Header.Set(expectedHeader, strconv.FormatUint(before.Sequence, 10))
	}
	_, err = manager.PublishMsg(ctx, next)
	if isAPIError(err, jetstream.JSErrCodeStreamWrongLastSequence) ||
		isAPIError(err, jetstream.JSErrCodeStreamWrongLastSequenceConstant) {
		return true, nil
	}
	return false, err
}

// Pause returns how often to call Renew.
func (t *Timetable) Pause() time.Duration {
	if age := t.maxAge(); age > 0 {
		return min(time.Hour, age/8)
	}
	return time.Hour
}

// maxAge returns how long the log has what is not renewed; 0 for no limit.
func (t *Timetable) maxAge() time.Duration {
	if seen := t.of.seen.Load(); seen != nil {
		return seen.MaxAge
	}
	return 0
}

// Renew stores the schedule again if it would soon be too old, also if it is by now that of another instance. After a
// schedule of a period JetStream begins to count anew.
func (t *Timetable) Renew(ctx context.Context) error {
	found, err := t.of.last(ctx, t.schedule.Subject)
	switch {
	case err != nil:
		return t.of.failed(err)
	case found == nil:
		return t.begin(ctx)
	case t.maxAge() == 0, time.Since(found.Time) < t.maxAge()/4:
		return nil
	}
	message := &nats.Msg{Subject: found.Subject, Header: found.Header, Data: found.Data}
	if _, err := t.of.replace(ctx, message, found); err != nil {
		return t.of.failed(err)
	}
	return nil
}
