package portal

import (
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/busline/busline/bus"
)

// inFlight counts the bytes of bodies that an ingress holds: of requests until they are answered, of responses until
// the client has them.
type inFlight struct {
	limit int64

	mu   sync.Mutex // protects held
	held int64
}

// smallShare is what part of the limit a small body has at most: 64 KiB of 64 MiB, as much as the header of any request.
const smallShare = 1 << 10

// take counts more bytes for who has some, unless that exceeds the limit. What is alone always fits, and so does what is
// small: or few clients that send large bodies slowly would keep everybody out.
func (f *inFlight) take(has, more int64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.held > 0 && f.held+more > f.limit && has+more > f.limit/smallShare {
		return false
	}
	f.held += more
	return true
}

// add counts more bytes, or fewer, whatever the limit.
func (f *inFlight) add(more int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held += more
}

// now returns how many bytes are held.
func (f *inFlight) now() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.held
}

// load is what one request has the ingress hold. It is used by one goroutine.
type load struct {
	of   *inFlight
	held int64
}

// take makes the load heavier, if there is room.
func (l *load) take(more int64) bool {
	taken := l.of.take(l.held, more)
	if taken {
		l.held += more
	}
	return taken
}

// exchange has the response take the place of the request, which is not held any longer. What has no room is dropped
// where the client can ask again: the answer to anything but a GET tells what has been done, and nobody else knows.
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

// drop holds nothing any longer.
func (l *load) drop() {
	l.of.add(-l.held)
	l.held = 0
}

// reader counts what is read from a request's body. It fails when there is no room.
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

// fullError turns a request away that may come back in a second.
type fullError struct{ failed *bus.Error }

func (e *fullError) Error() string { return e.failed.Error() }
func (e *fullError) Unwrap() error { return e.failed }

func (f *inFlight) full(executed bus.Executed) error {
	return &fullError{&bus.Error{
		Status: http.StatusServiceUnavailable, Executed: executed,
		Detail: fmt.Sprintf("the ingress holds as many bytes of bodies as it may, %d: try again in a second", f.limit),
	}}
}
