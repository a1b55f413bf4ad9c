package stream

import (
	"errors"
	"io"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/busline/busline/bus/internal/fragment"
	"github.com/busline/busline/bus/internal/status"
	"github.com/busline/busline/bus/wire"
)

// ReaderConfig is what a reader works with. All fields are set.
type ReaderConfig struct {
	// Open tells the writer how many bytes it may send in all. It must not block.
	Open func(limit int64)
	// Ended is called once when no more parts are to come: err is nil after the last part, [ErrClosed] after Close, else why the stream failed.
	Ended func(err error)
	Held  fragment.Reservation // memory for the window, and for the parts that were not read
	// Opened is how many bytes the writer knows that it may send, see [FirstWindow].
	Opened int64
	// Length is the announced length of the body, in bytes; 0 for none.
	Length int64
}

var (
	// ErrClosed says that the stream was closed before its end.
	ErrClosed = errors.New("the stream was closed before its end")
	errEnded  = errors.New("the stream has ended")
)

// Reader is the side of a stream that receives: an [io.ReadCloser]. It has to be read to its end, or closed. Its methods are safe for
// concurrent use.
type Reader struct {
	config ReaderConfig

	mu       sync.Mutex // protects all below
	changed  *sync.Cond
	parts    []taken // that were not read
	next     int     // number of the next part
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

// taken is a part.
type taken struct {
	body []byte // that was not read
	head int    // bytes of the message besides the body
}

// NewReader returns a reader. The first part is still to be taken. Without memory for the window the error is that of
// [fragment.TooManyParts].
func NewReader(config ReaderConfig) (*Reader, error) {
	if err := config.Held.Grow(int(config.Opened)); err != nil {
		return nil, err
	}
	r := &Reader{config: config, next: 1, opened: config.Opened, window: config.Opened, heardAt: time.Now()}
	r.changed = sync.NewCond(&r.mu)
	return r, nil
}

// Take takes a part, which came in a message of size bytes. A repeated one is [fragment.ErrRepeated], and changes nothing; any other error has ended the
// stream. fields are those of the part's head.
func (r *Reader) Take(part *wire.Fragment, body []byte, fields wire.Header, size int) error {
	r.mu.Lock()
	err := r.takeLocked(part, body, fields, size)
	isLast, isQuestion := err == nil && !part.IsOpen(), err == nil && part.IsOpen() && len(body) == 0 && part.Number > 1
	if isQuestion { // a reader that is slow tells of every byte
		r.opened = max(r.opened, r.read+r.window)
	}
	opened := r.opened
	r.mu.Unlock()
	switch {
	case errors.Is(err, fragment.ErrRepeated), errors.Is(err, errEnded):
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
	switch {
	case r.err != nil || r.closed:
		return errEnded
	case part.Number < r.next:
		return fragment.ErrRepeated
	case part.Number > r.next:
		return lost(r.next)
	case !part.IsOpen() && part.Count != part.Number && part.IsPart():
		return status.Errorf(http.StatusBadGateway, status.ExecutedUnknown, io.ErrUnexpectedEOF, "part %d of the stream says that it has %d parts", part.Number, part.Count)
	case r.received+int64(len(body)) > r.opened:
		return status.Errorf(http.StatusBadGateway, status.ExecutedUnknown, io.ErrUnexpectedEOF, "part %d of the stream exceeds the window: %d bytes may be sent", part.Number, r.opened)
	}
	if len(body) > 0 {
		if err := r.config.Held.Grow(size - len(body)); err != nil { // the window has the memory of the body
			return err
		}
		r.parts = append(r.parts, taken{body, size - len(body)})
	}
	if length := r.config.Length; length > 0 && (r.received+int64(len(body)) > length || !part.IsOpen() && r.received+int64(len(body)) < length) {
		return status.Errorf(http.StatusBadGateway, status.ExecutedUnknown, io.ErrUnexpectedEOF, "the stream is not as long as announced: %d bytes", length)
	}
	r.next++
	r.received += int64(len(body))
	r.heardAt = time.Now()
	if !part.IsOpen() {
		r.endLocked(io.EOF)
		r.trailer = fields
	}
	r.changed.Broadcast()
	return nil
}

// lost is the error for a part that has not arrived.
func lost(number int) error {
	return status.Errorf(http.StatusBadGateway, status.ExecutedUnknown, io.ErrUnexpectedEOF, "part %d of the stream was lost on the way", number)
}

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

// ReadAll reads all of from, at most limit bytes, into memory that it takes from held and its caller gives back. Beyond the limit the error is
// that of [fragment.TooLarge]; without memory, that of [fragment.TooManyParts]. The pieces are counted, and not the moment in which they are
// joined: it is as long as a copy.
func ReadAll(from io.Reader, limit int, held *fragment.Reservation) ([]byte, error) {
	const smallest, largest = 4 << 10, 256 << 10
	var pieces [][]byte
	var piece []byte // the last one, which is not full
	size := 0
	for {
		if len(piece) == cap(piece) {
			more := min(max(2*cap(piece), smallest), largest)
			if err := held.Grow(more); err != nil {
				return nil, err
			}
			pieces, piece = append(pieces, piece), make([]byte, 0, more)
		}
		n, err := from.Read(piece[len(piece):cap(piece)])
		piece = piece[:len(piece)+n]
		switch size += n; {
		case size > limit:
			return nil, fragment.TooLarge(int64(size), limit)
		case errors.Is(err, io.EOF):
			return slices.Concat(append(pieces, piece)...), nil
		case err != nil:
			return nil, err
		}
	}
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
		*first, r.parts = taken{}, r.parts[1:]
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

// resizeLocked doubles the window, as the reader reads, and halves it while memory is tight. Half of the window was read, so the writer has no
// more than the other half.
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

// Reopen tells the writer the window again.
func (r *Reader) Reopen() {
	r.mu.Lock()
	opened := r.opened
	r.mu.Unlock()
	if opened > r.config.Opened {
		r.config.Open(opened)
	}
}

// Close ends the reading. The writer is told, unless the stream has ended.
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
