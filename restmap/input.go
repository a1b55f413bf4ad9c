package restmap

import (
	"reflect"
	"runtime"
	"slices"
	"sync"

	"github.com/busline/busline/reflectapi"
	"github.com/busline/busline/restmap/strictjson"
)

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
	weights    *weights         // of the values in a JSON body

	preparing sync.Once // of prepared
	prepared  *seldom
	strict    bool // what nobody reads is refused

	constraints *reflectapi.Constraints // nil if there are none
}

// seldom is what most endpoints never need.
type seldom struct {
	form  *form         // the arguments of a query or a form
	turns chan struct{} // one for each heavy body that may be parsed at the same time
}

// newInput plans the arguments of an endpoint's method.
func newInput(e *Endpoint, constraints *reflectapi.Constraints) *input {
	method := e.Method
	p := &input{endpoint: e, bodyIndex: indexOf(method.Args, RequestBody), plan: strictjson.PlanOf(method.In), constraints: constraints}
	if p.bodyIndex >= 0 {
		p.bodyForm = newFormBody(method.Args[p.bodyIndex].Type)
	}
	p.parameters = p.targets(func(name string) bool { return slices.Contains(e.Path().names, name) })
	p.weights = weightsOf(method.In)
	if constraints != nil && !constraints.Comparable() { // then the body is also decoded to any
		p.weights.visit(reflect.TypeFor[any](), make(map[reflect.Type]bool))
	}
	p.lightBytes = p.weights.lightBytes()
	return p
}

// targets returns the arguments, but for the whole body, of which the names are as they should be.
func (p *input) targets(wanted func(name string) bool) (targets []target) {
	for i, argument := range p.endpoint.Method.Args {
		if i != p.bodyIndex && wanted(argument.Name) {
			targets = append(targets, target{argument.Name, argument.Type, []int{i}})
		}
	}
	return targets
}

// seldom is made on first use.
func (p *input) seldom() *seldom {
	p.preparing.Do(func() {
		inPath := p.endpoint.Path().names
		planned := newForm(p.targets(func(name string) bool { return !slices.Contains(inPath, name) }))
		planned.strict, planned.inPath = p.strict, inPath
		p.prepared = &seldom{form: planned, turns: make(chan struct{}, runtime.GOMAXPROCS(0))}
	})
	return p.prepared
}

func (p *input) form() *form { return p.seldom().form }

// elsewhere is where callers should send an argument that is missing.
func (p *input) elsewhere() string {
	if slices.ContainsFunc(p.endpoint.Routes, func(r Route) bool { return r.Method == AnyMethod || hasBody(r.Method) }) {
		return inBody
	}
	return inQuery
}

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
