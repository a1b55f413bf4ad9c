package restmap

import (
	"fmt"
	"mime"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/busline/busline/reflectapi"
	"github.com/busline/busline/reflectapi/schema"
	"github.com/busline/busline/reflectapi/strictjson"
)

// Response is what an endpoint writes of an HTTP response.
type Response struct {
	Status      int    // 200 unless the method says or declares otherwise
	ContentType string // "application/json"; empty when there is no body
	Body        []byte
}

// output is the plan for turning the results of one endpoint into a response.
type output struct {
	status      int              // of success
	statusIndex int              // index of the status result, -1 if there is none
	bodyIndex   int              // index of the result that is the whole body, -1 if there is none
	object      reflect.Type     // type of the body's object, nil if it is the method's Out type
	members     []int            // of the object, as indexes of results
	plan        *strictjson.Plan // of the body's value
}

// newOutput plans the response of a method.
func newOutput(method *reflectapi.Method) *output {
	p := &output{
		status:      append(slices.Clone(method.Declared.Statuses), http.StatusOK)[0],
		statusIndex: indexOf(method.Results, StatusCode),
		bodyIndex:   indexOf(method.Results, ResponseBody),
	}
	switch {
	case method.Streams:
		p.plan = strictjson.PlanOf(method.Results[0].Type)
		return p
	case p.bodyIndex >= 0:
		p.plan = strictjson.PlanOf(method.Results[p.bodyIndex].Type)
		return p
	case p.statusIndex < 0:
		p.plan = strictjson.PlanOf(method.Out)
		return p
	}
	var fields []reflect.StructField
	for i := range method.Results {
		if i != p.statusIndex {
			fields = append(fields, method.Out.Field(i))
			p.members = append(p.members, i)
		}
	}
	p.object = reflect.StructOf(fields)
	p.plan = strictjson.PlanOf(p.object)
	return p
}

// Encode makes a response from a method's results, a value of its Out type. It is for functions that do not stream.
// Text that is not UTF-8 is sent with U+FFFD, because the method has run. An error means that the method returned
// something that cannot be sent: an error of its own, not of the caller.
func (e *Endpoint) Encode(out reflect.Value) (Response, error) {
	response := Response{Status: e.output.status}
	if i := e.output.statusIndex; i >= 0 {
		if status := int(out.Field(i).Int()); status != 0 {
			response.Status = status
		}
	}
	if response.Status < 200 || response.Status > 599 {
		return Response{}, fmt.Errorf("method %s: %s is %d; it has to be from 200 to 599, or 0 for 200", e.Method.Name,
			StatusCode, response.Status)
	}
	if !HasContent(response.Status) {
		return response, nil
	}
	body, err := e.output.plan.MarshalRepaired(e.output.content(out))
	if err != nil {
		return Response{}, fmt.Errorf("method %s: its results cannot be written as JSON: %w", e.Method.Name, err)
	}
	response.ContentType, response.Body = "application/json", body
	return response, nil
}

// HasContent reports whether a response of this status has a body at all (RFC 9110, 15.3.5, 15.3.6 and 15.4.5).
func HasContent(status int) bool {
	return status != http.StatusNoContent && status != http.StatusResetContent && status != http.StatusNotModified
}

// content returns the value of the body.
func (p *output) content(out reflect.Value) reflect.Value {
	switch {
	case p.bodyIndex >= 0:
		return out.Field(p.bodyIndex)
	case p.object == nil:
		return out
	}
	object := reflect.New(p.object).Elem()
	for i, member := range p.members {
		object.Field(i).Set(out.Field(member))
	}
	return object
}

// copiers pass arguments and results as Go values, if both sides are in one process and the types contain no
// references. A copy then has the same result as [Endpoint.Decode] and [Endpoint.Encode] via JSON. They are those for
// one type of a caller, each made on first use, and nil if there is none.
type copiers struct {
	arguments, results, anyCase func() *strictjson.Copier
}

// TakeValues makes the arguments of a call from a struct or a pointer to one, a map[string]any, or nil, just as
// [Endpoint.Decode] would from their JSON. It returns false if they have to be written as JSON and read again: for
// other types, for more than limit bytes of JSON, for arguments that break a constraint, where an argument or a result
// is not a member of the body, and where a given one is unknown. The result shares nothing with what was given.
func (e *Endpoint) TakeValues(value any, limit int) (reflect.Value, bool) {
	if e.input == nil || e.input.bodyIndex >= 0 || len(e.input.parameters) > 0 || e.input.onlyText() {
		return reflect.Value{}, false
	}
	in, ok := e.takeValues(value, limit)
	if erase := e.input.eraseReadOnly; ok && erase != nil {
		erase(in)
	}
	return in, ok && e.input.satisfies(in) // the other path reports violations
}

func (e *Endpoint) takeValues(value any, limit int) (reflect.Value, bool) {
	in := e.input.arguments()
	if members, ok := value.(map[string]any); ok {
		_, whole := members[RequestBody]
		return in, !whole && e.input.plan.Fill(in, members, limit)
	}
	from := reflect.ValueOf(value)
	if from.Kind() == reflect.Pointer {
		from = from.Elem()
	}
	if !from.IsValid() {
		return in, value == nil
	}
	copier := e.copiersFor(from.Type()).arguments()
	return in, copier != nil && copier.Copy(from, in, limit)
}

// GiveValues sets a settable struct to the results of a call, a value of the method's Out type, just as the JSON of
// [Endpoint.Encode] would. With anyCase, names may differ in case. It returns false if the results have to be written
// as JSON and read again; the struct is then partly filled.
func (e *Endpoint) GiveValues(out, into reflect.Value, anyCase bool, limit int) bool {
	if e.Method.Streams || e.output.statusIndex >= 0 || e.output.bodyIndex >= 0 || e.output.status != http.StatusOK ||
		into.Kind() != reflect.Struct {
		return false
	}
	known := e.copiersFor(into.Type())
	copier := known.results
	if anyCase {
		copier = known.anyCase
	}
	result := copier()
	return result != nil && result.Copy(out, into, limit)
}

// copiersFor returns those for a type.
func (e *Endpoint) copiersFor(t reflect.Type) *copiers {
	found, ok := e.values.Load(t)
	if !ok {
		found, _ = e.values.LoadOrStore(t, e.newCopiers(t))
	}
	return found.(*copiers) //nolint:forcetypeassert // nothing else is stored
}

func (e *Endpoint) newCopiers(t reflect.Type) *copiers {
	results := func(anyCase bool) func() *strictjson.Copier {
		return sync.OnceValue(func() *strictjson.Copier { return strictjson.NewCopier(e.Method.Out, t, anyCase) })
	}
	return &copiers{
		arguments: sync.OnceValue(func() *strictjson.Copier {
			if t.Kind() != reflect.Struct || hasMember(t, RequestBody) {
				return nil
			}
			// else a name may be misspelt
			if copier := strictjson.NewCopier(t, e.Method.In, false); copier != nil && !copier.Partial() {
				return copier
			}
			return nil
		}),
		results: results(false), anyCase: results(true),
	}
}

// hasMember reports whether the JSON of a struct may have a member of that name.
func hasMember(t reflect.Type, name string) bool {
	members := schema.JSONMembers(t)
	return slices.ContainsFunc(members, func(m schema.JSONMember) bool { return m.Name == name })
}

// media is the kind of a content type, as far as it matters here.
type media int

const (
	unsupportedMedia media = iota
	jsonMedia
	formMedia
)

// mediaKind returns the kind of a content type. It does not matter without a body.
func mediaKind(contentType string, empty bool) media {
	switch {
	case contentType == "application/json" || empty:
		return jsonMedia
	case contentType == "":
		return unsupportedMedia
	}
	mediaType, parameters, err := mime.ParseMediaType(contentType)
	switch {
	case err != nil || otherCharset(parameters) != "":
		return unsupportedMedia
	case mediaType == "application/json" || strings.HasSuffix(mediaType, "+json"): // RFC 6839, 3.1
		return jsonMedia
	case mediaType == "application/x-www-form-urlencoded":
		return formMedia
	default:
		return unsupportedMedia
	}
}

// unsupportedBody says what is wrong with a content type.
func unsupportedBody(contentType string) string {
	_, parameters, err := mime.ParseMediaType(contentType)
	if charset := otherCharset(parameters); err == nil && charset != "" {
		return fmt.Sprintf("the body is in charset %q: send it in UTF-8", charset)
	}
	return "the body has to be application/json or application/x-www-form-urlencoded"
}

// otherCharset returns the charset of a content type if it is not the one that is understood, "" if it is or none is
// given.
func otherCharset(parameters map[string]string) string {
	if charset := parameters["charset"]; !strings.EqualFold(charset, "utf-8") {
		return charset
	}
	return ""
}

// Problem is the body of an error response: problem details (RFC 9457, 3.1) with additional members of the bus.
// Services may add others, see bus.ErrorWithDetails.
type Problem struct {
	// a URI for the kind of problem; "about:blank": the status says it all
	Type     string          `json:"type"`
	Title    string          `json:"title"`              // of the status: "Not Found"
	Status   int             `json:"status"`             // 404
	Detail   string          `json:"detail,omitempty"`   // what went wrong this time
	Instance string          `json:"instance,omitempty"` // the path as the caller sent it
	Host     string          `json:"host,omitempty"`     // host that failed: "calculator.example"
	ID       string          `json:"id,omitempty"`       // its instance
	MsgID    string          `json:"msgId,omitempty"`    // of the call
	TraceID  string          `json:"traceId,omitempty"`  // when the call is traced
	Executed string          `json:"executed,omitempty"` // "no" if no handler has seen the request
	Errors   []ArgumentError `json:"errors,omitempty"`   // the invalid arguments
}

// ProblemType is the content type of a [Problem].
const ProblemType = "application/problem+json"
