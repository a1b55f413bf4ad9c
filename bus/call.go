package bus

import (
	"context"
	"net/http"
	"net/url"
	"reflect"
	"time"

	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
	"github.com/busline/busline/restmap/strictjson"
)

// Args are the arguments of a call by name.
type Args map[string]any

// Call calls a function endpoint by its address, "https://calculator.example/add", and decodes the response into
// result.
//
// The arguments are [Args], or a struct with a json tag for each field, and travel as one JSON object; nil stands for
// none. Their names have to be those of the function: it ignores names it does not know, and takes a missing argument
// as zero. result points to something that fits the response: a struct or a map with a field for each result, in upper
// or lower case, or a slice if a REST endpoint answers with a list; with nil the response body is ignored.
//
// The HTTP method is POST unless another one precedes the address, as in "GET https://products.example/products/{id}".
// With GET, HEAD and DELETE the arguments travel in the query, unless one of them is a list or an object. {name} in the
// path is replaced by the argument of that name, {name+} by one that may contain slashes. An argument httpRequestBody
// is the whole body; the others then travel in the query.
//
// A response of status 400 or above, and every failure on the way, is an [*Error]. The call may take as long as ctx
// allows: within a handler what is left of its time budget, else 20 s unless ctx has a deadline, and never more than
// 600 s.
func (c *Conn) Call(ctx context.Context, address string, arguments, result any) error {
	if target := reflect.ValueOf(result); result != nil && (target.Kind() != reflect.Pointer || target.IsNil()) {
		return newError(http.StatusBadRequest, ExecutedNo, nil, "the result of %s cannot be stored in this %T: pass a non-nil pointer", address, result)
	}
	if c == nil {
		return noConnection(address)
	}
	to, err := c.destinationOf(address, arguments)
	if err != nil {
		return unsent(err)
	}
	request, err := c.newRequest(to, arguments)
	if err != nil {
		return unsent(err)
	}
	if request.given != nil {
		request.given.results, request.given.anyCase = copyOf(result), true
	}
	response, err := c.call(ctx, request)
	if err != nil {
		return err
	}
	defer c.reuse(request)
	if request.given.answeredBy(response) {
		if result != nil {
			reflect.ValueOf(result).Elem().Set(request.given.results)
		}
		return nil
	}
	if response.Status >= http.StatusBadRequest {
		return responseError(response)
	}
	if result == nil || len(response.Body) == 0 {
		return nil
	}
	if err := strictjson.UnmarshalAnyCase(response.Body, result); err != nil {
		return misfit(response, err, result)
	}
	return nil
}

// copyOf returns a copy of what a pointer points to, for results: the handler may still fill it when the caller has left. Of
// what can only be read from text it returns nothing.
func copyOf(result any) reflect.Value {
	if result == nil {
		return reflect.New(reflect.TypeFor[none]()).Elem()
	}
	target := reflect.ValueOf(result).Elem()
	if target.Kind() != reflect.Struct {
		return reflect.Value{}
	}
	made := reflect.New(target.Type()).Elem()
	made.Set(target)
	return made
}

// newOutgoing addresses a request. HEAD travels as GET, and the caller drops the body.
func newOutgoing(method string, to *url.URL, header wire.Header, body []byte) (*outgoing, error) {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	address, err := subject.FromURL(method, to)
	if err != nil {
		return nil, err
	}
	return &outgoing{
		address: address,
		Request: wire.Request{Method: method, Target: targetOf(address.Path, to.RawQuery), Host: address.Host, Header: header, Body: body},
	}, nil
}

// seal gives a request all that depends on who sends it and when. An error means that it must not leave.
func (c *Conn) seal(ctx context.Context, request *outgoing) (err error) {
	request.FromHost, request.FromID = c.host, c.id
	if request.subject == "" { // it may stand in the template of an operation
		if request.subject, err = request.address.Subject(c.plane); err != nil {
			return unsent(err)
		}
	}
	continueChain(ctx, request)
	if err := actFor(ctx, request); err != nil {
		return err
	}
	if err := fits(len(request.Target)+len(request.Actor), request.Header); err != nil {
		return unsent(err)
	}
	if err := c.limitMessage(request.Body); err != nil {
		return unsent(err)
	}
	return nil
}

// fits refuses a head that nobody would accept, on either transport: see [wire.MaxHeadBytes].
// The rest is what stands in it besides the header.
func fits(rest int, header wire.Header) error {
	const ownBytes, ownFields = 2 << 10, 16 // what the bus adds, and some
	size := ownBytes + rest
	for _, field := range header {
		size += len(field.Name) + len(field.Value) + len(": \r\n")
	}
	if size <= wire.MaxHeadBytes && len(header)+ownFields <= wire.MaxFields {
		return nil
	}
	return newError(http.StatusRequestHeaderFieldsTooLarge, ExecutedNo, nil, "the head has %d fields and about %d bytes; the limits are %d and %d",
		len(header)+ownFields, size, wire.MaxFields, wire.MaxHeadBytes)
}

// stamp makes an attempt of a request: an id of its own, and the time that is left now.
func (c *Conn) stamp(request *outgoing, ends time.Time) {
	request.reply, request.MsgID = c.nats.newReply()
	request.TimeBudget = time.Until(ends).Truncate(time.Millisecond)
}

// freshStamp makes an attempt of a request that is part of no call of anybody's.
func (c *Conn) freshStamp(request *outgoing) {
	c.stamp(request, time.Now().Add(wire.DefaultTimeBudget))
}
