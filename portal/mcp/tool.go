package mcp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/busline/busline/reflectapi/schema"
	"github.com/busline/busline/reflectapi/strictjson"
	"github.com/busline/busline/restmap/jsonschema"
	"github.com/busline/busline/restmap/openapi"
)

// tool is a function that an agent may call.
type tool struct {
	name         string // "payments_pay"
	host         string // "payments.example"
	method, path string // "POST", "/pay"
	operation    *openapi.Operation
	components   map[string]*schema.Schema // of the document
	described    sync.Once
	plan         toolPlan // made when it is needed, as most tools of many are not
}

// toolPlan is what the calls and the description of a tool need.
type toolPlan struct {
	in         *openapi.Input
	out        output
	stopAfter  string // the argument that ends a stream, "" if the function does not stream
	definition *sdk.Tool
	err        error
}

// output is what a tool returns.
type output struct {
	schema  *schema.Schema // of an object
	wrapped bool           // the result is a member of the object
	streams bool
}

// Members of what a tool returns if the function returns no object.
const (
	resultMember    = "result"
	elementsMember  = "elements"
	truncatedMember = "truncated"
)

// planned returns the plan.
func (t *tool) planned() *toolPlan {
	t.described.Do(func() {
		p := &t.plan
		p.in = openapi.InputOf(t.method, t.operation, t.components)
		p.out = t.output()
		if p.out.streams {
			p.stopAfter = "stopAfter"
			if p.in.Object.Properties[p.stopAfter] != nil {
				p.stopAfter = "streamStopAfter"
			}
			p.in.Object.Properties[p.stopAfter] = &schema.Schema{Type: "integer", Minimum: "1",
				Description: "ends the stream after so many elements"}
		}
		p.define(t)
	})
	return &t.plan
}

// definition describes the tool to agents.
func (t *tool) definition() (*sdk.Tool, error) {
	plan := t.planned()
	return plan.definition, plan.err
}

func (p *toolPlan) define(t *tool) {
	local := localizer{components: t.components, prefix: t.host + strings.ReplaceAll(publicPort, ":", "_") + "_"}
	in, err := local.standalone(p.in.Object)
	if err != nil {
		p.err = fmt.Errorf("the arguments of %s: %w", t.name, err)
		return
	}
	out, err := local.standalone(p.out.schema)
	if err != nil {
		p.err = fmt.Errorf("the result of %s: %w", t.name, err)
		return
	}
	p.definition = &sdk.Tool{Name: t.name, Title: t.title(), Description: t.description(p.stopAfter), InputSchema: in,
		OutputSchema: out, Annotations: t.annotations()}
}

// title names the tool for people: "Pay of payments.example".
func (t *tool) title() string {
	if own := t.operation.Tool; own != nil && own.Title != "" {
		return own.Title
	}
	name := strings.ReplaceAll(t.id(), "_", " ")
	first, size := utf8.DecodeRuneInString(name)
	return string(unicode.ToUpper(first)) + name[size:] + " of " + t.host
}

// description is the comment of the function, and what is special about it.
func (t *tool) description(stopAfter string) string {
	said := t.operation.Description
	if t.operation.Deprecated && !strings.Contains(said, "Deprecated:") {
		said += "\n\nDeprecated: use another function."
	}
	if stopAfter != "" {
		said += "\n\nStreams its results, maybe without an end: each comes as progress, and all at once in the end. " +
			stopAfter + " ends it earlier."
	}
	return said
}

// summary is the first sentence of the description.
func (t *tool) summary() string {
	line, _, _ := strings.Cut(strings.Join(strings.Fields(t.operation.Description), " "), ". ")
	const longest = 120
	if runes := []rune(line); len(runes) > longest {
		line = string(runes[:longest]) + "…"
	}
	return strings.TrimSuffix(line, ".")
}

// annotations say what the HTTP method promises (RFC 9110, 9.2), unless the function says more. What neither does is
// the default of the protocol.
func (t *tool) annotations() *sdk.ToolAnnotations {
	destructive, open := true, true
	hints := &sdk.ToolAnnotations{DestructiveHint: &destructive, OpenWorldHint: &open}
	switch t.method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		destructive, hints.ReadOnlyHint, hints.IdempotentHint = false, true, true
	case http.MethodPut, http.MethodDelete:
		hints.IdempotentHint = true
	}
	own := t.operation.Tool
	if own == nil {
		return hints
	}
	if own.ReadOnly != nil {
		hints.ReadOnlyHint, destructive = *own.ReadOnly, !*own.ReadOnly
	}
	destructive, open = *cmp.Or(own.Destructive, &destructive), *cmp.Or(own.OpenWorld, &open)
	hints.IdempotentHint = *cmp.Or(own.Idempotent, &hints.IdempotentHint)
	return hints
}

// output returns what the tool returns.
func (t *tool) output() output {
	var results []*schema.Schema
	mayBeEmpty := false
	for _, content := range t.operation.Successes() {
		result, streams := openapi.ResultOf(content)
		switch {
		case streams:
			return output{schema: streamed(result), streams: true}
		case result == nil:
			mayBeEmpty = true
		case len(results) == 0 || !reflect.DeepEqual(results[len(results)-1], result):
			results = append(results, result)
		}
	}
	switch {
	case len(results) == 0:
		return output{schema: &schema.Schema{Type: "object"}}
	case len(results) > 1:
		return output{schema: wrapped(&schema.Schema{AnyOf: results}, mayBeEmpty), wrapped: true}
	}
	object := t.resolve(results[0])
	if object.Type != "object" || object.Nullable {
		return output{schema: wrapped(results[0], mayBeEmpty), wrapped: true}
	}
	if mayBeEmpty {
		optional := *object
		optional.Required = nil
		object = &optional
	}
	return output{schema: object}
}

// resolve returns the component to which a schema refers, or the schema.
func (t *tool) resolve(s *schema.Schema) *schema.Schema {
	for range len(t.components) {
		name, isReference := strings.CutPrefix(s.Ref, jsonschema.Prefix)
		if !isReference || t.components[name] == nil {
			break
		}
		s = t.components[name]
	}
	return s
}

func wrapped(result *schema.Schema, mayBeEmpty bool) *schema.Schema {
	object := &schema.Schema{Type: "object", Properties: map[string]*schema.Schema{resultMember: result}}
	if !mayBeEmpty {
		object.Required = []string{resultMember}
	}
	return object
}

func streamed(element *schema.Schema) *schema.Schema {
	return &schema.Schema{Type: "object", Required: []string{elementsMember}, Properties: map[string]*schema.Schema{
		elementsMember:  {Type: "array", Items: element},
		truncatedMember: {Type: "boolean", Description: "the stream was ended, and may have had more elements"},
	}}
}

// localizer makes schemas that refer to nothing outside.
type localizer struct {
	components map[string]*schema.Schema
	prefix     string // of the names of components: "payments.example_443_"
}

// standalone returns a schema in the notation of JSON Schema 2020-12, with all to which it refers inside.
func (l *localizer) standalone(from *schema.Schema) (json.RawMessage, error) {
	const local = "#/$defs/"
	inside := make(map[string]*jsonschema.Schema)
	var localize func(s *jsonschema.Schema)
	localize = func(s *jsonschema.Schema) {
		s.Discriminator = nil // is a word of OpenAPI: the variants have a constant
		component := s.Component()
		if component == "" {
			return
		}
		name := strings.TrimPrefix(component, l.prefix)
		s.Ref = local + name
		if _, known := inside[name]; !known {
			inside[name] = nil // ends circles
			inside[name] = jsonschema.Of(cmp.Or(l.components[component], &schema.Schema{})).Derive(localize)
		}
	}
	alone := jsonschema.Of(from).Derive(localize)
	if len(inside) > 0 {
		alone.Defs = inside
	}
	return strictjson.Marshal(alone)
}
