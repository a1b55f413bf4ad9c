package restmap

import (
	"fmt"
	"iter"
	"reflect"
)

// The media types of a stream.
const (
	// NDJSON has a line for each element.
	NDJSON = "application/x-ndjson"
	// EventStream has an event for each element, which is its data.
	EventStream = "text/event-stream"
)

// Element returns the type of what the method streams, nil if it does not stream.
func (e *Endpoint) Element() reflect.Type {
	if e.Method == nil || !e.Method.Streams {
		return nil
	}
	return e.Method.Results[0].Type
}

// Stream returns what the iterator of a method that streams yields: the JSON of each element, without a newline, or an
// error. out is what [reflectapi.Method.Call] returned; nil yields nothing. Each text is the consumer's to keep. Text
// that is not UTF-8 is sent with U+FFFD. An element that cannot be written is an error of the method, not of the
// caller. Leaving the loop stops the iterator, and a panic of either side passes through.
func (e *Endpoint) Stream(out reflect.Value) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		if out.IsNil() {
			return
		}
		more, enough := []reflect.Value{reflect.ValueOf(true)}, []reflect.Value{reflect.ValueOf(false)}
		each := func(yielded []reflect.Value) []reflect.Value {
			err, failed := reflect.TypeAssert[error](yielded[1])
			var text []byte
			if !failed {
				text, err = e.encodeElement(yielded[0])
			}
			if yield(text, err) {
				return more
			}
			return enough
		}
		out.Call([]reflect.Value{reflect.MakeFunc(out.Type().In(0), each)})
	}
}

func (e *Endpoint) encodeElement(element reflect.Value) ([]byte, error) {
	text, err := e.output.plan.MarshalRepaired(element)
	if err != nil {
		return nil, fmt.Errorf("method %s: an element cannot be written as JSON: %w", e.Method.Name, err)
	}
	return text, nil
}
