package bus

import (
	"net/http"
	"reflect"
	"slices"

	"github.com/busline/busline/bus/wire"
)

// given are the arguments and the results of a call as Go values. If the call stays in the process, and the function takes
// and returns nothing by reference, they are copied. Otherwise they are written as text and read again.
type given struct {
	to        *destination
	arguments any
	taken     reflect.Value      // the callee's copy of the arguments
	results   reflect.Value      // a settable struct that nobody else refers to; the zero Value if only text can fill the result
	anyCase   bool               // of the names of results
	limit     int                // of the caller, in bytes of JSON
	check     *shortCircuitCheck // nil outside of tests
	response  wire.Response      // where there is none for it elsewhere
	filled    *wire.Response     // the response whose results they are; nil when its body has them
}

// none takes the results of a caller that wants none. They have to be valid all the same.
type none struct{}

// newRequest makes the request of a call, by value when it may stay in the process. Then the caller adds what takes the
// results.
func (c *Conn) newRequest(to *destination, arguments any) (*outgoing, error) {
	if !c.circuit || c.bodies || to.template == nil || to.takesQuery() || to.hasQuery() || !c.link.local.serves(c.plane, to.template.address.Host) {
		return to.request(arguments)
	}
	request := to.fill(nil)
	if args, ok := arguments.(Args); ok {
		arguments = map[string]any(args)
	}
	request.given = unused[given](&c.link.spare.givens)
	request.given.to, request.given.arguments, request.given.limit = to, arguments, c.unfinished.limit
	return request, nil
}

// write turns values into text, for a request that cannot carry them.
func (c *Conn) write(request *outgoing) error {
	if request.given == nil {
		return nil
	}
	written, err := request.given.to.request(request.given.arguments)
	if err != nil {
		request.unwritable = true
		return unsent(err)
	}
	request.given = nil
	request.Target, request.Body = written.Target, written.Body
	if len(request.Header) == 0 {
		request.Header = written.Header // which begins all such messages, and is written once
	} else {
		request.Header = slices.Concat(written.Header, request.Header) // what the chain of calls has added
	}
	return c.limitMessage(request.Body)
}

// take copies the arguments of a request for its endpoint; false if they have to travel as text.
func (in *incoming) take(g *given, limit int) bool {
	if !in.found() || len(in.values) > 0 {
		return false
	}
	arguments, ok := in.endpoint.mapped.TakeValues(g.arguments, min(g.limit, limit, in.endpoint.bodyLimit))
	if ok {
		g.taken, in.given = arguments, g
	}
	return ok
}

// give copies the results of a call; false if they have to travel as text. They are there before the caller sees the
// response.
func (in *incoming) give(out reflect.Value) bool {
	g := in.given
	if g == nil {
		return false
	}
	before := g.check.copied(g.results)
	if !in.endpoint.mapped.GiveValues(out, g.results, g.anyCase, min(g.limit, in.serving.conn.unfinished.limit)) {
		return false
	}
	if g.check != nil {
		g.check.results(in, out, before)
	}
	g.filled = &in.response
	if in.endpoint.unseen { // so that in is used again
		g.filled = &g.response
	}
	*g.filled = wire.Response{Status: http.StatusOK}
	return true
}

// answeredBy says whether the results belong to a response. An interceptor may have replaced the response by another one
// with the same, absent body.
func (g *given) answeredBy(response *wire.Response) bool {
	return g != nil && g.filled != nil && (g.filled == response || response.Status == g.filled.Status && response.Body == nil)
}
