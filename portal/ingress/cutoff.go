package ingress

import (
	"errors"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/busline/busline/bus"
)

// Limits of the lines about clients that are cut off, which they can cause as often as they like.
const (
	cutOffLines = 10
	cutOffPause = 10 * time.Second
)

// cutOffLog counts the lines about clients that were cut off. It is safe for concurrent use.
type cutOffLog struct {
	mu             sync.Mutex // protects all below
	since          time.Time  // of the first of the lines that count
	lines, leftOut int
}

// admit reports whether a line is written, and how many were left out before.
func (l *cutOffLog) admit(now time.Time) (leftOut int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.since) >= cutOffPause {
		l.since, l.lines = now, 0
	}
	if l.lines == cutOffLines {
		l.leftOut++
		return 0, false
	}
	l.lines++
	leftOut, l.leftOut = l.leftOut, 0
	return leftOut, true
}

// drainTimeout is how long net/http reads on when a body had no room.
const drainTimeout = 200 * time.Millisecond

// rejectBody refuses a request whose body cannot be had, and logs that if it did not arrive in time. Without room for
// the body the connection ends soon: else a client that sends no more would keep it for as long as a whole request may
// take.
func (i *Handler) rejectBody(w http.ResponseWriter, r *http.Request, err error) {
	if bus.StatusOf(err) == http.StatusServiceUnavailable && r.ContentLength != 0 && r.ProtoMajor == 1 {
		w.Header().Set("Connection", "close")
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(drainTimeout)) // not every server supports this
	}
	if bus.StatusOf(err) == http.StatusRequestTimeout {
		i.logCutOff(r, "a client was cut off: it did not send its request in time")
	}
	i.rejectRequest(w, r, err)
}

// noteUnread logs that a response could not be written because its client did not read it in time. HTTP/2 does not
// report that from a client that has left.
func (i *Handler) noteUnread(r *http.Request, err error) {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		i.logCutOff(r, "a client was cut off: it did not read its response in time")
	}
}

func (i *Handler) logCutOff(r *http.Request, message string) {
	leftOut, ok := i.cutOffs.admit(time.Now())
	if !ok {
		return
	}
	logger := i.conn.Logger()
	line := logger.Info().Str("method", r.Method).Str("path", requestPath(r))
	if leftOut > 0 {
		line.Int("leftOut", leftOut)
	}
	line.Msg(message)
}
