package bus

import (
	"context"
	"net/http"
	"reflect"
	"strings"

	"github.com/busline/busline/bus/wire"
	"github.com/busline/busline/restmap"
)

// runFunction makes the run of a function endpoint: request → arguments → method → results → response.
func runFunction(e *endpoint) func(context.Context, *incoming) (*wire.Response, error) {
	if e.bodyLimit == 0 {
		e.bodyLimit = functionBodyLimit
	}
	json := jsonContent()
	return func(ctx context.Context, in *incoming) (*wire.Response, error) {
		arguments, err := e.decode(in)
		if err != nil {
			return nil, unsent(err)
		}
		results, err := e.mapped.Method.Call(ctx, arguments)
		if err != nil {
			return nil, executed(err)
		}
		if in.give(results) {
			in.given.filled.Header = in.serving.respondWith(json)
			return in.given.filled, nil
		}
		encoded, err := e.mapped.Encode(results)
		if err != nil {
			return nil, executed(err)
		}
		in.response = wire.Response{Status: encoded.Status, Body: encoded.Body}
		if encoded.ContentType != "" {
			in.response.Header = json
		}
		in.response.Header = in.serving.respondWith(in.response.Header)
		return &in.response, nil
	}
}

// decode turns a request into the arguments of the method.
func (e *endpoint) decode(in *incoming) (reflect.Value, error) {
	if in.given != nil {
		return in.given.taken, nil
	}
	if coding := in.Request.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return reflect.Value{}, newError(http.StatusUnsupportedMediaType, ExecutedNo, nil, "content encoding %q is not supported: send the body without one", coding)
	}
	_, query, _ := strings.Cut(in.Request.Target, "?")
	request := restmap.Request{
		Query:       query,
		ContentType: in.Request.Header.Get("Content-Type"),
		Body:        in.Request.Body,
	}
	if len(in.values) > 0 {
		request.PathValue = in.value
	}
	return e.mapped.Decode(&request)
}
