package portal

import (
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/busline/busline/bus"
)

// inFlight counts the bytes of bodies in memory of an ingress: request bodies until they are answered, response bodies
// until the client has received them.
type inFlight struct {
	limit int64

	mu   sync.Mutex // protects held
	held int64
}

// smallShare: a body of at most 1/smallShare of the limit counts as small. That is 64 KiB of 64 MiB, as much as any
// request's header.
const smallShare = 1 << 10

// take counts more bytes for a request that already holds some, unless that exceeds the limit. A request that is alone
// always fits, and so does a small one: otherwise a few clients that slowly send large bodies would keep all others
// out.
func (f *inFlight) take(has, more int64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.held > 0 && f.held+more > f.limit && has+more > f.limit/smallShare {
		return false
	}
	f.held += more
	return true
}

// add counts more bytes, or fewer if negative, regardless of the limit.
func (f *inFlight) add(more int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held += more
}

// now returns how many bytes are in memory.
func (f *inFlight) now() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.held
}

// load counts the bytes that one request keeps in memory. Use it from one goroutine.
type load struct {
	of   *inFlight
	held int64
}

// take adds bytes to the load, if there is room.
func (l *load) take(more int64) bool {
	taken := l.of.take(l.held, more)
	if taken {
		l.held += more
	}
	return taken
}

// exchange replaces the request's body by the response's in the count. A response without room is dropped only if the
// client can repeat the request, a GET: the response to any other says what has been done, and would be lost.
func (l *load) exchange(r *http.Request, response *http.Response) error {
	response.Request = nil // which holds the body that was sent
	l.drop()
	if l.take(response.ContentLength) {
		return nil
	}
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return l.of.full(bus.WasExecuted)
	}
	l.of.add(response.ContentLength)
	l.held += response.ContentLength
	return nil
}

// drop releases all bytes of the load.
func (l *load) drop() {
	l.of.add(-l.held)
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
		return n, r.load.of.full(bus.NotExecuted)
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
