package portal

import (
	"cmp"
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/busline/busline/bus"
)

// Limits of a request, unless options set others.
const (
	maxURILength      = 8 << 10
	maxHeaderBytes    = 64 << 10
	maxHeaderFields   = 232 // a call has 240 at most, including up to 7 for tracing and X-Forwarded
	defaultBodyLimit  = 32 << 20
	defaultInFlight   = 64 << 20
	defaultTimeBudget = 20 * time.Second
)

// checkRequest refuses what can be refused before the body is read.
func (c *ingressConfig) checkRequest(r *http.Request) error {
	if !carried(r.Method) {
		return bus.Errorf(http.StatusNotImplemented, "the method %.40q is not forwarded; use capital letters, and neither CONNECT nor TRACE", r.Method)
	}
	if length := len(cmp.Or(r.RequestURI, r.URL.RequestURI())); length > maxURILength {
		return bus.Errorf(http.StatusRequestURITooLong, "a URI of %d bytes exceeds the limit of %d; send long values in the body of a POST", length, maxURILength)
	}
	if err := checkHeader(r); err != nil {
		return err
	}
	if r.ContentLength > c.bodyLimit {
		return tooLarge(c.bodyLimit)
	}
	return nil
}

// carried says whether the bus carries a method. CONNECT and TRACE concern the connection to a server, not what it
// serves (RFC 9110, 9.3.6 and 9.3.8), and PRI begins an HTTP/2 connection, which is not supported here.
func carried(method string) bool {
	for i := range len(method) {
		if method[i] < 'A' || 'Z' < method[i] {
			return false
		}
	}
	return method != "" && method != http.MethodConnect && method != http.MethodTrace && method != "PRI"
}

// checkHeader checks the size of the header as it is written, with a colon, a space and a line end for each field.
func checkHeader(r *http.Request) error {
	const perField = len(": \r\n")
	size, fields := len("Host")+len(r.Host)+perField, 1
	for name, values := range r.Header {
		for _, value := range values {
			size += len(name) + len(value) + perField
		}
		fields += len(values)
	}
	if size > maxHeaderBytes {
		return bus.Errorf(http.StatusRequestHeaderFieldsTooLarge, "a header of %d bytes exceeds the limit of %d; send less, for example fewer cookies", size, maxHeaderBytes)
	}
	if fields > maxHeaderFields {
		return bus.Errorf(http.StatusRequestHeaderFieldsTooLarge, "%d header fields exceed the limit of %d; send fewer", fields, maxHeaderFields)
	}
	return nil
}

// readBody reads the request's body up to the limit. It counts bytes as they arrive and not as announced, so that a
// client that announces a large body and sends nothing takes no room. It stops reading when there is no room.
func (c *ingressConfig) readBody(w http.ResponseWriter, r *http.Request, load *load) ([]byte, error) {
	if !load.take(max(0, r.ContentLength)) {
		return nil, load.of.full(bus.ExecutedNo)
	}
	load.drop()
	body, err := io.ReadAll(load.reader(http.MaxBytesReader(w, r.Body, c.bodyLimit)))
	exceeded, tooMuch := errors.AsType[*http.MaxBytesError](err)
	_, full := errors.AsType[*bus.Error](err)
	switch {
	case full:
		return nil, err
	case tooMuch:
		return nil, tooLarge(exceeded.Limit) // which may be that of an outer handler
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, bus.Errorf(http.StatusRequestTimeout, "the request body did not arrive in time; send less at once, or faster")
	case err != nil:
		return nil, bus.Errorf(http.StatusBadRequest, "the request body cannot be read: %w", err)
	}
	return body, nil
}

func tooLarge(limit int64) error {
	return bus.Errorf(http.StatusRequestEntityTooLarge, "the request body exceeds the limit of %d bytes; send less at a time", limit)
}

// budget returns how long a call may take. A client can ask for less, in whole seconds: "Request-Timeout: 5".
func (c *ingressConfig) budget(r *http.Request) time.Duration {
	const bits = 32 // enough for any budget, and cannot overflow
	seconds, err := strconv.ParseUint(r.Header.Get("Request-Timeout"), 10, bits)
	if err != nil || seconds == 0 {
		return c.timeBudget
	}
	return min(c.timeBudget, time.Duration(seconds)*time.Second)
}
