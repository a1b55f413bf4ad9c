package restmap

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/url"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/busline/busline/reflectapi"
	"github.com/busline/busline/reflectapi/schema"
	"github.com/busline/busline/reflectapi/strictjson"
)

// Request is what an endpoint reads of an HTTP request.
type Request struct {
	Method      string                   // "GET"; an argument that is missing is said to be missing in its query
	Query       string                   // "x=1&y=2", without the question mark
	ContentType string                   // of the body: "application/json; charset=utf-8"
	PathValue   func(name string) string // of a parameter of the path, decoded; nil when there is none
	Body        []byte                   // whole, not compressed

	// Misspelt are unknown names that were ignored and resemble a known one, at most 20: "limt; did you mean limit?".
	// Decode sets it.
	Misspelt []string
}

// Decode makes the arguments of a call from a request: an addressable value of the method's In type. It is for
// functions, not for Web endpoints. Query, body and path are read in this order, and a later one wins. A missing
// argument is the zero value, an unknown one is ignored or, with [Options].Strict, refused.
//
// Arguments that break the constraints of their types are refused with 422, all of them at once. What is checked is
// what the method would see, so a missing argument is checked, too, as the zero value.
//
// An error in the request is an [*InputError]. Any other error means that no JSON could fill the types of the method.
func (e *Endpoint) Decode(request *Request) (reflect.Value, error) {
	in := e.input.arguments()
	if err := e.input.query(in, request); err != nil {
		return in, err
	}
	if err := e.input.body(in, request); err != nil {
		return in, err
	}
	if err := e.input.path(in, request.PathValue); err != nil {
		return in, err
	}
	if erase := e.input.eraseReadOnly; erase != nil {
		erase(in)
	}
	return in, e.input.checkConstraints(in, request)
}

// The places of an argument.
const (
	inPath  = "path"
	inQuery = "query"
	inBody  = "body"
)

// input is the plan for turning requests into the arguments of one endpoint.
type input struct {
	endpoint   *Endpoint
	parameters []target         // the arguments in the path
	bodyIndex  int              // index of the argument for the whole body, -1 if there is none
	bodyForm   *formBody        // turns a form into that argument, nil if that is impossible
	plan       *strictjson.Plan // of the method's In type
	lightBytes int              // a JSON body below this length is never heavy
	weights    *memoryCost      // of the values in a JSON body

	preparing sync.Once // of prepared
	prepared  *lazyInput
	strict    bool // unknown names are refused

	constraints *schema.Constraints  // nil if there are none
	defaults    []reflectapi.Default // of missing arguments

	eraseReadOnly func(reflect.Value) // nil if there are no members that are only for results
}

// arguments returns addressable arguments with what they are when they are missing: zero, or the declared default.
func (p *input) arguments() reflect.Value {
	in := reflect.New(p.endpoint.Method.In).Elem()
	for _, missing := range p.defaults {
		value := in.Field(missing.Index)
		if value.Kind() == reflect.Pointer {
			value.Set(reflect.New(value.Type().Elem()))
			value.Elem().Set(missing.Value.Elem())
			continue
		}
		value.Set(missing.Value)
	}
	return in
}

// lazyInput is what most endpoints never need.
type lazyInput struct {
	form     *form         // the arguments of a query or a form
	largeSem chan struct{} // one for each heavy body that may be parsed at the same time
}

// newInput plans the arguments of an endpoint's method.
func newInput(e *Endpoint, constraints *schema.Constraints, defaults []reflectapi.Default) *input {
	method := e.Method
	p := &input{endpoint: e, bodyIndex: indexOf(method.Args, RequestBody), plan: strictjson.PlanOf(method.In),
		constraints: constraints, defaults: defaults, eraseReadOnly: schema.ReadOnlyEraser(method.In)}
	if p.bodyIndex >= 0 {
		p.bodyForm = newFormBody(method.Args[p.bodyIndex].Type)
	}
	p.parameters = p.targets(func(name string) bool { return slices.Contains(e.Path().names, name) })
	p.weights = memoryCostOf(method.In)
	if constraints != nil && !constraints.Comparable() { // then the body is also decoded to any
		p.weights.visit(reflect.TypeFor[any](), make(map[reflect.Type]bool))
	}
	p.lightBytes = p.weights.cheapBytes()
	return p
}

// targets returns the arguments, but for the whole body, of which the names are as they should be.
func (p *input) targets(wanted func(name string) bool) (targets []target) {
	for i, argument := range p.endpoint.Method.Args {
		if i != p.bodyIndex && wanted(argument.Name) {
			hasDefault := slices.ContainsFunc(p.defaults, func(d reflectapi.Default) bool { return d.Index == i })
			targets = append(targets, target{argument.Name, argument.Type, []int{i}, hasDefault})
		}
	}
	return targets
}

// lazy returns what is made on first use.
func (p *input) lazy() *lazyInput {
	p.preparing.Do(func() {
		inPath := p.endpoint.Path().names
		planned := newForm(p.targets(func(name string) bool { return !slices.Contains(inPath, name) }))
		planned.strict, planned.inPath = p.strict, inPath
		var names []string
		for _, argument := range p.endpoint.Method.Args {
			names = append(names, argument.Name)
		}
		planned.shorten(names)
		p.prepared = &lazyInput{form: planned, largeSem: make(chan struct{}, runtime.GOMAXPROCS(0))}
	})
	return p.prepared
}

func (p *input) form() *form { return p.lazy().form }

// refuseUnknown has the endpoint refuse what it does not read.
func (p *input) refuseUnknown() {
	p.strict = true
	if p.bodyForm != nil && p.bodyForm.object != nil {
		p.bodyForm.object.strict = true
	}
}

// Argument is an argument of a function, and where a caller puts it.
type Argument struct {
	reflectapi.Value
	In   string // "path", "query" or "body"
	JSON bool   // it is written as JSON; else as text, a list by repeating its name
}

// Arguments returns the arguments of a function in its own order, and where callers should put them with an HTTP
// method: those of the path in the path; the one that is the whole body there; the others as members of the body if the
// method has one that is free, else in the query. It returns none for a Web endpoint.
//
// [Endpoint.Decode] is more generous, and reads the others from the query or the body.
func (e *Endpoint) Arguments(httpMethod string) []Argument {
	if e.input == nil {
		return nil
	}
	rest := inQuery
	if e.input.bodyIndex < 0 && hasBody(httpMethod) {
		rest = inBody
	}
	var arguments []Argument
	for i, value := range e.Method.Args {
		argument := Argument{Value: value, In: rest, JSON: !IsText(value.Type)}
		switch {
		case i == e.input.bodyIndex:
			argument.In = inBody
		case slices.Contains(e.Path().names, value.Name):
			argument.In = inPath
		}
		argument.JSON = argument.JSON || argument.In == inBody
		arguments = append(arguments, argument)
	}
	return arguments
}

// hasBody reports whether requests with an HTTP method have a body.
func hasBody(httpMethod string) bool {
	return httpMethod == "POST" || httpMethod == "PUT" || httpMethod == "PATCH"
}

// query sets the arguments in the query, but for those that a JSON body replaces.
func (p *input) query(in reflect.Value, request *Request) error {
	if request.Query == "" {
		return nil
	}
	values, err := url.ParseQuery(request.Query)
	if err != nil {
		return badRequest("the query is malformed")
	}
	var replaced map[string]json.RawMessage
	if len(request.Body) > 0 && p.bodyIndex < 0 && mediaKind(request.ContentType, false) == jsonMedia {
		if err := p.unmarshalStrictly(request.Body, &replaced); err != nil {
			return bodyError(err, request.Body)
		}
	}
	errs, misspelt := p.form().decode(in, values, inQuery, replaced)
	request.Misspelt = misspelt
	return badArguments(errs)
}

// body sets the arguments in the body. An empty body counts as an empty JSON object.
func (p *input) body(in reflect.Value, request *Request) error {
	body := request.Body
	kind := mediaKind(request.ContentType, len(body) == 0)
	switch {
	case kind == unsupportedMedia:
		return unsupported(unsupportedBody(request.ContentType))
	case kind == formMedia:
		return p.formBody(in, request)
	case len(body) == 0 && p.bodyIndex < 0:
		return nil
	case len(body) == 0:
		body = []byte("{}")
	case bytes.Equal(bytes.Trim(body, " \t\r\n"), []byte("null")):
		return badRequest("the body is null: send a value, or no body")
	}
	into := in
	if p.bodyIndex >= 0 {
		into = in.Field(p.bodyIndex)
	}
	return bodyError(p.unmarshal(body, into, request), body)
}

// formBody sets the arguments, or the one for the whole body, from a form.
func (p *input) formBody(in reflect.Value, request *Request) error {
	body := string(request.Body)
	values, err := url.ParseQuery(body)
	switch {
	case strings.HasPrefix(body, "{") || strings.HasPrefix(body, "["):
		return badRequest("the body is JSON, sent as a form: send it with Content-Type: application/json")
	case err != nil:
		return badRequest("the form is malformed")
	case p.bodyIndex < 0:
		errs, misspelt := p.form().decode(in, values, inBody, nil)
		request.Misspelt = append(request.Misspelt, misspelt...)
		return badArguments(errs)
	case p.bodyForm == nil:
		return unsupported("the body has to be application/json, because a form cannot represent it")
	default:
		errs, misspelt := p.bodyForm.decode(in.Field(p.bodyIndex), values)
		request.Misspelt = append(request.Misspelt, misspelt...)
		if len(errs) > 0 && errs[0].Name == "" {
			return badRequest("the body " + errs[0].Detail)
		}
		return badArguments(errs)
	}
}

// unmarshal parses JSON into the arguments, or into the one for the whole body. Unknown members are an error at first,
// because one may be known in another case, and are only then ignored. A body that cannot be heavy is not weighed.
func (p *input) unmarshal(body []byte, into reflect.Value, request *Request) error {
	v := into.Addr().Interface()
	light := len(body) <= p.lightBytes
	var err error
	if light {
		err = strictjson.UnmarshalKnown(body, v)
	} else {
		err = p.unmarshalWeighed(body, v, strictjson.Text.UnmarshalKnown)
	}
	if strictjson.IsUnknown(err) && !p.strict {
		found, misspelt := mistakenNames(body, into.Type(), false)
		if len(found) > 0 {
			return allMistakes(body, into.Type(), false, found)
		}
		request.Misspelt = append(request.Misspelt, misspelt...)
		if light {
			err = strictjson.Unmarshal(body, v)
		} else {
			err = p.unmarshalStrictly(body, v)
		}
	}
	if first, ok := errors.AsType[*strictjson.Error](err); ok {
		return allMistakes(body, into.Type(), p.strict, mistakes{first})
	}
	return err
}

// unmarshalStrictly parses JSON, unless it would take too much memory. Unknown members are ignored.
func (p *input) unmarshalStrictly(body []byte, into any) error {
	return p.unmarshalWeighed(body, into, strictjson.Text.Unmarshal)
}

// unmarshalWeighed parses JSON, unless it would take too much memory. Heavy bodies wait for their turn: all that are
// parsed at the same time are in memory at the same time, and two cores parse at most two at a time anyway.
func (p *input) unmarshalWeighed(body []byte, into any, parse func(strictjson.Text, any) error) error {
	if strictjson.UnmarshalPlain(body, into) { // it takes no more memory than its text
		return nil
	}
	text, err := strictjson.Scan(body)
	if err != nil {
		return err
	}
	weight, err := p.weights.cost(text)
	if err != nil {
		return err
	}
	if weight > heavyWeight {
		largeSem := p.lazy().largeSem
		largeSem <- struct{}{}
		defer func() { <-largeSem }()
	}
	return parse(text, into)
}

// path sets the arguments in the path.
func (p *input) path(in reflect.Value, value func(name string) string) error {
	var errs []ArgumentError
	for _, parameter := range p.parameters {
		argument, err := fromText(parameter.typ, value(parameter.name))
		if err != nil {
			errs = append(errs, argumentError(parameter.name, inPath, err))
			continue
		}
		in.FieldByIndex(parameter.index).Set(argument)
	}
	return badArguments(errs)
}

// bodyError words the mistakes in a JSON body and names their places: "lines[0].n".
func bodyError(err error, body []byte) error {
	found, ok := errors.AsType[mistakes](err)
	if !ok {
		first, isMistake := errors.AsType[*strictjson.Error](err)
		if !isMistake {
			return err
		}
		found = mistakes{first}
	}
	var errs []ArgumentError
	for _, mistake := range found {
		name := strictjson.Path(body, mistake.Pointer)
		if name == "" {
			return badRequest("the body " + mistake.Detail)
		}
		errs = append(errs, ArgumentError{Name: name, In: inBody, Detail: mistake.Detail})
	}
	return badArguments(errs)
}
