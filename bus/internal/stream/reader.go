package stream

import (
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/wire"
)

// ReaderConfig is what a reader works with. Open, Opened and Length are those of a body with a window, Limit is that of
// one whose parts are known. Everything else is set.
type ReaderConfig struct {
	// Open sends the window to the writer: how many bytes it may send in all. It must not block.
	Open func(limit int64)
	// Opened is how many bytes the writer knows that it may send, see [FirstWindow].
	Opened int64
	// Length is the announced length of the body, in bytes; 0 for none.
	Length int64
	// Limit is the largest body, in bytes.
	Limit int
	// Ended is called once when no more parts are to come: err is nil after the last part, [ErrClosed] after Close, else
	// why the stream failed.
	Ended func(err error)
	Held  Reservation // memory for the window, and for the parts that were not read
}

var (
	// ErrClosed says that the stream was closed before its end.
	ErrClosed = errors.New("the stream was closed before its end")
	// ErrRepeated says that a part has come before.
	ErrRepeated = errors.New("this part of the message has already arrived")

	// ErrEnded says that no more parts are taken.
	ErrEnded = errors.New("the stream has ended")
)

// Reader is the side of a stream that receives: an [io.ReadCloser]. It has to be read to its end, or closed. Its
// methods are safe for concurrent use.
type Reader struct {
	config ReaderConfig

	mu       sync.Mutex // protects all below
	changed  *sync.Cond
	parts    []part // that were not read
	next     int    // number of the next part
	count    int    // of all parts; 0 until it is known
	received int64
	read     int64
	opened   int64 // limit of received
	window   int64 // how far the writer may be ahead
	err      error // after the parts: io.EOF, or why the stream failed
	closed   bool
	trailer  wire.Header
	heardAt  time.Time
	deadline time.Time
	alarm    *time.Timer // at the deadline; nil for none
}

// part is one message of the stream.
type part struct {
	body []byte // that was not read
	head int    // bytes of the message besides the body
}

// NewReader returns a reader. The first part is still to be taken.
func NewReader(config ReaderConfig) *Reader {
	r := &Reader{config: config, next: 1, opened: config.Opened, window: config.Opened, heardAt: time.Now()}
	r.changed = sync.NewCond(&r.mu)
	return r
}

// Take takes a part, which came in a message of size bytes. A repeated one is [ErrRepeated], and changes nothing; any
// other error has ended the stream. fields are those of the part's head.
func (r *Reader) Take(part *wire.Fragment, body []byte, fields wire.Header, size int) error {
	r.mu.Lock()
	err := r.takeLocked(part, body, fields, size)
	isLast, isQuestion := err == nil && r.err != nil, err == nil && part.IsOpen() && len(body) == 0 && part.Number > 1
	if isQuestion { // a slow reader reports every byte
		r.opened = max(r.opened, r.read+r.window)
	}
	opened := r.opened
	r.mu.Unlock()
	switch {
	case errors.Is(err, ErrRepeated), errors.Is(err, ErrEnded):
	case err != nil:
		r.Fail(err)
	case isLast:
		r.config.Ended(nil)
	case isQuestion:
		r.config.Open(opened)
	}
	return err
}

func (r *Reader) takeLocked(part *wire.Fragment, body []byte, fields wire.Header, size int) error {
	if r.err != nil || r.closed {
		return ErrEnded
	}
	if err := r.checkLocked(part, body); err != nil {
		return err
	}
	if err := r.keepLocked(body, size); err != nil {
		return err
	}
	r.next++
	r.received += int64(len(body))
	r.heardAt = time.Now()
	r.count = part.Count // 0 for a part that may not be the last one
	if part.Number == part.Count {
		r.endLocked(io.EOF)
		r.trailer = fields
	}
	r.changed.Broadcast()
	return nil
}

// checkLocked returns an error for a part that does not follow the ones before it, or is too much.
func (r *Reader) checkLocked(part *wire.Fragment, body []byte) error {
	received := r.received + int64(len(body))
	switch isLast := part.Number == part.Count; {
	case r.count > 0 && part.Count != r.count:
		of := "*"
		if part.Count > 0 {
			of = strconv.Itoa(part.Count)
		}
		return status.NotRun(http.StatusBadRequest, nil,
			"part %d of %s does not match the first part, which announced %d parts", part.Number, of, r.count)
	case part.Number < r.next:
		return ErrRepeated
	case part.Number > r.next:
		return r.broken("part %d was lost on the way", r.next)
	case r.config.Opened == 0:
		return r.checkWholeLocked(part, len(body))
	case !part.IsOpen() && !isLast:
		return r.broken("part %d of the stream says that it has %d parts", part.Number, part.Count)
	case received > r.opened:
		return r.broken("part %d of the stream exceeds the window: %d bytes may be sent", part.Number, r.opened)
	case r.config.Length > 0 && (received > r.config.Length || isLast && received < r.config.Length):
		return r.broken("the stream is not as long as announced: %d bytes", r.config.Length)
	default:
		return nil
	}
}

// checkWholeLocked is checkLocked for the size of a body without a window. It refuses one that will be too large as
// soon as that is certain: no part but the last is smaller than the first.
func (r *Reader) checkWholeLocked(part *wire.Fragment, size int) error {
	least := r.received + int64(size)
	if part.Number == 1 {
		least = max(least, int64(part.Count-1)*int64(size))
	}
	switch {
	case part.Count > maxWholeParts:
		return status.NotRun(http.StatusRequestEntityTooLarge, nil, "the message has %d parts, and the limit is %d",
			part.Count, maxWholeParts)
	case least > int64(r.config.Limit):
		return TooLarge(least, r.config.Limit)
	default:
		return nil
	}
}

// broken is the error of a part that does not fit. Nothing was read before part 1, and of a body without a window
// before its end.
func (r *Reader) broken(format string, arguments ...any) error {
	switch {
	case r.config.Opened == 0:
		return status.NotRun(http.StatusServiceUnavailable, nil, format, arguments...)
	case r.next == 1:
		return status.NotRun(http.StatusBadRequest, io.ErrUnexpectedEOF, format, arguments...)
	default:
		return status.MayHaveRun(http.StatusBadGateway, io.ErrUnexpectedEOF, format, arguments...)
	}
}

// keepLocked keeps the body of a part. Its memory is that of the window, which is reserved with part 1; without a
// window it is that of the message.
func (r *Reader) keepLocked(body []byte, size int) error {
	held := &r.config.Held
	if r.next == 1 && r.config.Opened > 0 {
		if err := held.Grow(int(r.config.Opened)); err != nil {
			return err
		}
	}
	if len(body) == 0 {
		return nil
	}
	head := size - len(body)
	if r.config.Opened > 0 {
		size = head
	}
	if err := held.Grow(size); err != nil {
		return err
	}
	r.parts = append(r.parts, part{body, head})
	return nil
}

// Body joins what has come and was not read, and keeps the memory until [Reader.Close].
func (r *Reader) Body() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	body := make([]byte, 0, r.received-r.read)
	for _, part := range r.parts {
		body = append(body, part.body...)
	}
	r.parts = nil
	return body
}

// Progress returns how many parts have come, of how many; 0 if that is not known.
func (r *Reader) Progress() (come, all int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.next - 1, r.count
}

// HasEnded reports whether no more parts come.
func (r *Reader) HasEnded() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err != nil || r.closed
}

// Evict gives the memory back at once, even while a part is being taken. The reader is to be closed then.
func (r *Reader) Evict() { r.config.Held.Free() }

// Read reads what has arrived, and waits if there is nothing.
func (r *Reader) Read(data []byte) (int, error) {
	if len(data) == 0 {
		return 0, nil
	}
	part, err := r.await()
	if err != nil {
		return 0, err
	}
	n := copy(data, part)
	r.consume(n)
	return n, nil
}

// longestPiece is how many bytes are written at once, so that a reader that is slow is seen to read.
const longestPiece = 32 << 10

// WriteTo writes all parts until the end, without copying them.
func (r *Reader) WriteTo(to io.Writer) (written int64, err error) {
	for {
		part, err := r.await()
		if errors.Is(err, io.EOF) {
			return written, nil
		}
		if err != nil {
			return written, err
		}
		n, err := to.Write(part[:min(len(part), longestPiece)])
		written += int64(n)
		r.consume(n)
		if err != nil {
			return written, err
		}
	}
}

// await returns the first part that was not read, or why there is none.
func (r *Reader) await() ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		switch {
		case r.closed:
			return nil, ErrClosed
		case len(r.parts) > 0:
			return r.parts[0].body, nil
		case r.err != nil:
			return nil, r.err
		case !r.deadline.IsZero() && !time.Now().Before(r.deadline):
			return nil, os.ErrDeadlineExceeded
		}
		r.changed.Wait()
	}
}

// consume notes that bytes of the first part were read, and opens the window by half of it at a time.
func (r *Reader) consume(n int) {
	r.mu.Lock()
	if len(r.parts) == 0 || n == 0 { // closed meanwhile
		r.mu.Unlock()
		return
	}
	first := &r.parts[0]
	if first.body = first.body[n:]; len(first.body) == 0 {
		r.config.Held.Shrink(first.head)
		*first, r.parts = part{}, r.parts[1:]
		if len(r.parts) == 0 && r.err != nil {
			r.config.Held.Free()
		}
	}
	r.read += int64(n)
	opens := r.err == nil && r.read+r.window-r.opened >= r.window/2
	if opens {
		r.resizeLocked()
		r.opened = max(r.opened, r.read+r.window)
	}
	opened := r.opened
	r.mu.Unlock()
	if opens {
		r.config.Open(opened)
	}
}

// resizeLocked doubles the window, as the reader reads, and halves it while memory is tight. Half of the window was
// read, so the writer has no more than the other half.
func (r *Reader) resizeLocked() {
	held := &r.config.Held
	if !held.IsTight() {
		if more := min(r.window, Window-r.window); more > 0 && held.TryGrow(int(more)) == nil {
			r.window += more
		}
	} else if less := r.window - max(r.window/2, tightWindow); less > 0 {
		held.Shrink(int(less))
		r.window -= less
	}
}

// Reopen sends the writer the window again.
func (r *Reader) Reopen() {
	r.mu.Lock()
	opened := r.opened
	r.mu.Unlock()
	if opened > r.config.Opened {
		r.config.Open(opened)
	}
}

// Close ends the reading. The writer gets a message, unless the stream has ended.
func (r *Reader) Close() error {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil
	}
	hasEnded := r.err != nil
	r.closed, r.parts = true, nil
	r.freeLocked()
	r.mu.Unlock()
	if !hasEnded {
		r.config.Ended(ErrClosed)
	}
	return nil //nolint:nilerr // the error of the stream is that of Read
}

// Fail ends the stream, unless it has ended. What has arrived can still be read, and then comes the error.
func (r *Reader) Fail(err error) {
	r.mu.Lock()
	if r.err != nil || r.closed {
		r.mu.Unlock()
		return
	}
	r.endLocked(err)
	r.changed.Broadcast()
	r.mu.Unlock()
	r.config.Ended(err)
}

// endLocked notes that no more parts come. Those that have come keep the memory until they are read.
func (r *Reader) endLocked(err error) {
	if r.err = err; len(r.parts) == 0 {
		r.config.Held.Free()
	}
}

func (r *Reader) freeLocked() {
	if r.alarm != nil {
		r.alarm.Stop()
	}
	r.config.Held.Free()
	r.changed.Broadcast()
}

// HeardAt returns when the latest part arrived.
func (r *Reader) HeardAt() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.heardAt
}

// Received returns how many bytes have arrived.
func (r *Reader) Received() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.received
}

// Trailer returns the fields of the last part; nil before that.
func (r *Reader) Trailer() wire.Header {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.trailer
}

// SetDeadline ends waits for parts at that time, with [os.ErrDeadlineExceeded]; the zero value for none.
func (r *Reader) SetDeadline(at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.deadline = at
	if r.alarm != nil {
		r.alarm.Stop()
	}
	if !at.IsZero() {
		r.alarm = time.AfterFunc(time.Until(at), r.changed.Broadcast)
	}
	r.changed.Broadcast()
}
