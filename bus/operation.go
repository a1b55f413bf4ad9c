package bus

import (
	"context"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/busline/busline/bus/wire"
	"github.com/busline/busline/reflectapi"
	"github.com/busline/busline/reflectapi/similar"
	"github.com/busline/busline/reflectapi/strictjson"
)

// Operation is one function endpoint for its callers, with its arguments and results as Go types. Generated clients
// (see bus/cmd/apigen) use it. The address is parsed once, by [NewOperation]. It is safe for concurrent use.
type Operation[Arguments, Results any] struct {
	conn *Conn
	to   *destination
	err  error // invalid address or types: returned by every call

	anyCase    bool   // names of results match in any case, because some field has no tag
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
	to, err := parseDestination(address)
	if err == nil {
		to.route = pathOf(to.address)
		to.inQuery = inQueryOf(reflect.TypeFor[Arguments]())
		err = conn.plans.untagged.get(reflect.TypeFor[Arguments](), untagged)
	}
	if err == nil {
		err = to.bind(conn)
	}
	return Operation[Arguments, Results]{conn, to, err, conn.plans.untagged.get(reflect.TypeFor[Results](), untagged) != nil, ""}
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
		return Response[Results]{}, o.explain(ctx, err)
	}
	defer o.conn.reuse(request)
	if request.given.answeredBy(response) {
		return Response[Results]{Host: response.FromHost, ID: response.FromID, Status: response.Status, Results: *results}, nil
	}
	read, err := o.read(response)
	return read, o.explain(ctx, err)
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

// checkNamed returns an error if results are a struct that stayed empty because it has none of the names in a JSON object.
func checkNamed(text []byte, results reflect.Value, anyCase bool) error {
	if results.Kind() != reflect.Struct || !results.IsZero() {
		return nil
	}
	given := make(map[string]json.RawMessage)
	_ = strictjson.Unmarshal(text, &given) // it has been read
	known, _ := reflectapi.JSONMembers(results.Type())
	if len(known) == 0 || len(given) == 0 {
		return nil
	}
	for _, member := range known {
		for name := range given {
			if name == member.Name || anyCase && strings.EqualFold(name, member.Name) {
				return nil
			}
		}
	}
	names := slices.Sorted(maps.Keys(given))
	return fmt.Errorf("it has %s, and no %s%s", strings.Join(names, ", "), known[0].Name, similar.DidYouMean(known[0].Name, names))
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
func untagged(arguments reflect.Type) error {
	for arguments != nil && arguments.Kind() == reflect.Pointer && !writesItself(arguments) {
		arguments = arguments.Elem()
	}
	if arguments == nil || arguments.Kind() != reflect.Struct || writesItself(arguments) {
		return nil
	}
	members, _ := reflectapi.JSONMembers(arguments)
	for _, member := range members {
		within := arguments
		for _, embedded := range member.Index[:len(member.Index)-1] {
			if within = within.Field(embedded).Type; within.Kind() == reflect.Pointer {
				within = within.Elem()
			}
		}
		field := within.Field(member.Index[len(member.Index)-1])
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name == "" && !field.Anonymous {
			return newError(http.StatusBadRequest, ExecutedNo, nil,
				"field %s of %s has no json tag and would be sent as %q: tag it with the name of the argument, such as `json:%q`",
				field.Name, within, field.Name, strings.ToLower(field.Name[:1])+field.Name[1:])
		}
	}
	return nil
}

// writesItself reports whether a type has its own JSON encoding.
func writesItself(written reflect.Type) bool {
	_, streams := written.MethodByName("MarshalJSONTo")
	return streams || written.Implements(reflect.TypeFor[json.Marshaler]()) || written.Implements(reflect.TypeFor[encoding.TextMarshaler]())
}
