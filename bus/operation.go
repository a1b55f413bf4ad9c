package bus

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"reflect"

	"github.com/busline/busline/bus/wire"
	"github.com/busline/busline/restmap/strictjson"
)

// Operation is one function endpoint as its callers see it, with its arguments and results as Go types. Generated
// clients (see reflectapi/apigen) use it. The address is parsed once, when it is made. It may be used by many
// goroutines at once.
type Operation[Arguments, Results any] struct {
	conn  *Conn
	to    *destination
	fault error // why no call can be made

	anyCase bool // of the names of results, as some have none but that of a Go field
}

// Response is the answer of one instance.
type Response[Results any] struct {
	// Host and ID are those of the instance.
	Host, ID string
	// Status is the HTTP status, 200 unless the service says otherwise.
	Status int
	// Results are the results of the function, by name; the zero value if there was an error.
	Results Results
}

// NewOperation prepares calls of one endpoint over conn. The address is that of [Conn.Call]: "POST
// https://calculator.example/add", "GET https://products.example/products/{id}". Arguments is a struct with a json tag
// for each argument. Results is a struct with a json tag for each result or, if the endpoint answers with
// httpResponseBody, the type of that. If some field has no tag, names match in any case, as for [Conn.Call]. If the address is
// wrong, every call returns the error.
func NewOperation[Arguments, Results any](conn *Conn, address string) Operation[Arguments, Results] {
	if conn == nil {
		return Operation[Arguments, Results]{fault: noConnection(address)}
	}
	to, err := parseDestination(address)
	if err == nil {
		to.inQuery = inQueryOf(reflect.TypeFor[Arguments]())
		err = conn.untagged.get(reflect.TypeFor[Arguments](), untagged)
	}
	if err == nil {
		err = to.settle(conn)
	}
	return Operation[Arguments, Results]{conn, to, err, conn.untagged.get(reflect.TypeFor[Results](), untagged) != nil}
}

// Call calls one instance. Its time limit and its errors are those of [Conn.Call].
func (o Operation[Arguments, Results]) Call(ctx context.Context, arguments Arguments) (Response[Results], error) {
	if o.fault != nil {
		return Response[Results]{}, unsent(o.fault)
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
// them as they come, as [Conn.Multicast] does. Nothing is sent until the sequence is ranged over; each range is a call of
// its own. If an instance answers with an error, that is yielded as an [*Error] beside a Response that says which instance
// it was. Leaving the loop early, say with break, cancels the handlers that are still running.
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

func (o Operation[Arguments, Results]) request(arguments Arguments) (*outgoing, error) {
	if o.fault != nil {
		return nil, unsent(o.fault)
	}
	request, err := o.to.request(arguments)
	if err != nil {
		return nil, unsent(err)
	}
	return request, nil
}

// read decodes what one instance answered.
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

// misfit is the error for a response that is not what its caller expects.
func misfit(response *wire.Response, err error, expected any) *Error {
	failed := newError(http.StatusBadGateway, ExecutedYes, err, "the response does not fit %T: %s", expected, err)
	failed.Host, failed.ID, failed.MsgID = response.FromHost, response.FromID, response.MsgID
	return failed
}
