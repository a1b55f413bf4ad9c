package bus

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/busline/busline/bus/internal/client"
	"github.com/busline/busline/bus/wire"
	"github.com/busline/busline/reflectapi/schema"
	"github.com/busline/busline/reflectapi/similar"
	"github.com/busline/busline/reflectapi/strictjson"
)

// Args are the arguments of a call by name. For a union it takes a pointer to the interface, as only that says that the
// value is one.
type Args map[string]any

// Call calls a function endpoint by its address, "https://calculator.example/add", and decodes the response into
// result. It is safe for concurrent use.
//
// The arguments are [Args], or a struct with a json tag for each field, and travel as one JSON object; nil stands for
// none. Their names have to be those of the function: it ignores unknown names, which a bus of bustest refuses, and
// takes a missing argument as zero. result points to something that fits the response: a struct or a map with a field
// for each result, in upper or lower case, or a slice if a REST endpoint answers with a list; with nil the response
// body is ignored. A struct may leave results out, but not all of them.
//
// The HTTP method is POST unless another one precedes the address, as in "GET https://products.example/products/{id}".
// With GET, HEAD and DELETE the arguments travel in the query; in the body if one of them is a list or an object, and
// in both if the query leaves their type open: null, an empty text, and a text that reads as JSON, such as "5". {name}
// in the path is replaced by the argument of that name, {name+} by one that may contain slashes. An argument
// httpRequestBody is the whole body; the others then travel in the query.
//
// Call returns an [*Error] for a response of status 400 or above, and for every failure on the way. The time limit of
// the call is that of ctx: within a handler the rest of its time budget, else 20 s unless ctx has a deadline, and never
// more than 600 s.
func (c *Conn) Call(ctx context.Context, address string, arguments, result any) error {
	if target := reflect.ValueOf(result); result != nil && (target.Kind() != reflect.Pointer || target.IsNil()) {
		return notRun(http.StatusBadRequest, nil, "the result of %s cannot be stored in this %T: pass a non-nil pointer",
			address, result)
	}
	if c == nil {
		return noConnection(address)
	}
	to, err := c.destinationOf(address, reflect.TypeOf(arguments))
	if err != nil {
		return unsent(err)
	}
	request, err := c.newRequest(to, arguments)
	if err != nil {
		return unsent(err)
	}
	if request.local != nil {
		request.local.results, request.local.anyCase = copyOf(result), true
	}
	response, err := c.call(ctx, request)
	if err != nil {
		return err
	}
	defer c.reuse(request, response)
	if request.local.answeredBy(response) {
		if result != nil {
			reflect.ValueOf(result).Elem().Set(request.local.results)
		}
		return nil
	}
	if response.Status >= http.StatusBadRequest {
		return responseError(response)
	}
	if result == nil || len(response.Body) == 0 {
		return nil
	}
	err = strictjson.UnmarshalAnyCase(response.Body, result)
	if err == nil {
		err = checkNamed(response.Body, reflect.ValueOf(result).Elem(), true)
	}
	if err != nil {
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
	twin := reflect.New(target.Type()).Elem()
	twin.Set(target)
	return twin
}

// clientCall is a call as its caller, its interceptors and the short circuit see it; the client sends what it embeds.
type clientCall struct {
	client.Outgoing
	route      string       // see Exchange
	callee     *Conn        // the instance of this process that has the request; nil for none
	local      *localValues // Go values instead of the body; nil when the body is written
	unwritable bool         // the given arguments cannot be written, and so were refused
	reusable   bool         // once it is answered, only the maker of the call refers to it
	left       bool         // some attempt at the call was begun
	attempts   int          // that were begun
	ran        bool         // an earlier attempt may have reached a handler

	seen   Exchange                    // the call as interceptors see it
	carry  func(context.Context) error // instead of a unicast call
	latest ended                       // what became of the latest one
	taker  client.Peer                 // the instance that was the latest to answer a multicast
}

// newClientCall addresses a call. HEAD travels as GET, see [client.NewOutgoing].
func newClientCall(method string, to *url.URL, header wire.Header, body []byte) (*clientCall, error) {
	outgoing, err := client.NewOutgoing(method, to, header, body)
	if err != nil {
		return nil, err
	}
	outgoing.Target = targetOf(outgoing.Address.Path, to.RawQuery)
	return &clientCall{Outgoing: outgoing}, nil
}

// exchange begins a call of a connection.
func (o *clientCall) exchange(c *Conn) *Exchange {
	o.Values = o
	o.seen = Exchange{Address: o.Address, Route: o.route, Side: ClientSide, Request: &o.Request, began: time.Now(),
		conn: c, out: o}
	return &o.seen
}

// multicast calls every instance that serves the address, and yields the answers as they come. It goes over the broker
// even to instances of this process, so that each gets it once. An instance that has acked and does not answer in time
// is yielded as an error. If no instance is there, nothing is yielded.
func (c *Conn) multicast(ctx context.Context, request *clientCall) iter.Seq2[*wire.Response, error] {
	return func(yield func(*wire.Response, error) bool) {
		c.telemetry.calls.Add(1)
		sent := *request
		sent.Header = slices.Clip(sent.Header) // fields that are added are not seen by other ranges
		x := sent.exchange(c)
		x.Multicast = true
		noted := false   // as called
		stopped := false // nothing must be yielded any more
		counted := func(response *wire.Response, err error) bool {
			if err == nil {
				x.Answers++
				sent.taker = client.SenderOf(response)
			} else {
				err = asError(err)
			}
			if !noted {
				c.callees.note(sent.Address, response)
				noted = true
			}
			stopped = true // also when the loop over the answers panics
			stopped = !yield(response, err)
			return !stopped
		}
		sent.carry = func(ctx context.Context) error {
			if stopped {
				return nil // an interceptor has called next again
			}
			err := c.client.Gather(ctx, &sent.Outgoing, counted)
			if !noted {
				c.callees.note(sent.Address, nil)
				noted = true
			}
			return err
		}
		err := c.plans.calling(ctx, x)
		switch {
		case stopped:
		case err != nil:
			yield(nil, x.failed(err))
		case x.answeredByInterceptor():
			yield(x.Response, nil)
		}
	}
}

// call makes a unicast call through the interceptors. [Stats] count it once, however often an interceptor calls next.
func (c *Conn) call(ctx context.Context, request *clientCall) (*wire.Response, error) {
	c.telemetry.calls.Add(1)
	x := request.exchange(c)
	if err := c.plans.calling(ctx, x); err != nil {
		request.closeStream()
		if request.unwritable {
			c.telemetry.calls.Add(-1) // as over the broker, where unwritable arguments are rejected before the call counts
		}
		return nil, x.failed(err)
	}
	if x.Response.Stream == nil {
		request.closeStream()
	}
	return x.Response, nil
}

// closeStream closes the response to the latest attempt if that is a stream, which no interceptor passes on.
func (o *clientCall) closeStream() {
	if o.latest.response != nil && o.latest.response.Stream != nil {
		_ = o.latest.response.Stream.Close()
	}
}

// checkNamed returns an error if results are a struct that stayed empty because it has none of the names in a JSON
// object.
func checkNamed(text []byte, results reflect.Value, anyCase bool) error {
	if results.Kind() != reflect.Struct || !results.IsZero() {
		return nil
	}
	members := make(map[string]json.RawMessage)
	_ = strictjson.Unmarshal(text, &members) // it has been read
	known := schema.JSONMembers(results.Type())
	if len(known) == 0 || len(members) == 0 {
		return nil
	}
	for _, member := range known {
		for name := range members {
			if name == member.Name || anyCase && strings.EqualFold(name, member.Name) {
				return nil
			}
		}
	}
	names := slices.Sorted(maps.Keys(members))
	return fmt.Errorf("it has %s, and no %s%s", strings.Join(names, ", "), known[0].Name,
		similar.DidYouMean(known[0].Name, names))
}

// misfit returns the error for a response that does not fit the results of its caller.
func misfit(response *wire.Response, err error, expected any) *Error {
	failed := hasRun(http.StatusBadGateway, err, "the response does not fit %T: %s", expected, err)
	failed.Host, failed.ID, failed.MsgID = response.FromHost, response.FromID, response.MsgID
	return failed
}

// reuse takes back an answered request and its response once the results are read. An answered call thereby leaves its
// memory to a later one, which saves the garbage collector a good part of its work. Memory that code outside this
// package may have kept is not used again: the exchange of a call that a user's interceptor has seen. An error response
// is not used again, either, and one of this process belongs to its handler.
func (c *Conn) reuse(answered *clientCall, response *wire.Response) {
	if !answered.reusable || len(c.config.observers)+len(c.config.interceptors) > 0 {
		return
	}
	if answered.callee == nil && response.Status < http.StatusBadRequest {
		c.broker.FreeResponse(response)
	}
	if answered.local != nil {
		*answered.local = localValues{}
		c.shared.spare.givens.Put(answered.local)
	}
	*answered = clientCall{}
	c.shared.spare.outgoing.Put(answered)
}
