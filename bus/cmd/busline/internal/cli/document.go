package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/busline/busline/bus/wire"
	"github.com/busline/busline/reflectapi/schema"
	"github.com/busline/busline/restmap"
	"github.com/busline/busline/restmap/openapi"
)

// portal is the host whose documents describe all hosts.
const portal = "portal"

// fetched is the document of one port of a host.
type fetched struct {
	text     []byte            // as the host wrote it
	document *openapi.Document // only what it says of the host itself: the portal's document describes all hosts
}

// errUndescribed says that a host has no document on a port for this caller: everything there is hidden, or needs
// claims.
var errUndescribed = errors.New("has no document for this caller")

// errUnreadable says that the document of a host is none, or one that is not valid. Busline does not write such, others
// may.
var errUnreadable = errors.New("cannot be read")

// fetch asks a host, or one of its instances, for the document of a port, with the actor of ctx.
func (s *session) fetch(ctx context.Context, host string, port int) (*fetched, error) {
	where := fmt.Sprintf("%s:%d", host, port)
	text, err := s.fetchText(ctx, where+"/openapi.json", where)
	if isUnanswered(err) {
		return nil, s.hostNotFound(context.WithoutCancel(ctx), host, err)
	}
	if err != nil {
		return nil, err
	}
	document, err := openapi.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("the document of %s %w: %w", where, errUnreadable, err)
	}
	own := document.Filter(func(path, _ string, _ *openapi.Operation) bool {
		named, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), ":")
		return host == named || strings.HasSuffix(host, "."+named)
	})
	return &fetched{text, own}, nil
}

// maxDocument is the largest body that is not printed as it comes, in bytes: a message, or a document.
const maxDocument = 32 << 20

// fetchText gets a document from an address, "calculator.example:443/openapi.json". Where there is none the error wraps
// errUndescribed, and says named.
func (s *session) fetchText(ctx context.Context, address, named string) ([]byte, error) {
	response, text, err := s.get(ctx, address)
	switch {
	case err != nil:
		return nil, err
	case response.StatusCode == http.StatusNotFound:
		return nil, fmt.Errorf("%s %w", named, errUndescribed)
	case response.StatusCode != http.StatusOK:
		return nil, s.answerFailed(response, text)
	default:
		return text, nil
	}
}

// get returns what an address answers, with the body.
func (s *session) get(ctx context.Context, address string) (*http.Response, []byte, error) {
	conn, err := s.join(ctx)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := s.limited(ctx)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address, http.NoBody)
	if err != nil {
		return nil, nil, err
	}
	response, err := conn.Do(request)
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	text, err := wire.ReadAll(response.Body, maxDocument)
	return response, text, err
}

// operation is one method of one path of a document.
type operation struct {
	method   string
	place    string // "calculator.example:443"
	path     string // after the host and the port, "/products/{id}"
	document *openapi.Document
	*openapi.Operation
}

// operationsOf returns the operations in a document, by path, in the order of package openapi.
func operationsOf(document *openapi.Document) (all []operation) {
	document = withUnions(document)
	for key, item := range document.Paths {
		place, path, _ := strings.Cut(strings.TrimPrefix(key, "/"), "/")
		for method, described := range item.Operations() {
			all = append(all, operation{method, place, "/" + path, document, described})
		}
	}
	slices.SortStableFunc(all, func(a, b operation) int {
		return cmp.Or(strings.Compare(a.place, b.place), strings.Compare(a.path, b.path))
	})
	return all
}

// match compares the escaped path of a URL with that of the operation, which may have {parameters}. It returns their
// values, and how many segments match literally; a {parameter} in the URL stands for itself, and has no value.
func (o *operation) match(escaped string) (values map[string]string, literal int, ok bool) {
	pattern, segments := strings.Split(o.path, "/"), strings.Split(escaped, "/")
	values = make(map[string]string)
	for i, want := range pattern {
		if i >= len(segments) {
			return nil, 0, false
		}
		got, err := url.PathUnescape(segments[i])
		if err != nil {
			return nil, 0, false
		}
		name, isParameter := parameterName(want)
		switch {
		case got == want:
			literal++
		case !isParameter || got == "":
			return nil, 0, false
		case i == len(pattern)-1: // it may match all remaining segments, which the document does not say
			if values[name], err = url.PathUnescape(strings.Join(segments[i:], "/")); err != nil {
				return nil, 0, false
			}
			return values, literal, true
		default:
			values[name] = got
		}
	}
	return values, literal, len(segments) == len(pattern)
}

// parameterName returns the name in {name}; false for any other segment.
func parameterName(segment string) (name string, ok bool) {
	inside, opened := strings.CutPrefix(segment, "{")
	inside, closed := strings.CutSuffix(inside, "}")
	return inside, opened && closed
}

// isOpen reports whether the document does not describe arguments and results, as for an http.Handler.
func (o *operation) isOpen() bool {
	success := o.Responses["200"]
	return o.RequestBody == nil && (success == nil || len(success.Content) == 0)
}

// needsToken reports whether a call needs a token.
func (o *operation) needsToken() bool { return len(o.Security) > 0 }

// The types in OpenAPI. A schema without one allows any value.
const (
	typeInteger = "integer"
	typeNumber  = "number"
	typeBoolean = "boolean"
	typeString  = "string"
	typeArray   = "array"
	typeObject  = "object"
)

const componentPrefix = "#/components/schemas/"

// schemas reads the schemas of one document.
type schemas struct{ document *openapi.Document }

// resolve follows references, including those wrapped because they are nullable. It never returns nil.
func (d schemas) resolve(s *schema.Schema) *schema.Schema {
	for range 16 { // ends a reference that leads to itself
		switch {
		case s == nil:
			return &schema.Schema{}
		case s.Ref != "":
			s = d.document.Components.Schemas[strings.TrimPrefix(s.Ref, componentPrefix)]
		case s.Wrapped() != nil:
			s = s.Wrapped()
		default:
			return s
		}
	}
	return &schema.Schema{}
}

// nullable reports whether null is allowed.
func (d schemas) nullable(schema *schema.Schema) bool {
	return schema.AllowsNull(d.document.Components.Schemas)
}

// kind returns the type of a schema, "" for any.
func (d schemas) kind(schema *schema.Schema) string {
	resolved := d.resolve(schema)
	if resolved.Type == "" && len(resolved.Properties) > 0 {
		return typeObject
	}
	return resolved.Type
}

// text names the type of a schema for people: "integer", "array of string", "Point", "string (date-time)".
func (d schemas) text(schema *schema.Schema) string {
	resolved := d.resolve(schema)
	switch d.kind(schema) {
	case "":
		return "any"
	case typeArray:
		return "array of " + d.text(resolved.Items)
	case typeObject:
		switch {
		case d.name(schema) != "":
			return d.name(schema)
		case isMap(resolved):
			return "map of " + d.text(resolved.AdditionalProperties)
		default:
			return typeObject
		}
	case typeString:
		if d.takesFile(schema) {
			return "file"
		}
		if resolved.Format != "" {
			return typeString + " (" + cleanLine(resolved.Format) + ")"
		}
	}
	return resolved.Type
}

// name returns the name of the component to which a schema refers, "" if it is not a reference.
func (d schemas) name(schema *schema.Schema) string {
	for schema != nil && schema.Ref == "" && schema.Wrapped() != nil {
		schema = schema.Wrapped()
	}
	if schema == nil {
		return ""
	}
	return cleanLine(strings.TrimPrefix(schema.Ref, componentPrefix))
}

// description returns the description of a value, or else of its type.
func (d schemas) description(schema *schema.Schema) string {
	if schema != nil && schema.Description != "" {
		return schema.Description
	}
	return d.resolve(schema).Description
}

// isMap reports whether an object takes members of any name: it has a type for them, or describes no member at all.
func isMap(resolved *schema.Schema) bool {
	if others := resolved.AdditionalProperties; others != nil {
		return others.Not == nil
	}
	return resolved.Type == typeObject && len(resolved.Properties) == 0
}

// property returns the schema of a member of an object; false if it has no such member.
func (d schemas) property(object *schema.Schema, name string) (*schema.Schema, bool) {
	resolved := d.resolve(object)
	if found := resolved.Properties[name]; found != nil {
		return found, true
	}
	if isMap(resolved) {
		return resolved.AdditionalProperties, true // nil for any value
	}
	return nil, d.kind(object) == ""
}

// propertyNames returns the names of an object's members, sorted.
func (d schemas) propertyNames(object *schema.Schema) (names []string) {
	for name := range d.resolve(object).Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// The places of an argument.
const (
	inPath  = "path"
	inQuery = "query"
	inBody  = "body"
)

const mediaJSON = "application/json"

// parameter is an argument of an operation.
type parameter struct {
	name   string
	in     string // inPath, inQuery, inBody
	schema *schema.Schema
	json   bool // in a query it is JSON text
	asked  bool // it must not be omitted; always true in a path
	rest   bool // in a path it matches all remaining segments

	partOf string // in a query: the struct argument that has this member; "" if it is a whole argument
}

// parameters returns the arguments of an operation, including the members of its body, in the order of its signature if
// the document has one. Two may have the same name: PUT /items/{sku} with an item that has a sku.
func (o *operation) parameters() (all []parameter) {
	for _, each := range o.Parameters {
		one := parameter{name: each.Name, in: each.In, schema: each.Schema, asked: each.Required && each.In != inPath,
			rest: each.Rest, partOf: each.PartOf}
		if media := each.Content[mediaJSON]; media != nil {
			one.schema, one.json = media.Schema, true
		}
		all = append(all, one)
	}
	d := schemas{o.document}
	if body := o.body(); body != nil {
		object := d.resolve(body)
		for _, name := range d.propertyNames(body) {
			all = append(all, parameter{name: name, in: inBody, schema: object.Properties[name],
				asked: slices.Contains(object.Required, name)})
		}
	}
	slices.SortStableFunc(all, func(a, b parameter) int {
		return cmp.Compare(o.rank(a), o.rank(b))
	})
	return all
}

// rank returns the position of an argument in the signature: "Add(x int, y int) (sum int)".
func (o *operation) rank(p parameter) int {
	for _, before := range []string{"(", ", "} {
		if at := strings.Index(o.Summary, before+cmp.Or(p.partOf, p.name)+" "); at >= 0 {
			return at
		}
	}
	return len(o.Summary)
}

// body returns the schema of the JSON body, or of the form; nil if the operation takes none.
func (o *operation) body() *schema.Schema {
	mediaType := cmp.Or(o.form(), mediaJSON)
	if o.RequestBody == nil || o.RequestBody.Content[mediaType] == nil {
		return nil
	}
	if schema := o.RequestBody.Content[mediaType].Schema; schema != nil {
		return schema
	}
	return &schema.Schema{}
}

// takesMembers reports whether the body is an object, whose members are arguments.
func (o *operation) takesMembers() bool {
	kind := schemas{o.document}.kind(o.body())
	return o.body() != nil && (kind == typeObject || kind == "")
}

// member returns the member of the body with a name; false if there is none. A body without described members has one
// of any name, unless it is the argument list of a method without arguments.
func (o *operation) member(name string) (parameter, bool) {
	body := o.body()
	if body == nil || o.isArguments(body) && len(schemas{o.document}.propertyNames(body)) == 0 {
		return parameter{}, false
	}
	schema, ok := schemas{o.document}.property(body, name)
	return parameter{name: name, in: inBody, schema: schema}, ok
}

// isArguments reports whether a schema is a list of arguments, or of results, which documents of the bus name after the
// method. It has only the members that it lists.
func (o *operation) isArguments(schema *schema.Schema) bool {
	name := schemas{o.document}.name(schema)
	return o.OperationID != "" && (name == o.OperationID+"_in" || name == o.OperationID+"_out")
}

// result returns the schema of a successful response, or of the elements of a stream; nil if the document has none.
func (o *operation) result() *schema.Schema {
	success := o.Responses["200"]
	if success == nil {
		return nil
	}
	for _, media := range []string{mediaJSON, restmap.NDJSON} {
		if content := success.Content[media]; content != nil {
			return content.Schema
		}
	}
	return nil
}

// streams reports whether a successful response is a stream.
func (o *operation) streams() bool {
	success := o.Responses["200"]
	return success != nil && success.Content[restmap.NDJSON] != nil
}

// parameterNames returns the names without duplicates.
func parameterNames(all []parameter) (names []string) {
	for _, each := range all {
		if !slices.Contains(names, each.name) {
			names = append(names, each.name)
		}
	}
	return names
}
