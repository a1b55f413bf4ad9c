package restmap

import (
	"fmt"
	"net/http"
	"reflect"

	"github.com/busline/busline/reflectapi"
	"github.com/busline/busline/restmap/strictjson"
)

// Response is what an endpoint writes of an HTTP response.
type Response struct {
	Status      int    // 200 unless the method says otherwise
	ContentType string // "application/json"; empty when there is no body
	Body        []byte
}

// output is the plan for turning the results of one endpoint into a response.
type output struct {
	statusIndex int              // index of the status result, -1 if there is none
	bodyIndex   int              // index of the result that is the whole body, -1 if there is none
	object      reflect.Type     // type of the body's object, nil if it is the method's Out type
	members     []int            // of the object, as indexes of results
	plan        *strictjson.Plan // of the body's value
}

// newOutput plans the response of a method.
func newOutput(method *reflectapi.Method) *output {
	p := &output{
		statusIndex: indexOf(method.Results, StatusCode),
		bodyIndex:   indexOf(method.Results, ResponseBody),
	}
	switch {
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

// Encode makes a response from a method's results, a value of its Out type. It is for functions, not for Web endpoints.
// An error means that the method returned something that cannot be sent: its own fault, not the caller's.
func (e *Endpoint) Encode(out reflect.Value) (Response, error) {
	response := Response{Status: 200}
	if i := e.output.statusIndex; i >= 0 {
		if status := int(out.Field(i).Int()); status != 0 {
			response.Status = status
		}
	}
	if response.Status < 200 || response.Status > 599 {
		return Response{}, fmt.Errorf("method %s: %s is %d; it has to be from 200 to 599, or 0 for 200", e.Method.Name, StatusCode, response.Status)
	}
	if !HasContent(response.Status) {
		return response, nil
	}
	body, err := e.output.plan.Marshal(e.output.content(out))
	if err != nil {
		return Response{}, fmt.Errorf("method %s: its results cannot be written as JSON: %w", e.Method.Name, err)
	}
	response.ContentType, response.Body = "application/json", body
	return response, nil
}

// HasContent says whether a response of this status has a body at all (RFC 9110, 15.3.5, 15.3.6 and 15.4.5).
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
