package portal

import (
	"fmt"
	"hash/maphash"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/busline/busline/bus"
)

// inFlight counts the bytes of bodies in memory of an ingress: request bodies until they are answered, response bodies
// until the client has received them. It remembers how large the responses were that had no room, so that the next such
// call waits for its room before the service has done anything. It is safe for concurrent use.
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

// smallShare: a body of at most 1/smallShare of the limit counts as small. That is 64 KiB of 64 MiB, as much as any
// request's header.
const smallShare = 1 << 10

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

// load counts the bytes that one request keeps in memory. Use it from one goroutine.
type load struct {
	of   *inFlight
	held int64
	call uint64 // hash of the method and the address
}

// take adds bytes to the load, if there is room.
func (l *load) take(more int64) bool {
	taken := l.of.take(l.held, more)
	if taken {
		l.held += more
	}
	return taken
}

// reserve takes room for the response to a call before it is made, if the response is known to be large.
func (l *load) reserve(method string, to *url.URL) error {
	l.call = maphash.String(l.of.seed, method+" "+to.Host+to.EscapedPath())
	if !l.take(l.of.expectedOf(l.call)) {
		return l.of.full(bus.ExecutedNo)
	}
	return nil
}

// exchange replaces the request's body, and what was reserved, by the response's body in the count. A response without
// room is dropped.
func (l *load) exchange(r *http.Request, response *http.Response) error {
	response.Request = nil // which holds the body that was sent
	fits := l.take(response.ContentLength - l.held)
	l.of.expect(l.call, response.ContentLength, fits)
	if fits {
		return nil
	}
	l.drop()
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return l.of.full(bus.ExecutedYes)
	}
	return l.of.lost(response)
}

// drop releases all bytes of the load.
func (l *load) drop() {
	l.of.release(l.held)
	l.held = 0
}

// reader counts the bytes that are read from a request's body, and fails if there is no room.
func (l *load) reader(body io.Reader) io.Reader { return &loadReader{body, l} }

type loadReader struct {
	body io.Reader
	load *load
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
		Detail: fmt.Sprintf("the ingress already holds as many bytes of bodies as it may, %d: try again in a second", f.limit),
	}
}

// lost is the answer to a call that was carried out and cannot be repeated at will. It has no Retry-After, which would
// have clients repeat it.
func (f *inFlight) lost(response *http.Response) error {
	return &bus.Error{
		Status: http.StatusServiceUnavailable, Executed: bus.ExecutedYes,
		Detail: fmt.Sprintf("the call was executed, and the service answered with status %d; its body of %d bytes was dropped, because "+
			"the ingress already holds as many bytes of bodies as it may, %d: find out what the call has done before you repeat it",
			response.StatusCode, response.ContentLength, f.limit),
	}
}
