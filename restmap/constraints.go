package restmap

import (
	"errors"
	"fmt"
	"maps"
	"reflect"

	"github.com/busline/busline/reflectapi"
)

// constraintsOf returns the constraints on the arguments of a method, nil if there are none. Invalid tags in arguments
// or results are errors.
func constraintsOf(method *reflectapi.Method) (*reflectapi.Constraints, error) {
	constrained := false
	var faults []error
	found := map[string]bool{} // types are often those of arguments and results
	fault := func(kind, name string, err error) {
		if err != nil && !found[err.Error()] {
			found[err.Error()] = true
			faults = append(faults, fmt.Errorf("%s %s: %w", kind, name, err))
		}
	}
	for _, argument := range method.Args {
		constraints, err := reflectapi.ConstraintsOf(argument.Type)
		fault("argument", argument.Name, err)
		constrained = constrained || constraints != nil
	}
	for _, result := range method.Results {
		fault("result", result.Name, reflectapi.CheckTags(result.Type))
	}
	if len(faults) > 0 || !constrained {
		return nil, errors.Join(faults...)
	}
	return reflectapi.ConstraintsOf(method.In)
}

// hold checks the arguments of a request against their constraints.
func (p *input) hold(in reflect.Value, request *Request) error {
	var found []reflectapi.Violation
	switch {
	case p.constraints == nil:
		return nil
	case p.constraints.Comparable():
		if found = p.constraints.Check(in); len(found) > 0 {
			found = p.wordedBySent(found, in, request)
		}
	default:
		sent, err := p.sent(in, request)
		if err != nil {
			return jsonFault(err, request.Body)
		}
		found = p.constraints.CheckJSON(sent)
	}
	if len(found) == 0 {
		return nil
	}
	return p.unprocessable(found, request)
}

// smallBody is the size in bytes up to which a body is parsed a second time to word an error.
const smallBody = 64 << 10

// wordedBySent rewords violations by what was sent, because only the request shows whether an argument is wrong or
// missing.
func (p *input) wordedBySent(found []reflectapi.Violation, in reflect.Value, request *Request) []reflectapi.Violation {
	if len(request.Body) > smallBody {
		return found
	}
	if sent, err := p.sent(in, request); err == nil {
		if worded := p.constraints.CheckJSON(sent); len(worded) > 0 {
			return worded
		}
	}
	return found
}

// onlyText says whether the JSON of the arguments is needed to check their constraints.
func (p *input) onlyText() bool { return p.constraints != nil && !p.constraints.Comparable() }

// keeps says whether arguments passed by value satisfy the constraints.
func (p *input) keeps(in reflect.Value) bool {
	return p.constraints == nil || len(p.constraints.Check(in)) == 0
}

// sent combines what a request contains into one JSON object, however each argument was sent.
func (p *input) sent(in reflect.Value, request *Request) (members map[string]any, err error) {
	members = make(map[string]any)
	if request.Query != "" {
		p.form().given(members, in, request.Query)
	}
	switch {
	case mediaKind(request.ContentType, len(request.Body) == 0) == formMedia && p.bodyIndex < 0:
		p.form().given(members, in, string(request.Body))
	case p.bodyIndex >= 0:
		members[RequestBody], err = p.sentBody(in, request)
	case len(request.Body) > 0:
		var body map[string]any
		err = p.unmarshalStrictly(request.Body, &body)
		maps.Copy(members, body)
	}
	for _, parameter := range p.parameters {
		members[parameter.name] = asJSON(in.FieldByIndex(parameter.index))
	}
	return members, err
}

// sentBody returns the JSON from which the argument for the whole body was made.
func (p *input) sentBody(in reflect.Value, request *Request) (body any, err error) {
	switch {
	case len(request.Body) == 0:
		return map[string]any{}, nil
	case mediaKind(request.ContentType, false) != formMedia:
		err = p.unmarshalStrictly(request.Body, &body)
		return body, err
	}
	return p.bodyForm.given(in.Field(p.bodyIndex), string(request.Body)), nil
}
