package bus

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

	"github.com/busline/busline/bus/internal/server"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

// delivery is one attempt at a stored event. What the handler answers goes to JetStream, instead of a caller.
type delivery struct {
	from    *pullConsumer
	message *nats.Msg
	attempt int   // from 1
	err     error // why it cannot be handled at all

	mu    sync.Mutex // protects all below
	beats *time.Timer
	heard time.Time // when JetStream last heard that it is in good hands
	until time.Time // when its handler has to be done; zero as long as none has it
	late  bool      // a beat has found it not done by then
	ended bool
}

// The answers to JetStream.
const (
	jsAck        = "+ACK"
	jsPutOff     = "-NAK"
	jsTerminate  = "+TERM"
	jsInProgress = "+WPI"
)

// beatPause is after how long JetStream is told again that a handler still runs.
const beatPause = storedAckWait / 3

func newDelivery(from *pullConsumer, message *nats.Msg) *delivery {
	d := &delivery{from: from, message: message, attempt: 1, heard: time.Now()}
	if told, err := message.Metadata(); err == nil {
		d.attempt = int(min(told.NumDelivered, 1<<30))
	}
	return d
}

// begin keeps telling JetStream that the event is in good hands.
func (d *delivery) begin() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.beats = time.AfterFunc(beatPause, d.inProgress)
}

// inProgress is what the timer does, until the handler has to be done. One that is not by the beat after that is reported, as no other
// line does: it may hold up all events of its kind here.
func (d *delivery) inProgress() {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.ended || d.from.conn.base.Err() != nil:
		return
	case d.until.IsZero() || time.Now().Before(d.until):
		if err := d.tell(jsInProgress); err != nil {
			d.from.conn.log(d.from.conn.logger.Debug().Err(err).Str("source", d.from.source),
				"cannot tell JetStream that a handler is still running")
		} else {
			d.heard = time.Now()
		}
	case d.late:
		d.from.conn.log(d.from.conn.logger.Warn().Str("source", d.from.source).Str("event", d.from.event).Int("attempt", d.attempt),
			"the handler of a stored event has not returned in its time; the event is delivered again, and counts for bus.MaxInFlight until it returns")
		return
	default:
		d.late = true
	}
	d.beats.Reset(beatPause)
}

// handledUntil says when the handler has to be done: if it is not, another instance is to have the event.
func (d *delivery) handledUntil(deadline time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.until = deadline
}

// end has JetStream told no more that the event is in good hands.
func (d *delivery) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ended = true
	d.beats.Stop()
}

// givenAway reports whether JetStream has waited so long that it has given the event to another instance.
func (d *delivery) givenAway() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return time.Since(d.heard) >= storedAckWait
}

// Reply takes the answer of the handler. A failure counts no more once the event was given away: it would have the event tried
// once more beside the attempt that runs by now, or parked although that succeeds.
func (d *delivery) Reply(in *server.Incoming, _ *wire.ResponseHead, response *wire.Response) error {
	if response.OpCode != wire.OpRes {
		return nil
	}
	d.end()
	defer d.from.done()
	if response.Status < http.StatusBadRequest {
		return d.tell(jsAck)
	}
	failed := responseError(response)
	switch {
	case d.givenAway():
		return nil
	case d.err != nil, d.isFinal(in, failed):
		return d.deadLetter(in, failed.Error())
	case d.attempt >= d.from.config.attempts:
		return d.deadLetter(in, fmt.Sprintf("attempt %d was the last: %s", d.attempt, failed))
	default:
		return d.nak(d.pause())
	}
}

// isFinal reports whether trying again is pointless: the handler itself says so. Not so when a service that it calls refuses, or
// when the event does not fit what the handler takes: that service, or this one, may just be replaced by another version.
func (d *delivery) isFinal(in *server.Incoming, failed *Error) bool {
	switch failed.Status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return false
	default:
		return failed.Status < http.StatusInternalServerError && failed.Executed != ExecutedNo && failed.MsgID == in.Request.MsgID
	}
}

// pause is how long to wait after this attempt: four times as long as after the one before.
func (d *delivery) pause() time.Duration {
	pause := d.from.config.first
	for range d.attempt - 1 {
		if pause >= d.from.config.longest/4 {
			return d.from.config.longest
		}
		pause *= 4
	}
	return pause
}

// nak has the event delivered again, to any instance.
func (d *delivery) nak(pause time.Duration) error {
	if pause <= 0 {
		return d.tell(jsPutOff)
	}
	return d.tell(jsPutOff + ` {"delay": ` + strconv.FormatInt(pause.Nanoseconds(), 10) + `}`)
}

// nakNow gives an event that no handler has seen back to JetStream, for another instance.
func (d *delivery) nakNow() {
	d.end()
	if err := d.nak(0); err != nil {
		d.from.conn.log(d.from.conn.logger.Debug().Err(err).Str("source", d.from.source),
			"cannot give an event back to JetStream; it will be delivered again anyway")
	}
}

func (d *delivery) tell(what string) error {
	return d.from.conn.broker.PublishNow(d.message.Reply, "", []byte(what))
}

// Headers of a parked event.
const (
	parkedReason   = "Bus-Parked-Reason"
	parkedAttempts = "Bus-Parked-Attempts"
)

// parkingRoom is how many bytes an event has to leave of the largest message, for the header that it is parked with.
const parkingRoom = 2 << 10

// deadLetter stores an event where an operator can look at it, and only then lets JetStream forget it. If that fails the event comes
// again.
func (d *delivery) deadLetter(in *server.Incoming, reason string) error {
	c, s := d.from.conn, d.from
	parked := nats.NewMsg(subject.ParkedEvent(c.plane, s.source, hostToken(c.host), s.event))
	parked.Data = d.message.Data
	parked.Header.Set(parkedReason, oneLine(reason))
	parked.Header.Set(parkedAttempts, strconv.Itoa(d.attempt))
	line := c.logger.Error().Str("source", s.source).Str("event", path.Base(in.Address.Path)).Str("msgId", in.Request.MsgID).
		Int("attempts", d.attempt).Str("reason", reason)
	ctx, cancel := context.WithTimeout(c.base, storeTimeout)
	defer cancel()
	anew := func(ctx context.Context) error {
		_, err := s.ensureStreams(ctx)
		return err
	}
	if _, err := s.store.store(ctx, parked, d.storedAs(), anew); err != nil {
		c.log(line.AnErr("cause", err).Str("stream", s.parked()),
			"an event could not be handled, nor be parked; it will be delivered again")
		return d.nak(s.config.longest)
	}
	s.unhandled.Add(1)
	c.log(line.Str("stream", s.parked()).Str("subject", parked.Subject), "an event could not be handled and was parked")
	return d.tell(jsTerminate + " parked")
}

// storedAs is an id of the event, the same for each delivery to the service.
func (d *delivery) storedAs() string {
	told, err := d.message.Metadata()
	if err != nil {
		return d.message.Reply
	}
	return fmt.Sprintf("%s %d %d", d.from.consumer, told.Sequence.Stream, told.Timestamp.UnixNano())
}

// oneLine is a reason as a header can hold it.
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

// roomAgain is when to look again whether there is room for an event that is held, if no event is done before.
const roomAgain = 100 * time.Millisecond

// heldEvent is one that waits for room.
type heldEvent struct {
	in       *serverCall
	delivery *delivery
}

// hold keeps an event for which there is no room among the handlers: calls, or other events, have taken it. Or as many of its kind
// are handled as may be. Given back to JetStream it would have used up an attempt without having been tried.
func (s *pullConsumer) hold(in *serverCall, d *delivery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = append(s.held, heldEvent{in, d})
	s.room.Reset(roomAgain)
}

// lookForRoom is what the timer does.
func (s *pullConsumer) lookForRoom() {
	s.startHeld()
	s.fetch()
}

// startHeld starts the events that are held, as long as there is room and it is their turn.
func (s *pullConsumer) startHeld() {
	for {
		next, ok := s.takeHeld(func() bool { return s.hasTurnLocked() && s.conn.handlers.StartEvent() })
		if !ok {
			return
		}
		s.begin(next.in, next.delivery)
		s.conn.broker.Backlog().Add(next.in)
	}
}

// nakAll gives the events that are held back to JetStream, for other instances: no caller waits for them any more.
func (s *pullConsumer) nakAll() {
	for {
		next, ok := s.takeHeld(func() bool { return true })
		if !ok {
			return
		}
		s.conn.handlers.AbandonEvent()
		next.delivery.nakNow()
	}
}

// takeHeld returns the oldest event that is held, if it may be taken; false if there is none, or it may not.
func (s *pullConsumer) takeHeld(may func() bool) (oldest heldEvent, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.held) == 0 {
		return heldEvent{}, false
	}
	if !may() {
		s.room.Reset(roomAgain)
		return heldEvent{}, false
	}
	oldest = s.held[0]
	s.held[0] = heldEvent{} // or it would be kept in memory
	s.held = s.held[1:]
	return oldest, true
}
