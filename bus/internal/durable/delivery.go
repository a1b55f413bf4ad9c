package durable

import (
	"context"
	"fmt"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"github.com/busline/busline/bus/internal/callctx"
	"github.com/busline/busline/bus/internal/server"
	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/wire"
)

// delivery is one attempt at a stored event: the [server.Replier] that answers to JetStream, as no caller waits.
type delivery struct {
	from    *Consumer
	message *nats.Msg
	attempt int // from 1
	stored  time.Time
	err     error // the reason why it must not be handled; nil for none

	mu         sync.Mutex  // protects all below
	timer      *time.Timer // calls inProgress
	progressAt time.Time   // when JetStream got the last sign of progress
	until      time.Time   // the end of the time of its handler; zero before it has one
	late       bool        // its handler was found running after that
	ended      bool
}

// The answers to JetStream.
const (
	jsAck        = "+ACK"
	jsNak        = "-NAK"
	jsTerminate  = "+TERM"
	jsInProgress = "+WPI"
)

// progressPause is the time between two messages to JetStream that a handler still runs.
const progressPause = ackWait / 3

func newDelivery(from *Consumer, message *nats.Msg) *delivery {
	d := &delivery{from: from, message: message, attempt: 1, progressAt: time.Now()}
	if metadata, err := message.Metadata(); err == nil {
		d.attempt = int(min(metadata.NumDelivered, 1<<30))
		d.stored = metadata.Timestamp
	}
	return d
}

// event returns the delivery as the handler sees it.
func (d *delivery) event(in *server.Incoming) *callctx.Event {
	event := &callctx.Event{Publisher: d.from.of.store.Publisher, ID: in.Request.MsgID, Attempt: d.attempt,
		Stored: d.stored}
	if id, chosen := strings.CutPrefix(d.eventID(), in.Address.Path+" "); chosen {
		event.ID = id
	}
	return event
}

// eventID returns the id under which the publisher stored the event, which a dead letter keeps.
func (d *delivery) eventID() string {
	return EventID(d.message.Header, d.stored)
}

// begin starts to send JetStream signs of progress.
func (d *delivery) begin() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.timer = time.AfterFunc(progressPause, d.inProgress)
}

// The timer calls inProgress: it sends JetStream a sign of progress, until the time of the handler
// ends. A handler that runs on is logged once, because it may hold up all events of its kind here.
func (d *delivery) inProgress() {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.ended || d.from.of.config.Base.Err() != nil:
		return
	case d.until.IsZero() || time.Now().Before(d.until):
		if err := d.answer(jsInProgress); err != nil {
			d.from.of.config.Log(d.from.of.config.Logger.Debug().Err(err).Str("publisher", d.from.of.store.Publisher),
				"cannot tell JetStream that a handler is still running")
		} else {
			d.progressAt = time.Now()
		}
	case d.late:
		d.from.of.config.Log(d.from.of.config.Logger.Warn().Str("publisher", d.from.of.store.Publisher).Str("event",
			d.from.name.Event).Int("attempt", d.attempt),
			"the handler of a stored event has not returned in its time; the event is delivered again, "+
				"and counts for events.MaxInFlight until it returns")
		return
	default:
		d.late = true
	}
	d.timer.Reset(progressPause)
}

// handledUntil sets the end of the time of the handler. After that JetStream may deliver the event to another instance.
func (d *delivery) handledUntil(deadline time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.until = deadline
}

// end stops telling JetStream that the event is in progress.
func (d *delivery) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ended = true
	d.timer.Stop()
}

// givenAway reports whether JetStream has delivered the event to another instance in the meantime.
func (d *delivery) givenAway() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return time.Since(d.progressAt) >= ackWait
}

// Reply answers to JetStream for the response of the handler. A failure does not count once the event was given away:
// it would cause another attempt beside the one that runs by now, or a dead letter although that one succeeds.
func (d *delivery) Reply(in *server.Incoming, _ *wire.ResponseHead, response *wire.Response) error {
	if response.OpCode != wire.OpRes {
		return nil
	}
	d.end()
	defer d.from.done()
	if response.Status < http.StatusBadRequest {
		return d.answer(jsAck)
	}
	failed := d.from.of.config.Failure(response)
	switch {
	case d.givenAway():
		return nil
	case d.err != nil:
		return d.refuse(in, failed)
	case d.isFinal(in, failed):
		return d.deadLetter(in, failed.Error())
	case d.attempt >= d.from.of.options.MaxDeliver:
		return d.deadLetter(in, fmt.Sprintf("attempt %d was the last: %s", d.attempt, failed))
	default:
		return d.nak(d.pause())
	}
}

// refuse stores what is no event as a dead letter, or only ends it if there was much of that.
func (d *delivery) refuse(in *server.Incoming, failed *status.Error) error {
	s := d.from.of
	keeps, terminated := s.keepsJunk()
	if keeps {
		return d.deadLetter(in, failed.Error())
	}
	s.config.Log(s.config.LimitedLine(zerolog.ErrorLevel, "no event in the log of "+s.store.Publisher).Str("publisher",
		s.store.Publisher).
		Int("terminated", terminated).Str("reason", failed.Error()),
		"messages in the log of a publisher are no events; beyond 100 a minute they are no dead letters either")
	return d.answer(jsTerminate + " no event")
}

// isFinal reports whether the handler itself refuses the event, so that another attempt is pointless. It is not if a
// service that the handler calls refuses, or the event does not fit the arguments: that service, or this one, may just
// be replaced by another version.
func (d *delivery) isFinal(in *server.Incoming, failed *status.Error) bool {
	switch failed.Status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return false
	default:
		return failed.Status < http.StatusInternalServerError && failed.Executed != status.ExecutedNo &&
			failed.MsgID == in.Request.MsgID
	}
}

// pause returns the wait after this attempt: four times the wait after the one before.
func (d *delivery) pause() time.Duration {
	pause := d.from.of.options.FirstRetry
	for range d.attempt - 1 {
		if pause >= d.from.of.options.LongestRetry/4 {
			return d.from.of.options.LongestRetry
		}
		pause *= 4
	}
	return pause
}

// nak makes JetStream deliver the event again after a pause, to any instance.
func (d *delivery) nak(pause time.Duration) error {
	if pause <= 0 {
		return d.answer(jsNak)
	}
	return d.answer(jsNak + ` {"delay": ` + strconv.FormatInt(pause.Nanoseconds(), 10) + `}`)
}

// giveBack gives an event that no handler has seen back to JetStream, which delivers it again after a pause, to any
// instance.
func (d *delivery) giveBack(pause time.Duration) {
	d.end()
	if err := d.nak(pause); err != nil {
		d.from.of.config.Log(d.from.of.config.Logger.Debug().Err(err).Str("publisher", d.from.of.store.Publisher),
			"cannot give an event back to JetStream; it will be delivered again anyway")
	}
}

func (d *delivery) answer(what string) error {
	return d.from.of.config.Broker.PublishNow(d.message.Reply, "", []byte(what))
}

// deadLetterRoom is how many bytes an event leaves of the largest message, for the header of a dead letter.
const deadLetterRoom = 2 << 10

// deadLetter stores an event as a dead letter, and only then acknowledges it. If that fails, JetStream delivers the
// event again.
func (d *delivery) deadLetter(in *server.Incoming, reason string) error {
	s := d.from.of
	partition := d.message.Subject[strings.LastIndexByte(d.message.Subject, '.')+1:]
	letter := nats.NewMsg(s.store.DeadLetter(s.config.Host, s.event, partition))
	letter.Data = d.message.Data
	letter.Header.Set(ReasonHeader, oneLine(reason))
	letter.Header.Set(AttemptsHeader, strconv.Itoa(d.attempt))
	letter.Header.Set(EventIDHeader, d.eventID())
	line := s.config.LimitedLine(zerolog.ErrorLevel, "dead letter of "+s.event).Str("publisher",
		s.store.Publisher).Str("event", path.Base(in.Address.Path)).Str("msgId", in.Request.MsgID).
		Int("attempts", d.attempt).Str("reason", reason)
	ctx, cancel := context.WithTimeout(s.config.Base, storeTimeout)
	defer cancel()
	recreate := func(ctx context.Context) error {
		_, err := s.store.ensureStreams(ctx)
		return err
	}
	if _, err := s.store.publish(ctx, letter, d.storedAs(), recreate); err != nil {
		s.config.Log(line.AnErr("cause", err).Str("stream", s.store.DeadLetters()),
			"an event could not be handled, nor be stored as a dead letter; it will be delivered again")
		return d.nak(s.options.LongestRetry)
	}
	s.deadLetters.Add(1)
	s.config.Log(line.Str("stream", s.store.DeadLetters()).Str("subject", letter.Subject),
		"an event could not be handled, and is a dead letter")
	return d.answer(jsTerminate + " dead letter")
}

// storedAs returns an id of the event that is the same for each delivery to the service.
func (d *delivery) storedAs() string {
	metadata, err := d.message.Metadata()
	if err != nil {
		return d.message.Reply
	}
	return fmt.Sprintf("%s %d %d", d.from.name, metadata.Sequence.Stream, metadata.Timestamp.UnixNano())
}

// oneLine returns a reason as a value of a header.
func oneLine(reason string) string {
	const longest = 1 << 10
	reason = strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(reason, "?"))
	return strings.ToValidUTF8(reason[:min(len(reason), longest)], "") // the cut may be within a character
}

// roomAgain is the time until the next check for room for a waiting event, if no event is done before.
const roomAgain = 100 * time.Millisecond

// waitingEvent is an event that waits for room.
type waitingEvent struct {
	in       *server.Incoming
	delivery *delivery
}

// enqueue keeps an event that has to wait: calls and other events have taken the room, or MaxInFlight events of its
// kind are handled. A nak would use up an attempt that no handler has seen.
func (s *Consumer) enqueue(in *server.Incoming, d *delivery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = append(s.waiting, waitingEvent{in, d})
	s.roomTimer.Reset(roomAgain)
}

// The timer calls lookForRoom.
func (s *Consumer) lookForRoom() {
	s.startWaiting()
	s.fetch()
}

// startWaiting starts the waiting events, as long as there is room for them.
func (s *Consumer) startWaiting() {
	for {
		next, ok := s.takeWaiting(func() bool { return s.hasTurnLocked() && s.of.config.Handlers.StartEvent() })
		if !ok {
			return
		}
		s.begin(next.in, next.delivery)
		s.of.config.Broker.Backlog().Add(next.in)
	}
}

// Waiting returns the number of waiting events.
func (s *Consumer) Waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.waiting)
}

// nakAll gives the waiting events back to JetStream, for other instances.
func (s *Consumer) nakAll() {
	for {
		next, ok := s.takeWaiting(func() bool { return true })
		if !ok {
			return
		}
		s.of.config.Handlers.AbandonEvent()
		s.leave()
		next.delivery.giveBack(0)
	}
}

// takeWaiting removes and returns the oldest waiting event. It returns false if there is none, or may does.
func (s *Consumer) takeWaiting(may func() bool) (oldest waitingEvent, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) == 0 {
		return waitingEvent{}, false
	}
	if !may() {
		s.roomTimer.Reset(roomAgain)
		return waitingEvent{}, false
	}
	oldest = s.waiting[0]
	s.waiting[0] = waitingEvent{} // or it would be kept in memory
	s.waiting = s.waiting[1:]
	return oldest, true
}
