package bus

import (
	"context"
	"encoding"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/busline/busline/bus/internal/callctx"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
	"github.com/busline/busline/restmap/strictjson"
)

// Args are the arguments of a call by name.
type Args map[string]any

// Call calls a function endpoint by its address, "https://calculator.example/add", and decodes the response into
// result. It is safe for concurrent use.
//
// The arguments are [Args], or a struct with a json tag for each field, and travel as one JSON object; nil stands for
// none. Their names have to be those of the function: it ignores unknown names, and takes a missing argument as zero.
// result points to something that fits the response: a struct or a map with a field for each result, in upper or lower
// case, or a slice if a REST endpoint answers with a list; with nil the response body is ignored.
//
// The HTTP method is POST unless another one precedes the address, as in "GET https://products.example/products/{id}".
// With GET, HEAD and DELETE the arguments travel in the query, unless one of them is a list or an object. {name} in the
// path is replaced by the argument of that name, {name+} by one that may contain slashes. An argument httpRequestBody
// is the whole body; the others then travel in the query.
//
// Call returns an [*Error] for a response of status 400 or above, and for every failure on the way. The time limit of
// the call is that of ctx: within a handler the rest of its time budget, else 20 s unless ctx has a deadline, and never
// more than 600 s.
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

// copyOf returns a copy of the value that a pointer points to, for results: the handler may still fill it after the
// caller has left. It returns the zero Value for a result that can only be decoded from text.
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

// newClientCall returns a request to an address. HEAD travels as GET, and the caller drops the body.
func newClientCall(method string, to *url.URL, header wire.Header, body []byte) (*clientCall, error) {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	address, err := subject.FromURL(method, to)
	if err != nil {
		return nil, err
	}
	return &clientCall{
		address: address,
		Request: wire.Request{Method: method, Target: targetOf(address.Path, to.RawQuery), Host: address.Host, Header: header, Body: body},
	}, nil
}

// prepare sets everything in a request that depends on its caller and the time. If it returns an error, the request
// must not be sent.
func (c *Conn) prepare(ctx context.Context, request *clientCall) (err error) {
	request.FromHost, request.FromID = c.host, c.id
	if request.subject == "" { // the template of an operation may have set it
		if request.subject, err = request.address.Subject(c.plane); err != nil {
			return unsent(err)
		}
	}
	callctx.Inherit(ctx, &request.Request, request.fields)
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

// fits returns an error for a head that no instance would accept, on either transport: see [wire.MaxHeadBytes]. rest is
// the size of the head without the header.
func fits(rest int, header wire.Header) error {
	const ownBytes, ownFields = 2 << 10, 16 // what the bus adds, with a reserve
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

// setAttemptHeaders sets the headers of one attempt of a request: a new id, and the time that is left.
func (c *Conn) setAttemptHeaders(request *clientCall, ends time.Time) {
	request.reply, request.MsgID = c.nats.newReply()
	request.TimeBudget = time.Until(ends).Truncate(time.Millisecond)
}

// setFreshHeaders sets the headers of a request that is not part of a call.
func (c *Conn) setFreshHeaders(request *clientCall) {
	c.setAttemptHeaders(request, time.Now().Add(wire.DefaultTimeBudget))
}

// Operation is one function endpoint for its callers, with its arguments and results as Go types. Generated clients
// (see reflectapi/apigen) use it. The address is parsed once, by [NewOperation]. It is safe for concurrent use.
type Operation[Arguments, Results any] struct {
	conn *Conn
	to   *destination
	err  error // invalid address or types: returned by every call

	anyCase bool // names of results match in any case, because some field has no tag
}

// Response is the answer of one instance.
type Response[Results any] struct {
	// Host and ID are those of the instance.
	Host, ID string
	// Status is the HTTP status, 200 unless the service sets another one.
	Status int
	// Results are the results of the function, by name; the zero value if there was an error.
	Results Results
}

// NewOperation prepares calls of one endpoint over conn. The address is that of [Conn.Call]: "POST
// https://calculator.example/add", "GET https://products.example/products/{id}". Arguments is a struct with a json tag
// for each argument. Results is a struct with a json tag for each result or, if the endpoint answers with
// httpResponseBody, the type of that. If some field of Results has no tag, names match in any case, as for [Conn.Call].
// If the address is invalid, every call returns the error.
func NewOperation[Arguments, Results any](conn *Conn, address string) Operation[Arguments, Results] {
	if conn == nil {
		return Operation[Arguments, Results]{err: noConnection(address)}
	}
	to, err := parseDestination(address)
	if err == nil {
		to.inQuery = inQueryOf(reflect.TypeFor[Arguments]())
		err = conn.untagged.get(reflect.TypeFor[Arguments](), untagged)
	}
	if err == nil {
		err = to.bind(conn)
	}
	return Operation[Arguments, Results]{conn, to, err, conn.untagged.get(reflect.TypeFor[Results](), untagged) != nil}
}

// Call calls one instance. Its time limit and its errors are those of [Conn.Call].
func (o Operation[Arguments, Results]) Call(ctx context.Context, arguments Arguments) (Response[Results], error) {
	if o.err != nil {
		return Response[Results]{}, unsent(o.err)
	}
	request, err := o.conn.newRequest(o.to, arguments)
	if err != nil {
		return Response[Results]{}, unsent(err)
	}
	var results *Results // not used where the response is text
	if request.given != nil {
		results = new(Results)
		request.given.results, request.given.anyCase = reflect.ValueOf(results).Elem(), o.anyCase
	}
	response, err := o.conn.call(ctx, request)
	if err != nil {
		return Response[Results]{}, err
	}
	defer o.conn.reuse(request)
	if request.given.answeredBy(response) {
		return Response[Results]{Host: response.FromHost, ID: response.FromID, Status: response.Status, Results: *results}, nil
	}
	return o.read(response)
}

// Multicast makes a multicast call: it calls every instance that serves the endpoint, gathers their answers and yields
// them as they come, like [Conn.Multicast]. Nothing is sent until the sequence is ranged over; each range is a separate
// call. An error of an instance is yielded as an [*Error] beside a Response with the Host, ID and Status of that
// instance. Leaving the loop early, for example with break, cancels the handlers that are still running.
func (o Operation[Arguments, Results]) Multicast(ctx context.Context, arguments Arguments) iter.Seq2[Response[Results], error] {
	return func(yield func(Response[Results], error) bool) {
		request, err := o.request(arguments)
		if err != nil {
			yield(Response[Results]{}, err)
			return
		}
		for response, err := range o.conn.multicast(ctx, request) {
			var read Response[Results]
			if err == nil {
				read, err = o.read(response)
			} else if failed, ok := errors.AsType[*Error](err); ok {
				read.Host, read.ID, read.Status = failed.Host, failed.ID, failed.Status
			}
			if !yield(read, err) {
				return
			}
		}
	}
}

func (o Operation[Arguments, Results]) request(arguments Arguments) (*clientCall, error) {
	if o.err != nil {
		return nil, unsent(o.err)
	}
	request, err := o.to.request(arguments)
	if err != nil {
		return nil, unsent(err)
	}
	return request, nil
}

// read decodes the answer of one instance.
func (o Operation[Arguments, Results]) read(response *wire.Response) (Response[Results], error) {
	read := Response[Results]{Host: response.FromHost, ID: response.FromID, Status: response.Status}
	if response.Status >= http.StatusBadRequest {
		return read, responseError(response)
	}
	if _, none := any(read.Results).(struct{}); none || len(response.Body) == 0 {
		return read, nil
	}
	unmarshal := strictjson.Unmarshal
	if o.anyCase {
		unmarshal = strictjson.UnmarshalAnyCase
	}
	var results Results
	if err := unmarshal(response.Body, &results); err != nil {
		return read, misfit(response, err, results)
	}
	read.Results = results
	return read, nil
}

// misfit returns the error for a response that does not fit the results of its caller.
func misfit(response *wire.Response, err error, expected any) *Error {
	failed := newError(http.StatusBadGateway, ExecutedYes, err, "the response does not fit %T: %s", expected, err)
	failed.Host, failed.ID, failed.MsgID = response.FromHost, response.FromID, response.MsgID
	return failed
}

// untagged returns an error for a struct of arguments with a field that has no json tag. The field would travel under
// its Go name, "Text", which is hardly the name of an argument; the callee ignores unknown names, so the argument would
// be zero.
//
// Only the fields of the struct itself and of embedded structs are checked, not those of nested values: a type such as
// struct{ X int } in a signature of a service has the member "X", and the caller's type may have to match it.
func untagged(arguments reflect.Type) error { return untaggedIn(arguments, nil) }

// untaggedIn is untagged without the types in met: a type may embed itself.
func untaggedIn(arguments reflect.Type, met []reflect.Type) error {
	if arguments == nil || slices.Contains(met, arguments) || writesItself(arguments) {
		return nil
	}
	met = append(met, arguments)
	if arguments.Kind() == reflect.Pointer {
		return untaggedIn(arguments.Elem(), met)
	}
	if arguments.Kind() != reflect.Struct {
		return nil
	}
	for field := range arguments.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name != "" || options == "unknown" || !field.IsExported() && !field.Anonymous:
		case field.Anonymous || options == "inline":
			if err := untaggedIn(field.Type, met); err != nil {
				return err
			}
		default:
			return newError(http.StatusBadRequest, ExecutedNo, nil,
				"field %s of %s has no json tag and would be sent as %q: tag it with the name of the argument, such as `json:%q`",
				field.Name, arguments, field.Name, strings.ToLower(field.Name[:1])+field.Name[1:])
		}
	}
	return nil
}

// writesItself reports whether a type has its own JSON encoding.
func writesItself(written reflect.Type) bool {
	_, streams := written.MethodByName("MarshalJSONTo")
	return streams || written.Implements(reflect.TypeFor[json.Marshaler]()) || written.Implements(reflect.TypeFor[encoding.TextMarshaler]())
}
