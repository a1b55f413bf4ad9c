package reflectapi

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// shape is what the type of a method alone says about how it is served.
type shape struct {
	kind     Kind
	params   []reflect.Type // including the context
	outcomes []reflect.Type // including the error
	args     []reflect.Type // params without the context; results are outcomes without the error
	results  []reflect.Type

	takesContext, returnsError, variadic bool
}

// shapeOf examines the type of a method without its receiver. misfits lists all reasons why it cannot be served.
func shapeOf(fn reflect.Type) (s shape, misfits []string) {
	s = shape{params: slices.Collect(fn.Ins()), outcomes: slices.Collect(fn.Outs()), variadic: fn.IsVariadic()}
	s.args, s.results = s.params, s.outcomes
	if last := len(s.results) - 1; last >= 0 && s.results[last] == reflect.TypeFor[error]() {
		s.returnsError, s.results = true, s.results[:last]
	}
	if isWeb(s.args, s.results) {
		s.kind, s.args = Web, nil
		return s, nil
	}
	if len(s.args) > 0 && s.args[0] == reflect.TypeFor[context.Context]() {
		s.takesContext, s.args = true, s.args[1:]
	}
	return s, s.misfits(unnamedValues(s.args), unnamedValues(s.results))
}

// misfits lists the reasons why values cannot be served, each with the name of the value, or its position if it has
// none. Values with the same reason share it.
func (s shape) misfits(args, results []Value) (misfits []string) {
	var reasons []string
	values := map[string][]string{} // by their reason
	for i, v := range slices.Concat(args, results) {
		kind, position := "argument", i
		if i >= len(args) {
			kind, position = "result", i-len(args)
		}
		reason := misfit(v.Type)
		if reason == "" && kind == "argument" {
			reason = unsettable(v.Type)
		}
		if reason == "" && kind == "result" && position == len(results)-1 && !s.returnsError {
			reason = disguisedError(v.Type)
		}
		if reason != "" && values[reason] == nil {
			reasons = append(reasons, reason)
		}
		values[reason] = append(values[reason], valueName(kind, v.Name, position))
	}
	for _, reason := range reasons {
		text := values[reason][0] + " " + reason
		if also := values[reason][1:]; len(also) > 0 {
			text += " (also " + strings.Join(also, ", ") + ")"
		}
		misfits = append(misfits, text)
	}
	return misfits
}

// valueName returns what a message calls a value. That a result without a name of its own is called "result" says nothing.
func valueName(kind, name string, position int) string {
	if name == "" || name == kind {
		name = strconv.Itoa(position + 1)
	}
	return kind + " " + name
}

// isWeb reports whether a method is Name(w http.ResponseWriter, r *http.Request), with or without an error as its
// result.
func isWeb(params, results []reflect.Type) bool {
	return len(params) == 2 && len(results) == 0 &&
		params[0] == reflect.TypeFor[http.ResponseWriter]() &&
		params[1] == reflect.TypeFor[*http.Request]()
}

// disguisedError returns a fault if the last result is an error of another type. It would be sent as plain data, and
// every call would seem to succeed.
func disguisedError(last reflect.Type) string {
	if !last.Implements(reflect.TypeFor[error]()) {
		return ""
	}
	return fmt.Sprintf("is of type %v, which implements error: declare it as error, or add an error after it", last)
}

// misfit returns why a type is not allowed as an argument or a result, or "". Types that are allowed elsewhere in a
// signature get an explanation of their own.
func misfit(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[context.Context]():
		return "is a context.Context: it can only be the first argument"
	case reflect.TypeFor[error]():
		return "is an error: it can only be the last result"
	case reflect.TypeFor[http.ResponseWriter](), reflect.TypeFor[*http.Request](), reflect.TypeFor[http.Request]():
		return "is for a web method, which is exactly (w http.ResponseWriter, r *http.Request), with an error or nothing as its result"
	}
	if obstacle := untransportable(t); obstacle != "" {
		return "cannot be encoded as JSON: " + obstacle
	}
	return ""
}
