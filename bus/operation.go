package bus

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"

	"github.com/busline/busline/bus/internal/callctx"
	"github.com/busline/busline/bus/internal/client"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
	"github.com/busline/busline/reflectapi/strictjson"
	"github.com/busline/busline/restmap"
)

// Operation is one function endpoint for its callers, with its arguments and results as Go types. Generated clients
// (see bus/cmd/apigen) use it. The address is parsed once, by [NewOperation]. It is safe for concurrent use.
type Operation[Arguments, Results any] struct {
	conn *Conn
	to   *destination
	err  error // invalid address or types: returned by every call

	anyCase    bool   // names of results match in any case, because some field has no tag
	keyed      bool   // see WithIdempotencyKey
	declaredBy string // see DeclaredBy
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
	to, err := conn.newDestination(address, reflect.TypeFor[Arguments]())
	anyCase := conn.plans.checkTags(reflect.TypeFor[Results]()) != nil
	return Operation[Arguments, Results]{conn: conn, to: to, err: err, anyCase: anyCase}
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
	if request.local != nil {
		results = new(Results)
		request.local.results, request.local.anyCase = reflect.ValueOf(results).Elem(), o.anyCase
	}
	if o.keyed && !callctx.FieldsOf(ctx).Has(restmap.IdempotencyKey) {
		ctx = callctx.With(ctx, restmap.IdempotencyKey, rand.Text())
	}
	response, err := o.conn.call(ctx, request)
	if err != nil {
		return Response[Results]{}, o.explain(ctx, err)
	}
	defer o.conn.reuse(request, response)
	if request.local.answeredBy(response) {
		return Response[Results]{Host: response.FromHost, ID: response.FromID, Status: response.Status, Results: *results},
			nil
	}
	read, err := o.read(response)
	return read, o.explain(ctx, err)
}

// Multicast makes a multicast call: it calls every instance that serves the endpoint, gathers their answers and yields
// them as they come, like [Conn.Multicast]. Nothing is sent until the sequence is ranged over; each range is a separate
// call. An error of an instance is yielded as an [*Error] beside a Response with the Host, ID and Status of that
// instance. Leaving the loop early, for example with break, cancels the handlers that are still running.
func (o Operation[Arguments, Results]) Multicast(ctx context.Context,
	arguments Arguments) iter.Seq2[Response[Results], error] {
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
	results, err := o.decode(response, response.Body)
	if err != nil {
		return read, err
	}
	read.Results = results
	return read, nil
}

// decode decodes results, or an element of a stream.
func (o Operation[Arguments, Results]) decode(of *wire.Response, text []byte) (results Results, err error) {
	unmarshal := strictjson.Unmarshal
	if o.anyCase {
		unmarshal = strictjson.UnmarshalAnyCase
	}
	err = unmarshal(text, &results)
	if err == nil {
		err = checkNamed(text, reflect.ValueOf(&results).Elem(), o.anyCase)
	}
	if err != nil {
		return *new(Results), misfit(of, err, results)
	}
	return results, nil
}

// DeclaredBy returns the operation with the name of what declares it, "shopapi.Orders.Cancel", which generated clients
// set: a call that the service answers with 404 or 405 because it has no such route then asks the service where it
// serves a method of that name, and says how the two differ.
func (o Operation[Arguments, Results]) DeclaredBy(name string) Operation[Arguments, Results] {
	o.declaredBy = name
	return o
}

// WithIdempotencyKey returns the operation with an Idempotency-Key for each Call: a new one, unless the context has
// one. Generated clients set it for methods that are declared //busline:idempotent. The service runs a request once,
// however often it comes: see Idempotent of bus/interceptors, whose Retry then repeats calls that may have run.
func (o Operation[Arguments, Results]) WithIdempotencyKey() Operation[Arguments, Results] {
	o.keyed = true
	return o
}

// explain adds to the error of a call that reached no route how the declarations of caller and service differ.
func (o Operation[Arguments, Results]) explain(ctx context.Context, err error) error {
	failed, ok := errors.AsType[*Error](err)
	missing := ok && failed.Executed == ExecutedNo &&
		(failed.Status == http.StatusNotFound || failed.Status == http.StatusMethodNotAllowed)
	if !missing || o.declaredBy == "" {
		return err
	}
	explained := *failed
	explained.Detail += "; " + o.conn.difference(ctx, o.to, o.declaredBy)
	return &explained
}

// difference says where a service serves a method that is declared elsewhere for a caller.
func (c *Conn) difference(ctx context.Context, to *destination, declaredBy string) string {
	host := ""
	if parsed, err := url.Parse(to.address); err == nil {
		host = parsed.Hostname()
	}
	name := declaredBy[strings.LastIndexByte(declaredBy, '.')+1:]
	text := fmt.Sprintf("%s is %s %s for the caller", declaredBy, to.method, pathOf(to.address))
	var answer allowed
	err := c.Call(ctx, "GET https://"+host+":"+strconv.Itoa(subject.ControlPort)+client.AllowPath,
		Args{"name": name}, &answer)
	switch {
	case err != nil || answer.Routes == nil: // a foreign service does not know names
	case len(*answer.Routes) == 0:
		text += ", and the service serves no method " + name
	default:
		text += ", and the service serves " + name + " as " + strings.Join(*answer.Routes, " and ")
	}
	return text + ": let both use one version of the interface"
}
