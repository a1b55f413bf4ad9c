package stream

import (
	"context"
	"math"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/wire"
)

// WriterConfig is what a writer works with. Window, Budget and Held are those of a body of unknown length, Plan is that
// of one whose parts are known. Everything else is set.
type WriterConfig struct {
	Plan Plan
	// Send sends a part, which is the last one if its Count is its Number. It does not keep the body, unless Keeps is set.
	Send     func(part wire.Fragment, body []byte) error
	Keeps    bool
	Context  context.Context //nolint:containedctx // nothing is sent after its end
	PartSize int             // most bytes of a part
	Window   int64           // bytes that may be sent before the reader opens its window further
	First    int             // bytes of part 1 if that has been sent; [Unsent] if it has not
	Budget   time.Duration   // longest time without a sign of the reader, and longest wait for its window
	Held     Reservation     // memory for what was written and not sent
	// Failed is called once if the stream ends before its last part: the reader is gone, or reads nothing, or a part was
	// not sent. It must not call the writer.
	Failed func(error)
}

// Writer is the side of a stream that sends. Its methods are safe for concurrent use.
type Writer struct {
	config WriterConfig
	timer  *time.Timer   // of the next part without a body; nil for a body without a window
	news   chan struct{} // buffer of one; a value stands for news in what mu protects

	sending turn // held while parts are sent; protects the fields up to mu
	pace    pace
	buffer  []byte
	usual   int // bytes of the latest part that was buffered, as the next one will likely have as many
	number  int // of the latest part
	sent    int64

	mu       sync.Mutex // protects all below
	limit    int64      // of sent
	heardAt  time.Time
	activeAt time.Time // when the latest part was sent
	deadline time.Time // of waits for the window; zero for none
	err      error     // why nothing can be sent any more
}

// turn is a lock that is held while its owner waits for the window. It is a channel, because a goroutine that waits for
// a mutex stops the clock of a testing/synctest bubble.
type turn chan struct{}

// Lock waits for the turn.
func (t turn) Lock() { t <- struct{}{} }

// Unlock gives the turn back.
func (t turn) Unlock() { <-t }

// TryLock reports whether the turn was free, and takes it then.
func (t turn) TryLock() bool {
	select {
	case t <- struct{}{}:
		return true
	default:
		return false
	}
}

// NewWriter returns a writer.
func NewWriter(config WriterConfig) *Writer {
	now := time.Now()
	w := &Writer{config: config, news: make(chan struct{}, 1), sending: make(turn, 1), limit: config.Window, activeAt: now,
		heardAt: now}
	if config.First >= 0 {
		w.number, w.sent = 1, int64(config.First)
	}
	if config.Plan.Count > 0 {
		w.limit = math.MaxInt64
	} else {
		w.timer = time.AfterFunc(pauseOf(config.Budget), w.keepAlive)
	}
	return w
}

// Write cuts data into parts, and sends those that are complete. It waits for the window.
func (w *Writer) Write(data []byte) (written int, err error) {
	w.sending.Lock()
	defer w.sending.Unlock()
	for written < len(data) {
		rest := data[written:]
		if len(w.buffer) == 0 && len(rest) >= w.config.PartSize && !w.config.Keeps { // no need to copy it
			if err := w.sendLocked(rest[:w.config.PartSize], false); err != nil {
				return written, err
			}
			written += w.config.PartSize
			continue
		}
		n := min(w.roomLocked(len(rest)), len(rest))
		w.buffer = append(w.buffer, rest[:n]...)
		written += n
		if len(w.buffer) == w.config.PartSize || n < len(rest) { // a part is full, or there is no memory for more
			if err := w.flushLocked(); err != nil {
				return written, err
			}
		}
	}
	return written, w.failure()
}

// Give is Write of bytes that the caller does not use any more, so that they need not be copied.
func (w *Writer) Give(data []byte) error {
	w.sending.Lock()
	defer w.sending.Unlock()
	if len(w.buffer) > 0 {
		if err := w.flushLocked(); err != nil {
			return err
		}
	}
	return w.sendLocked(data, false)
}

// smallestBuffer is what a writer buffers even if there is no memory, in bytes.
const smallestBuffer = 1 << 10

// roomLocked returns how many bytes the buffer takes, which grows for so many more if it may.
func (w *Writer) roomLocked(more int) int {
	if size := len(w.buffer) + more; size > cap(w.buffer) && cap(w.buffer) < w.config.PartSize {
		w.growLocked(size)
	}
	return min(cap(w.buffer), w.config.PartSize) - len(w.buffer)
}

// growLocked makes room for size bytes, but for no more than a part has, the window takes, and there is memory for.
func (w *Writer) growLocked(size int) {
	before := cap(w.buffer)
	size = min(max(size, 2*before, w.usual), w.config.PartSize, max(w.left(), smallestBuffer))
	if size > smallestBuffer && size > before && w.config.Held.Grow(size) != nil {
		size = min(smallestBuffer, w.config.PartSize)
	}
	if size <= before {
		return
	}
	if before > smallestBuffer {
		w.config.Held.Shrink(before)
	}
	w.buffer = append(make([]byte, 0, size), w.buffer...)
}

// Free gives the memory of what was not sent back, once nothing more is written.
func (w *Writer) Free() {
	w.sending.Lock()
	defer w.sending.Unlock()
	w.freeLocked()
}

// Sent returns how many bytes were sent.
func (w *Writer) Sent() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sent
}

// left returns how many bytes the window takes.
func (w *Writer) left() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return int(min(w.limit-w.sent, int64(w.config.PartSize)))
}

// freeLocked gives the memory of the buffer back, which the receiver keeps, or which is not used any more.
func (w *Writer) freeLocked() {
	w.buffer = nil
	w.config.Held.Free()
}

// Flush sends what was written. The first Flush sends part 1, even if there is nothing in it but the head. If many
// small parts were sent lately, what was written goes out a millisecond later, with what is written until then.
func (w *Writer) Flush() error {
	w.sending.Lock()
	defer w.sending.Unlock()
	switch {
	case len(w.buffer) == 0 && w.number > 0:
		return w.failure()
	case len(w.buffer) < smallPart && !w.pace.admits(time.Now()):
		if !w.pace.isDue {
			w.pace.isDue = true
			time.AfterFunc(flushPause, w.flushLate)
		}
		return w.failure()
	}
	return w.flushLocked()
}

// flushLate sends what a Flush has left.
func (w *Writer) flushLate() {
	w.sending.Lock()
	defer w.sending.Unlock()
	if w.pace.isDue = false; len(w.buffer) > 0 && w.failure() == nil {
		_ = w.flushLocked() // the next Write has the error
	}
}

const (
	// smallPart is the size from which parts are sent at any pace, in bytes.
	smallPart = 4 << 10
	// mostFlushed is how many smaller parts may be sent at once, and flushPause the time in which there may be one more:
	// what takes messages has room for a number of them, however small they are.
	mostFlushed = 128
	flushPause  = time.Millisecond
)

// pace bounds the small parts that are flushed. The zero value admits mostFlushed.
type pace struct {
	used  int // of mostFlushed, at the time
	at    time.Time
	isDue bool // flushLate is going to run
}

// admits reports whether one more small part may be sent now, and counts it.
func (p *pace) admits(now time.Time) bool {
	if ticks := int(min(now.Sub(p.at)/flushPause, mostFlushed)); ticks > 0 {
		p.used, p.at = max(0, p.used-ticks), now
	}
	if p.used == mostFlushed {
		return false
	}
	p.used++
	return true
}

// Close sends what was written, and ends the stream as a whole.
func (w *Writer) Close() error {
	w.sending.Lock()
	defer w.sending.Unlock()
	err := w.closeLocked(w.buffer)
	w.freeLocked()
	return err
}

// CloseWith is Write and Close of a body in memory, which is not copied. Nothing else is written.
func (w *Writer) CloseWith(body []byte) error {
	w.sending.Lock()
	defer w.sending.Unlock()
	return w.closeLocked(body)
}

func (w *Writer) closeLocked(body []byte) error {
	err := w.sendLocked(body, true)
	if err == nil {
		w.end(ErrEnded)
	}
	return err
}

// flushLocked sends the buffer.
func (w *Writer) flushLocked() error {
	err := w.sendLocked(w.buffer, false)
	w.usual = len(w.buffer)
	if w.config.Keeps {
		w.freeLocked()
	} else {
		w.buffer = w.buffer[:0]
	}
	return err
}

// sendLocked sends bytes in as many parts as the window requires.
func (w *Writer) sendLocked(body []byte, last bool) error {
	for {
		n := 0
		if len(body) > 0 {
			room, err := w.awaitRoom()
			if err != nil {
				return err
			}
			n = min(room, len(body))
		}
		if err := w.sendPart(body[:n], last && n == len(body)); err != nil {
			return err
		}
		if body = body[n:]; len(body) == 0 {
			return nil
		}
	}
}

// sendPart sends one part.
func (w *Writer) sendPart(body []byte, last bool) error {
	if w.config.Context.Err() != nil {
		w.Stop(context.Cause(w.config.Context))
	}
	if err := w.failure(); err != nil {
		return err
	}
	if w.number >= MaxParts-1 && !last {
		err := status.HasRun(http.StatusInternalServerError, nil, "the stream has %d parts, and no stream has more", w.number)
		w.Fail(err)
		return err
	}
	part := wire.Fragment{Number: w.number + 1, Count: w.config.Plan.Count}
	if last {
		part.Count = part.Number
	}
	if err := w.config.Send(part, body); err != nil {
		w.Fail(err)
		return err
	}
	w.number++
	w.mu.Lock()
	w.sent += int64(len(body))
	w.activeAt = time.Now()
	w.mu.Unlock()
	return nil
}

// awaitRoom waits until the reader takes more, and returns how many bytes. Meanwhile it keeps the stream alive.
func (w *Writer) awaitRoom() (room int, err error) {
	began, pause := time.Time{}, time.Duration(0)
	for {
		w.mu.Lock()
		err, left, deadline := w.err, w.limit-w.sent, w.deadline
		w.mu.Unlock()
		switch now := time.Now(); {
		case err != nil:
			return 0, err
		case left > 0:
			return int(min(left, int64(w.partSize()))), nil
		case !deadline.IsZero() && !now.Before(deadline):
			return 0, os.ErrDeadlineExceeded
		case began.IsZero():
			began, pause = now, pauseOf(w.config.Budget)
		case now.Sub(began) >= w.config.Budget:
			w.Fail(status.HasRun(http.StatusGatewayTimeout, status.ErrTimeout,
				"the other side has read nothing of the stream for %s", w.config.Budget))
			continue
		}
		if !deadline.IsZero() {
			pause = min(pause, time.Until(deadline))
		}
		timer := time.NewTimer(pause)
		select {
		case <-w.news:
		case <-timer.C:
			if deadline.IsZero() || time.Now().Before(deadline) {
				err = w.sendPart(nil, false)
			}
		}
		timer.Stop()
		if err != nil {
			return 0, err
		}
	}
}

// partSize returns how many bytes the next part has at most.
func (w *Writer) partSize() int {
	if w.number == 0 && w.config.Plan.Count > 0 {
		return w.config.Plan.First
	}
	return w.config.PartSize
}

// keepAlive sends a part without a body if nothing was sent or received for a pause, and ends the stream if the reader
// is gone.
func (w *Writer) keepAlive() {
	pause := pauseOf(w.config.Budget)
	if w.sending.TryLock() { // else a part is under way
		if sent, lastSign := w.signs(); w.number > 0 && (time.Since(sent) >= pause || time.Since(lastSign) >= pause) {
			_ = w.sendPart(nil, false) // an error has ended the stream
		}
		w.sending.Unlock()
	}
	if _, lastSign := w.signs(); time.Since(lastSign) > w.config.Budget {
		w.Fail(status.HasRun(http.StatusGatewayTimeout, status.ErrCallerLeft,
			"the other side of the stream is gone: nothing was heard of it for %s", w.config.Budget))
	}
	if w.failure() == nil {
		w.timer.Reset(pause)
	}
}

// signs returns when the latest part was sent, and when the reader gave the latest sign.
func (w *Writer) signs() (sent, lastSign time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.activeAt, w.heardAt
}

// Open takes the window: how many bytes may be sent in all. One that is not larger only shows that the reader is there.
func (w *Writer) Open(limit int64) {
	w.mu.Lock()
	w.limit, w.heardAt = max(w.limit, limit), time.Now()
	w.mu.Unlock()
	w.wake()
}

// ActiveAt returns when the latest part was sent, or the reader gave the latest sign.
func (w *Writer) ActiveAt() time.Time {
	sent, lastSign := w.signs()
	if sent.After(lastSign) {
		return sent
	}
	return lastSign
}

// SetDeadline ends waits for the window at that time, with [os.ErrDeadlineExceeded]; the zero value for none.
func (w *Writer) SetDeadline(at time.Time) {
	w.mu.Lock()
	w.deadline = at
	w.mu.Unlock()
	w.wake()
}

// Stop ends the stream before its last part, and calls nothing.
func (w *Writer) Stop(err error) { w.end(err) }

// Fail ends the stream before its last part, unless it has ended. It sends nothing.
func (w *Writer) Fail(err error) {
	if w.end(err) {
		w.config.Failed(err)
	}
}

// end notes the end, and reports whether there was none before.
func (w *Writer) end(why error) bool {
	w.mu.Lock()
	isFirst := w.err == nil
	if isFirst {
		w.err = why
	}
	w.mu.Unlock()
	if w.timer != nil {
		w.timer.Stop()
	}
	w.wake()
	return isFirst
}

func (w *Writer) failure() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

func (w *Writer) wake() {
	select {
	case w.news <- struct{}{}:
	default:
	}
}
