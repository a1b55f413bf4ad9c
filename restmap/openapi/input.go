package openapi

import (
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/busline/busline/reflectapi/schema"
	"github.com/busline/busline/restmap"
)

// RawBody is the format of the schema that an [Input] has for a body that is not described.
const RawBody = "busline-raw-body"

// Input says where the arguments of an operation are in its requests.
type Input struct {
	Object *schema.Schema // whose members are the arguments

	Query  []string // arguments in the query, "limit", and members of arguments, "filter.text"
	JSON   []string // arguments in the query, as JSON
	Header []string
	Rest   []string // arguments in the path that take several segments
	Body   *string  // the argument that is the body; "" for all that are nowhere else, nil for none
	Raw    bool     // the body is raw
}

// InputOf returns the input of an operation of a method. The components are those of its document.
func InputOf(method string, o *Operation, components map[string]*schema.Schema) *Input {
	in := &Input{Object: &schema.Schema{Type: "object", Properties: make(map[string]*schema.Schema)}}
	for _, p := range o.Parameters {
		in.addParameter(p)
	}
	in.Raw = o.IsWeb()
	var body *schema.Schema
	if o.RequestBody != nil {
		if media := o.RequestBody.Content[jsonType]; media != nil {
			body = media.Schema
		}
	}
	switch {
	case in.Raw && HasBody(method):
		in.addBody(&schema.Schema{Format: RawBody}, false)
	case in.Raw || o.RequestBody == nil:
	case body != nil && body.Ref == schemaPrefix+o.OperationID+"_in":
		in.Body = new(string)
		arguments := components[o.OperationID+"_in"]
		if arguments == nil {
			break
		}
		for _, name := range slices.Sorted(maps.Keys(arguments.Properties)) {
			in.add([]string{name}, arguments.Properties[name], slices.Contains(arguments.Required, name))
		}
	default:
		if body == nil {
			body = &schema.Schema{}
		}
		in.addBody(body, o.RequestBody.Required)
	}
	return in
}

// addParameter adds an argument in the path, the query or the header.
func (in *Input) addParameter(p *Parameter) {
	described, isJSON := p.Schema, false
	if media := p.Content[jsonType]; media != nil {
		described, isJSON = media.Schema, true
	}
	if described == nil {
		described = &schema.Schema{}
	}
	if p.Description != "" || p.Deprecated {
		described = &schema.Schema{Description: p.Description, Deprecated: p.Deprecated, AllOf: []*schema.Schema{described}}
	}
	path := []string{p.Name}
	if p.In == "query" && !isJSON {
		path = strings.Split(p.Name, ".")
	}
	if p.PartOf != "" {
		path = strings.Split(p.PartOf+"."+strings.TrimPrefix(p.Name, p.PartOf+"."), ".")
	}
	switch {
	case p.In == "path":
		if p.Rest {
			in.Rest = append(in.Rest, p.Name)
		}
	case p.In == "query" && isJSON:
		in.JSON = append(in.JSON, p.Name)
	case p.In == "query":
		in.Query = append(in.Query, strings.Join(path, "."))
	case p.In == "header" && !strings.EqualFold(p.Name, "Authorization"):
		in.Header = append(in.Header, p.Name)
	default:
		return
	}
	in.add(path, described, p.Required || p.In == "path")
}

// add adds an argument, or a member of one.
func (in *Input) add(path []string, described *schema.Schema, required bool) {
	object := in.Object
	for i, name := range path {
		if required && !slices.Contains(object.Required, name) {
			object.Required = append(object.Required, name)
		}
		if i == len(path)-1 {
			object.Properties[name] = described
			return
		}
		if object.Properties[name] == nil || object.Properties[name].Properties == nil {
			object.Properties[name] = &schema.Schema{Type: "object", Properties: make(map[string]*schema.Schema)}
		}
		object = object.Properties[name]
	}
}

// addBody adds the argument that is the whole body.
func (in *Input) addBody(described *schema.Schema, required bool) {
	name := "body"
	if in.Object.Properties[name] != nil {
		name = restmap.RequestBody
	}
	in.Body = &name
	in.add([]string{name}, described, required)
}

// ResultOf returns the schema of a successful response, nil for none, and whether it is that of a stream's elements.
func ResultOf(content map[string]*MediaType) (result *schema.Schema, streams bool) {
	for _, mediaType := range []string{restmap.EventStream, restmap.NDJSON, jsonType} {
		if media := content[mediaType]; media != nil {
			result = media.Schema
			if result == nil {
				result = &schema.Schema{}
			}
			return result, mediaType != jsonType
		}
	}
	return nil, false
}

// Successes returns the bodies of the successful responses, in the order of their statuses.
func (o *Operation) Successes() (all []map[string]*MediaType) {
	for _, status := range slices.Sorted(maps.Keys(o.Responses)) {
		if strings.HasPrefix(status, "2") {
			all = append(all, o.Responses[status].Content)
		}
	}
	return all
}

// route is the summary of a handler: "GET /files/{path+}".
var route = regexp.MustCompile(`^[A-Z]+ /`)

// IsWeb reports whether the document does not describe what the operation answers, or takes: it is a handler, or it
// belongs to a service that says no more.
func (o *Operation) IsWeb() bool {
	if route.MatchString(o.Summary) {
		return true
	}
	if o.RequestBody != nil && o.RequestBody.Content[jsonType] == nil {
		return true
	}
	for status, response := range o.Responses {
		code, err := strconv.Atoi(status)
		if err != nil || code < http.StatusOK || code >= http.StatusMultipleChoices {
			continue
		}
		if result, _ := ResultOf(response.Content); result != nil || !restmap.HasContent(code) {
			return false
		}
	}
	return true
}
