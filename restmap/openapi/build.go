package openapi

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/busline/busline/reflectapi"
	"github.com/busline/busline/reflectapi/schema"
	"github.com/busline/busline/restmap"
)

// Service is what [Build] describes: the public endpoints of one host on one port.
type Service struct {
	Host        string // "calculator.example"
	Port        int    // 443
	Version     string // of the service; "" becomes "0", because a document needs one
	Description string // "" becomes "The endpoints of calculator.example."
	BaseURL     string // where clients reach the paths, "http://127.0.0.1:8080"; "" leaves it out
	AtRoot      bool   // clients reach the service itself there: its paths begin without the host, as "/add"
	Endpoints   []*EndpointDoc
	Stored      bool // the endpoints are events that are stored, for documents that only authors see
	Own         bool // for documents that only authors see: says as x-also under which other methods an endpoint is served
}

// EndpointDoc is an endpoint with a description.
type EndpointDoc struct {
	*restmap.Endpoint
	Description string   // replaces the method's doc comment; "" keeps it
	Secured     bool     // calls need a token
	Claims      string   // the rule for a token's claims, for documents that only authors see; "" leaves it out
	Callers     []string // the hosts that may call; nil for all
	Port        int      // replaces the service's port; 0 keeps it
	Web         *WebDoc  // of a web endpoint; nil for none
}

// WebDoc is what a web endpoint says of itself, because only its path is known.
type WebDoc struct {
	Methods  []string // under which one for any method is listed; none for the first that is free
	Query    []QueryParam
	Consumes []string               // media types of the request body, none if there is no body
	Form     []reflectapi.FormField // of the request body; none if it is not a form
	Produces []string               // media types of a successful response, none if that is unknown
}

// QueryParam is text in the query of a web endpoint.
type QueryParam struct {
	Name        string
	Description string
	Required    bool
}

// Build returns the document of a service. A function in RPC style is listed only under POST, any other endpoint under
// its own method, and one for any method under the first that is free, usually GET, or POST if it has a body. Of /a/{x}
// and /a/{x+}, which OpenAPI cannot distinguish, the first is listed. The error joins all errors, each of which names
// its endpoint: a type without a schema, an HTTP method that OpenAPI does not have.
func Build(service Service) (*Document, error) {
	names := newNames(service.Endpoints)
	service.Description = cmp.Or(service.Description, endpointsOf(service.Host))
	b := newBuilder(service, names, schema.NewSchemas(names.components()...))
	if err := b.addAll(); err != nil {
		return nil, err
	}
	if distinct := b.schemas.Distinct(packagesOf(service.Endpoints)); distinct != nil {
		b = newBuilder(service, names, distinct)
		if err := b.addAll(); err != nil {
			return nil, err
		}
	}
	return b.document(), nil
}

// endpointsOf describes a host without a description. It has no number, which would reveal what a caller may not see.
func endpointsOf(host string) string { return "The endpoints of " + host + "." }

// packagesOf returns the packages of the services to which endpoints belong.
func packagesOf(endpoints []*EndpointDoc) (packages []string) {
	for _, endpoint := range endpoints {
		if endpoint.Method != nil && !slices.Contains(packages, endpoint.Method.Package()) {
			packages = append(packages, endpoint.Method.Package())
		}
	}
	return packages
}

// builder builds one document.
type builder struct {
	service Service
	names   *names
	schemas *schema.Schemas // of arguments
	results *schema.Schemas
	objects map[string]*schema.Schema // the components <Name>_in and <Name>_out
	problem *schema.Schema            // a reference to the component of a restmap.Problem
	listed  []listed
}

// listed is an operation, and the endpoint that it describes.
type listed struct {
	endpoint  *EndpointDoc
	method    string // "POST"; restmap.AnyMethod until a method is chosen
	operation *Operation
}

func newBuilder(service Service, names *names, schemas *schema.Schemas) *builder {
	return &builder{
		service: service,
		names:   names,
		schemas: schemas,
		results: schemas.Results(),
		objects: make(map[string]*schema.Schema),
	}
}

// addAll describes all endpoints.
func (b *builder) addAll() error {
	var errs []error
	for _, endpoint := range b.service.Endpoints {
		if err := b.add(endpoint); err != nil {
			errs = append(errs, fmt.Errorf("endpoint %s: %w", endpoint.Name, err))
		}
	}
	return errors.Join(errs...)
}

// document assembles the document.
func (b *builder) document() *Document {
	d := &Document{
		OpenAPI: Version,
		Info:    Info{Title: b.service.Host, Description: b.service.Description, Version: cmp.Or(b.service.Version, "0")},
		Servers: servers(b.service.BaseURL),
		Paths:   newPaths(b.service, b.listed),
	}
	if len(b.listed) > 0 {
		d.Tags = []Tag{{Name: b.service.Host, Description: b.service.Description}}
	}
	d.Components.Schemas = b.components()
	// removes the schemas that only unlisted operations used
	return d.Filter(func(string, string, *Operation) bool { return true })
}

// servers returns the only server of a document, none for "".
func servers(baseURL string) []Server {
	if baseURL == "" {
		return nil
	}
	return []Server{{URL: baseURL}}
}

// problemSchema returns a reference to the component of a [restmap.Problem], which it adds on first use.
func (b *builder) problemSchema() (*schema.Schema, error) {
	var err error
	if b.problem == nil {
		b.problem, err = b.results.Of(reflect.TypeFor[restmap.Problem]())
	}
	return b.problem, err
}

// object adds a component with some of the members of another one, and returns a reference to it.
func (b *builder) object(name string, all *schema.Schema, members []reflectapi.Value) *schema.Schema {
	object := &schema.Schema{Type: "object", Properties: make(map[string]*schema.Schema)}
	for _, value := range members {
		object.Properties[value.Name] = all.Properties[value.Name]
		if slices.Contains(all.Required, value.Name) {
			object.Required = append(object.Required, value.Name)
		}
	}
	b.objects[name] = object
	return &schema.Schema{Ref: schemaPrefix + name}
}

const jsonType = "application/json"

// listedMethod returns the method under which an endpoint is listed.
func listedMethod(endpoint *restmap.Endpoint) string {
	if endpoint.Style == restmap.RPC && slices.ContainsFunc(endpoint.Routes, takesPost) {
		return http.MethodPost
	}
	return endpoint.Routes[0].Method
}

// Lists reports whether a document can list an endpoint under an HTTP method, or under any, "*".
func Lists(method string) bool {
	return method == restmap.AnyMethod || new(PathItem).slot(method) != nil
}

// add describes one endpoint.
func (b *builder) add(endpoint *EndpointDoc) error {
	if endpoint.Web == nil || len(endpoint.Web.Methods) == 0 {
		return b.addMethod(endpoint, listedMethod(endpoint.Endpoint), b.names.of[endpoint])
	}
	for _, method := range endpoint.Web.Methods {
		if err := b.addMethod(endpoint, method, b.names.ofMethod(endpoint, method)); err != nil {
			return err
		}
	}
	return nil
}

// addMethod describes one endpoint under one method.
func (b *builder) addMethod(endpoint *EndpointDoc, method, id string) error {
	if !Lists(method) {
		return fmt.Errorf("OpenAPI has no HTTP method %s; hide it from the documents", method)
	}
	operation := &Operation{
		Tags:        []string{b.service.Host},
		Description: endpoint.Description,
		OperationID: id,
		Security:    security(endpoint.Secured),
		Stored:      b.service.Stored,
		Callers:     endpoint.Callers,
	}
	if endpoint.Secured {
		operation.Claims = endpoint.Claims
	}
	if b.service.Own {
		operation.Also = otherMethods(endpoint.Routes, method)
	}
	l := listed{endpoint: endpoint, method: method, operation: operation}
	b.listed = append(b.listed, l)
	if endpoint.Method != nil {
		operation.Description = cmp.Or(endpoint.Description, endpoint.Method.Doc)
	}
	operation.Deprecated = isDeprecated(operation.Description)
	if endpoint.Style == restmap.Web {
		return b.describeWeb(l)
	}
	operation.Summary = endpoint.Method.Signature()
	if err := b.describeInput(l); err != nil {
		return err
	}
	if endpoint.Method.Declared.Idempotent {
		operation.Parameters = append(operation.Parameters, keyParameter())
	}
	return b.describeOutput(l)
}

// keyParameter is the header field with which a request runs once.
func keyParameter() *Parameter {
	longest := uint64(restmap.LongestIdempotencyKey)
	return &Parameter{Name: restmap.IdempotencyKey, In: "header",
		Schema:      &schema.Schema{Type: "string", MaxLength: &longest},
		Description: "A text that no other request has, such as a UUID: sent again with it, the request does not run again."}
}

// isDeprecated reports whether a paragraph of a doc comment begins with the word by which Go's tools know that it
// should not be used any more.
func isDeprecated(doc string) bool {
	return slices.ContainsFunc(strings.Split(doc, "\n\n"), func(paragraph string) bool {
		return strings.HasPrefix(paragraph, "Deprecated: ")
	})
}

func takesPost(route restmap.Route) bool {
	return route.Method == http.MethodPost || route.Method == restmap.AnyMethod
}

// otherMethods returns the HTTP methods of routes but the one that is listed. One for any method is listed under one of
// them.
func otherMethods(routes []restmap.Route, listed string) (others []string) {
	for _, route := range routes {
		if route.Method != listed || listed == restmap.AnyMethod {
			others = append(others, route.Method)
		}
	}
	return others
}

// describeWeb describes a handler: its path, and what it says of itself. A handler reports its errors as functions do,
// or in its own form.
func (b *builder) describeWeb(l listed) error {
	for _, name := range l.endpoint.Path().Names() {
		l.operation.Parameters = append(l.operation.Parameters, pathParameter(name, &schema.Schema{Type: "string"}))
	}
	said := cmp.Or(l.endpoint.Web, new(WebDoc))
	for _, query := range said.Query {
		l.operation.Parameters = append(l.operation.Parameters, &Parameter{
			Name: query.Name, In: "query", Required: query.Required, Description: query.Description,
			Schema: &schema.Schema{Type: "string"},
		})
	}
	content := bodies(said.Consumes)
	if err := addForm(content, l.endpoint.Form()); err != nil {
		return err
	}
	if len(content) > 0 && HasBody(l.method) {
		l.operation.RequestBody = &RequestBody{Content: content}
	}
	problem, err := b.problemSchema()
	if err != nil {
		return err
	}
	l.operation.Responses = map[string]*Response{
		"200": {Description: "OK", Content: bodies(said.Produces)},
		"default": {Description: "Error, or any other answer",
			Content: map[string]*MediaType{restmap.ProblemType: {Schema: problem}}},
	}
	return nil
}

// Form returns the fields of the form that a web endpoint reads: those that the comment of its method declares, and
// those that options do.
func (e *EndpointDoc) Form() (fields []reflectapi.FormField) {
	if e.Method != nil {
		fields = e.Method.Declared.Form
	}
	if e.Web != nil {
		fields = slices.Concat(fields, e.Web.Form)
	}
	return fields
}

// The media types of forms.
const (
	MultipartForm = "multipart/form-data" // with files
	TextForm      = "application/x-www-form-urlencoded"
)

// addForm describes a form, if there are fields.
func addForm(content map[string]*MediaType, fields []reflectapi.FormField) error {
	if len(fields) == 0 {
		return nil
	}
	form, err := reflectapi.DescribeForm(fields)
	if err != nil {
		return err
	}
	described, mediaType := &MediaType{Schema: form.Schema}, TextForm
	if form.HasFiles {
		mediaType = MultipartForm
	}
	for name, types := range form.MediaTypes {
		if described.Encoding == nil {
			described.Encoding = make(map[string]*Encoding)
		}
		described.Encoding[name] = &Encoding{ContentType: types}
	}
	content[mediaType] = described
	return nil
}

// HasBody reports whether requests of an HTTP method have a body: some of those for any method, "*", have one.
func HasBody(method string) bool {
	return !slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodDelete, http.MethodOptions,
		http.MethodTrace}, method)
}

// bodies describes a body of one of several media types. JSON may be any, everything else is text.
func bodies(mediaTypes []string) map[string]*MediaType {
	content := make(map[string]*MediaType)
	for _, mediaType := range mediaTypes {
		body := &schema.Schema{Type: "string"}
		if mediaType == jsonType || strings.HasSuffix(mediaType, "+json") {
			body = &schema.Schema{}
		}
		content[mediaType] = &MediaType{Schema: body}
	}
	return content
}

func pathParameter(name string, schema *schema.Schema) *Parameter {
	return &Parameter{Name: name, In: "path", Required: true, Schema: schema}
}

// describeOutput describes the results of a function, and its errors.
func (b *builder) describeOutput(l listed) error {
	schema, err := b.resultSchema(l)
	if err != nil {
		return fmt.Errorf("result %w", err)
	}
	problem, err := b.problemSchema()
	if err != nil {
		return err
	}
	result := &MediaType{Schema: schema}
	failure := map[string]*MediaType{restmap.ProblemType: {Schema: problem}}
	l.operation.Responses = map[string]*Response{"default": {Description: "Error", Content: failure}}
	declared := l.endpoint.Method.Declared
	l.operation.Tool = declared.Tool
	if err := b.describeProblems(l.operation, declared.Problems, problem); err != nil {
		return err
	}
	for _, status := range declared.Statuses {
		response := &Response{Description: http.StatusText(status)}
		if restmap.HasContent(status) {
			response.Content = map[string]*MediaType{jsonType: result}
		}
		l.operation.Responses[strconv.Itoa(status)] = response
	}
	if len(declared.Statuses) > 0 {
		return nil
	}
	if l.endpoint.Method.Streams {
		l.operation.Responses["200"] = &Response{
			Description: "A stream: each line, or the data of each event, is one of these",
			Content:     map[string]*MediaType{restmap.NDJSON: result, restmap.EventStream: result},
		}
		return nil
	}
	l.operation.Responses["200"] = &Response{Description: "OK", Content: map[string]*MediaType{jsonType: result}}
	if hasResult(l.endpoint.Method, restmap.StatusCode) { // the status may be any
		failure[jsonType] = result
		l.operation.Responses["204"] = &Response{Description: "No Content"}
		if l.method == http.MethodPost { // mostly for methods that create something
			l.operation.Responses["201"] = &Response{Description: "Created", Content: map[string]*MediaType{jsonType: result}}
		}
		l.operation.Responses["default"].Description = "The result with another status, or an error"
	}
	return nil
}

// describeProblems adds a response for each status of the problems that a method declares.
func (b *builder) describeProblems(operation *Operation, problems []reflectapi.Problem, common *schema.Schema) error {
	for _, declared := range problems {
		kind := &schema.Schema{Type: "object", Properties: map[string]*schema.Schema{"type": {Type: "string",
			Enum: []any{declared.Type}}}, Required: []string{"type"}}
		problem := &schema.Schema{AllOf: []*schema.Schema{common, kind}}
		if declared.Details != nil {
			details, err := b.results.Of(declared.Details)
			if err != nil {
				return fmt.Errorf("problem %s: %w", declared.Type, err)
			}
			problem.AllOf = append(problem.AllOf, details)
		}
		status := strconv.Itoa(declared.Status)
		response := operation.Responses[status]
		if response == nil {
			if slices.Contains(ownProblems(), declared.Status) {
				problem = &schema.Schema{AnyOf: []*schema.Schema{common, problem}}
			}
			response = &Response{Description: declared.Type,
				Content: map[string]*MediaType{restmap.ProblemType: {Schema: problem}}}
			operation.Responses[status] = response
			continue
		}
		response.Description += ", or " + declared.Type
		media := response.Content[restmap.ProblemType]
		if media.Schema.AnyOf == nil {
			media.Schema = &schema.Schema{AnyOf: []*schema.Schema{media.Schema}}
		}
		media.Schema.AnyOf = append(media.Schema.AnyOf, problem)
	}
	return nil
}

// ownProblems returns the statuses with which a call of a function may end before the function runs, or instead of its
// own answer.
func ownProblems() []int {
	return []int{
		http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestEntityTooLarge,
		http.StatusUnsupportedMediaType,
		http.StatusUnprocessableEntity, http.StatusInternalServerError, http.StatusServiceUnavailable,
		http.StatusGatewayTimeout, http.StatusLoopDetected,
	}
}

// resultSchema returns the schema of a successful response, or of one element of a stream.
func (b *builder) resultSchema(l listed) (*schema.Schema, error) {
	method := l.endpoint.Method
	all, err := b.results.Of(method.Out)
	if err != nil {
		return nil, err
	}
	if method.Streams {
		return all.Properties[method.Results[0].Name], nil
	}
	if body := all.Properties[restmap.ResponseBody]; body != nil {
		return body, nil
	}
	members := slices.DeleteFunc(slices.Clone(method.Results),
		func(v reflectapi.Value) bool { return v.Name == restmap.StatusCode })
	return b.object(l.operation.OperationID+"_out", all, members), nil
}

func hasResult(method *reflectapi.Method, name string) bool {
	return slices.ContainsFunc(method.Results, func(v reflectapi.Value) bool { return v.Name == name })
}

// describeInput describes the arguments of a function: parameters, and a body if there is one.
func (b *builder) describeInput(l listed) error {
	all, err := b.schemas.Of(l.endpoint.Method.In)
	if err != nil {
		return fmt.Errorf("argument %w", err)
	}
	var members []reflectapi.Value
	for _, argument := range l.endpoint.Arguments(l.method) {
		schema := all.Properties[argument.Name]
		switch {
		case argument.In == "body" && argument.Name == restmap.RequestBody:
			l.operation.RequestBody = jsonBody(b.notNull(schema))
		case argument.In == "body":
			members = append(members, argument.Value)
		case argument.In == "path":
			alsoAsText(schema, argument.Type)
			l.operation.Parameters = append(l.operation.Parameters, pathParameter(argument.Name, schema))
		default:
			required := slices.Contains(all.Required, argument.Name)
			l.operation.Parameters = append(l.operation.Parameters,
				b.queryParameters(l.endpoint.Endpoint, argument, schema, required)...)
		}
	}
	isCall := l.endpoint.Style == restmap.RPC && l.method == http.MethodPost
	if l.operation.RequestBody != nil || len(members) == 0 && !isCall {
		return nil
	}
	l.operation.RequestBody = jsonBody(b.object(l.operation.OperationID+"_in", all, members))
	return nil
}

// queryParameters describes an argument in the query: one parameter, or one for each member of a struct.
func (b *builder) queryParameters(endpoint *restmap.Endpoint, argument restmap.Argument, schema *schema.Schema,
	required bool) (parameters []*Parameter) {
	for _, part := range endpoint.QueryParts(argument.Name) {
		parameters = append(parameters, b.partParameter(part, argument.Name, schema, argument.Type.Kind() == reflect.Pointer))
	}
	if len(parameters) == 0 {
		alsoAsText(schema, argument.Type)
		parameters = append(parameters, queryParameter(argument, schema, required))
	}
	return parameters
}

// partParameter describes a member of a struct argument, which has a parameter of its own in the query.
func (b *builder) partParameter(part restmap.QueryPart, of string, schema *schema.Schema, optional bool) *Parameter {
	required := !optional
	for _, name := range part.Path {
		object := schema
		for object.Ref != "" || len(object.AllOf) == 1 {
			if object.Ref == "" {
				object, required = object.AllOf[0], required && !object.Nullable
				continue
			}
			object = b.schemas.Components()[reference(object)]
		}
		schema, required = object.Properties[name], required && slices.Contains(object.Required, name)
	}
	copied := *schema // it is also part of the component
	alsoAsText(&copied, part.Type)
	return &Parameter{Name: part.Name, In: "query", Required: required, Schema: &copied, PartOf: of}
}

func queryParameter(argument restmap.Argument, schema *schema.Schema, required bool) *Parameter {
	parameter := &Parameter{Name: argument.Name, In: "query", Required: required}
	if argument.JSON {
		parameter.Content = map[string]*MediaType{jsonType: {Schema: schema}}
	} else {
		parameter.Schema = schema
	}
	return parameter
}

// alsoAsText adds the other notation for durations, where they are not JSON.
func alsoAsText(schema *schema.Schema, t reflect.Type) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t.Kind() == reflect.Slice && schema.Items != nil:
		alsoAsText(schema.Items, t.Elem())
	case t == reflect.TypeFor[time.Duration]():
		schema.Description += ", or text such as 1.5s"
	}
}

func jsonBody(schema *schema.Schema) *RequestBody {
	return &RequestBody{Required: true, Content: map[string]*MediaType{jsonType: {Schema: schema}}}
}
