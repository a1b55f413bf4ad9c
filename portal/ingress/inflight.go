package ingress

import (
	"cmp"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"math"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/wire"
	"github.com/busline/busline/portal/internal/outside"
)

// inFlight counts the bytes of large heads and of bodies in memory of an ingress: those of requests until they are
// answered, response bodies until the client has received them. It remembers how large the responses were that had no
// room, so that the next such call waits for its room before the service has done anything. It is safe for concurrent
// use.
type inFlight struct {
	limit int64
	seed  maphash.Seed

	mu       sync.Mutex // protects all below
	held     int64
	expected map[uint64]int64 // sizes of large responses, by the hash of the call
}

func newInFlight(limit int64) *inFlight {
	return &inFlight{limit: limit, seed: maphash.MakeSeed(), expected: make(map[uint64]int64)}
}

// smallShare: what takes at most 1/smallShare of the limit counts as small. That is 3 KiB of 24 MiB, and no more than a
// connection costs anyway.
const smallShare = 8 << 10

// What the head of a request costs.
const (
	freeHead   = 4 << 10 // as much as net/http reads at a time
	headCopies = 3       // what was read, its fields, and the message
)

// headCost returns how many bytes a head of a size counts.
func headCost(size int) int64 { return headCopies * max(0, int64(size)-freeHead) }

// maxExpected is the largest number of calls whose size is remembered.
const maxExpected = 1 << 10

// take counts more bytes for a request that already holds some, unless that exceeds the limit. A request that is alone
// always fits, and so does a small one: otherwise a few clients that slowly send large bodies would keep all others
// out. A request that gives bytes back fits too.
func (f *inFlight) take(has, more int64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if more > 0 && f.held > has && f.held+more > f.limit && !f.isSmall(has+more) {
		return false
	}
	f.held += more
	return true
}

func (f *inFlight) isSmall(bytes int64) bool { return bytes <= f.limit/smallShare }

// release no longer counts bytes.
func (f *inFlight) release(bytes int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held -= bytes
}

// now returns how many bytes are in memory.
func (f *inFlight) now() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.held
}

// expectedOf returns the size that the response to a call is likely to have, 0 if it is not known to be large.
func (f *inFlight) expectedOf(call uint64) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.expected[call]
}

// expect remembers the size of the response to a call if that had no room, or an earlier one had none.
func (f *inFlight) expect(call uint64, size int64, fits bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, known := f.expected[call]
	switch {
	case f.isSmall(size):
		delete(f.expected, call)
		return
	case !known && fits:
		return
	case !known && len(f.expected) == maxExpected:
		clear(f.expected)
	}
	f.expected[call] = size
}

// reservation counts the bytes that one request keeps in memory. Use it from one goroutine.
type reservation struct {
	of   *inFlight
	held int64
	call uint64 // hash of the method and the address
}

// take adds bytes to the load, if there is room.
func (l *reservation) take(more int64) bool {
	ok := l.of.take(l.held, more)
	if ok {
		l.held += more
	}
	return ok
}

// reserve takes room for the response to a call before it is made, if the response is known to be large.
func (l *reservation) reserve(method string, to *url.URL) error {
	l.call = maphash.String(l.of.seed, method+" "+to.Host+to.EscapedPath())
	if !l.take(l.of.expectedOf(l.call)) {
		return l.of.full(bus.ExecutedNo)
	}
	return nil
}

// exchange replaces the request's body, and what was reserved, by the response's body in the count. A response without
// room is dropped.
func (l *reservation) exchange(r *http.Request, response *http.Response) error {
	response.Request = nil // which holds the body that was sent
	size := response.ContentLength
	if r.Method == http.MethodHead || isStream(response) { // it is the length of what is not here
		size = 0
	}
	fits := l.take(size - l.held)
	l.of.expect(l.call, size, fits)
	if fits {
		return nil
	}
	l.release()
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return l.of.full(bus.ExecutedYes)
	}
	return l.of.lost(response)
}

// release releases all bytes of the load.
func (l *reservation) release() {
	l.of.release(l.held)
	l.held = 0
}

// reader counts the bytes that are read from a request's body, and fails if there is no room.
func (l *reservation) reader(body io.Reader) io.Reader { return &loadReader{body, l} }

type loadReader struct {
	body io.Reader
	load *reservation
}

func (r *loadReader) Read(data []byte) (int, error) {
	n, err := r.body.Read(data)
	if n > 0 && !r.load.take(int64(n)) {
		return n, r.load.of.full(bus.ExecutedNo)
	}
	return n, err
}

// full is the refusal of a request that may be repeated after a second.
func (f *inFlight) full(executed bus.Executed) error {
	return &bus.Error{
		Status: http.StatusServiceUnavailable, Executed: executed, RetryAfter: time.Second,
		Detail: fmt.Sprintf("the ingress already holds as many bytes of heads and bodies as it may, %d: try again in a second", f.limit),
	}
}

// lost is the answer to a call that was carried out and cannot be repeated at will. It has no Retry-After, which would
// have clients repeat it.
func (f *inFlight) lost(response *http.Response) error {
	return &bus.Error{
		Status: http.StatusServiceUnavailable, Executed: bus.ExecutedYes,
		Detail: fmt.Sprintf("the call was executed, and the service answered with status %d; its body of %d bytes was "+
			"dropped, because "+
			"the ingress already holds as many bytes of heads and bodies as it may, %d: find out what the call has done "+
			"before you repeat it",
			response.StatusCode, response.ContentLength, f.limit),
	}
}

// Limits of a request, unless options set others.
const (
	maxHeaderBytes    = 64 << 10
	maxHeaderFields   = 232 // a call has 240 at most, including up to 8 for tracing and X-Forwarded
	noLimit           = math.MaxInt64
	defaultInFlight   = 24 << 20
	defaultTimeBudget = wire.DefaultTimeBudget
)

// checkRequest refuses what can be refused before the body is read, and counts the head.
func (c *config) checkRequest(r *http.Request, load *reservation) error {
	if !outside.Carried(r.Method) {
		return bus.Errorf(http.StatusNotImplemented,
			"the method %.40q is not forwarded; use capital letters, and neither CONNECT nor TRACE", r.Method)
	}
	if length := len(cmp.Or(r.RequestURI, r.URL.RequestURI())); length > outside.MaxURILength {
		return bus.Errorf(http.StatusRequestURITooLong,
			"a URI of %d bytes exceeds the limit of %d; send long values in the body of a POST", length, outside.MaxURILength)
	}
	size, err := checkHeader(r)
	if err != nil {
		return err
	}
	if r.ContentLength > c.bodyLimit {
		return tooLarge(c.bodyLimit)
	}
	if cost := headCost(size + len(r.RequestURI)); cost > 0 && !load.take(cost) {
		return load.of.full(bus.ExecutedNo)
	}
	return nil
}

// checkHeader checks the size of the header as it is written, with a colon, a space and a line end for each field, and
// returns it.
func checkHeader(r *http.Request) (size int, err error) {
	const perField = len(": \r\n")
	size, fields := len("Host")+len(r.Host)+perField, 1
	for name, values := range r.Header {
		for _, value := range values {
			size += len(name) + len(value) + perField
		}
		fields += len(values)
	}
	if size > maxHeaderBytes {
		return 0, bus.Errorf(http.StatusRequestHeaderFieldsTooLarge,
			"a header of %d bytes exceeds the limit of %d; send less, for example fewer cookies", size, maxHeaderBytes)
	}
	if fields > maxHeaderFields {
		return 0, bus.Errorf(http.StatusRequestHeaderFieldsTooLarge, "%d header fields exceed the limit of %d; send fewer",
			fields, maxHeaderFields)
	}
	return size, nil
}

// heldBody is how large a body may be that is read before the call is made, in bytes. Others are sent as they arrive.
const heldBody = 1 << 20

// bodyOf returns the body of a request.
func (c *config) bodyOf(arriving *arrivingBody, r *http.Request, load *reservation) (io.ReadCloser, error) {
	if 0 <= r.ContentLength && r.ContentLength <= heldBody {
		body, err := c.readBody(arriving, r, load)
		return wire.NewBody(body), err
	}
	if r.ContentLength > 0 {
		return arriving, nil
	}
	first, err := c.read(arriving, load, smallBody)
	if err != nil || len(first) < smallBody {
		return wire.NewBody(first), err
	}
	return wire.Unread(first, arriving), nil
}

// smallBody is how large a body of unknown length may be that is read before the call is made, in bytes.
const smallBody = 64 << 10

// mostHeld returns how many bytes of a body are read before the call is made.
func (c *config) mostHeld() int64 {
	return min(c.bodyLimit, heldBody)
}

// arrivingBody is the body of a request as it arrives. Each piece has the time of a whole request, and moves the time
// that the client has for its response.
type arrivingBody struct {
	io.ReadCloser

	toAnswer time.Duration // from the last piece until the client has read its response
	isHTTP2  bool

	mu sync.Mutex // protects connection
	// nil when the request is over: net/http allows no use after that, and panics by HTTP/2
	connection *http.ResponseController
}

func (c *config) arriving(w http.ResponseWriter, r *http.Request) *arrivingBody {
	return &arrivingBody{
		ReadCloser: http.MaxBytesReader(w, r.Body, c.bodyLimit), toAnswer: c.budget(r) + writeTimeout,
		isHTTP2:    r.ProtoMajor > 1,
		connection: http.NewResponseController(w),
	}
}

// Read reads what has arrived. A body that its client breaks off ends with [io.ErrUnexpectedEOF]. A call that has ended
// may read on for a moment.
func (b *arrivingBody) Read(data []byte) (int, error) {
	if !b.extend(readTimeout + b.toAnswer) {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := b.ReadCloser.Read(data)
	switch {
	case errors.Is(err, io.EOF):
		b.extend(b.toAnswer)
	case err != nil && b.isHTTP2 && bodyFailure(err) == nil: // net/http says there that the handler has ended
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// extend gives the client time for its next piece, and for reading its response. It reports whether the request is not
// over.
func (b *arrivingBody) extend(toWrite time.Duration) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.connection == nil {
		return false
	}
	_ = b.connection.SetReadDeadline(time.Now().Add(readTimeout)) // not every server supports this
	_ = b.connection.SetWriteDeadline(time.Now().Add(toWrite))
	return true
}

// finish is called when the request is over.
func (b *arrivingBody) finish() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.connection = nil
}

// bodyFailure returns the error for a body that is too large, or too slow; nil if err has another reason. The limit may
// be that of an outer handler.
func bodyFailure(err error) error {
	exceeded, tooMuch := errors.AsType[*http.MaxBytesError](err)
	switch {
	case tooMuch:
		return tooLarge(exceeded.Limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return bus.Errorf(http.StatusRequestTimeout, "the request body did not arrive in time; send less at once, or faster")
	default:
		return nil
	}
}

// readBody reads the request's body up to the limit. It counts bytes as they arrive and not as announced, so that a
// client that announces a large body and sends nothing takes no room. It stops reading when there is no room.
func (c *config) readBody(body io.Reader, r *http.Request, load *reservation) ([]byte, error) {
	announced := max(0, r.ContentLength)
	if !load.take(announced) {
		return nil, load.of.full(bus.ExecutedNo)
	}
	load.take(-announced)
	return c.read(body, load, math.MaxInt64)
}

// read reads so many bytes of a body.
func (c *config) read(from io.Reader, load *reservation, most int64) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(load.reader(from), most))
	_, full := errors.AsType[*bus.Error](err)
	switch failed := bodyFailure(err); {
	case full:
		return nil, err
	case failed != nil:
		return nil, failed
	case err != nil:
		return nil, bus.Errorf(http.StatusBadRequest, "the request body cannot be read: %w", err)
	}
	return body, nil
}

func tooLarge(limit int64) error {
	return bus.Errorf(http.StatusRequestEntityTooLarge,
		"the request body exceeds the limit of %d bytes; send less at a time", limit)
}

// budget returns how long a call may take. A client can ask for less, in whole seconds: "Request-Timeout: 5".
func (c *config) budget(r *http.Request) time.Duration {
	const bits = 32 // enough for any budget, and cannot overflow
	asked := r.Header.Get("Request-Timeout")
	if asked == "" {
		return c.timeBudget
	}
	seconds, err := strconv.ParseUint(asked, 10, bits)
	if err != nil || seconds == 0 {
		return c.timeBudget
	}
	return min(c.timeBudget, time.Duration(seconds)*time.Second)
}
