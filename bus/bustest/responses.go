package bustest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/busline/busline/bus/internal/testbroker"
	"github.com/busline/busline/restmap"
)

// responseCheck holds the responses of functions against their OpenAPI documents.
type responseCheck struct {
	t testing.TB

	mu        sync.Mutex         // protects all below
	documents map[any]*described // by endpoint
	reported  map[[2]string]bool // endpoint and mistake
}

// newResponseCheck returns nil for a benchmark, which measures calls.
func newResponseCheck(t testing.TB) *responseCheck {
	t.Helper()
	if _, isBenchmark := t.(*testing.B); isBenchmark {
		return nil
	}
	return &responseCheck{t: Reporter(t), documents: map[any]*described{}, reported: map[[2]string]bool{}}
}

// mistake is one way in which a response does not fit.
type mistake struct {
	kind   string // equal for mistakes that are reported once
	what   string // "items[0].price: got null, want number"
	remedy string
}

// check fails the test for each new mistake of a response.
func (c *responseCheck) check(response *testbroker.Response) {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	of := c.documents[response.Key]
	if of == nil {
		of = describe(response.Document)
		c.documents[response.Key] = of
	}
	for _, found := range of.mistakes(response) {
		key := [2]string{response.Endpoint, found.kind}
		if c.reported[key] {
			continue
		}
		c.reported[key] = true
		c.t.Errorf("bustest: %s answered %d, which does not fit its OpenAPI document: %s\n%s; "+
			"b.AllowWrongResponses() turns this check off\nthe body is %s",
			response.Endpoint, response.Status, found.what, found.remedy, shortened(response.Body))
	}
}

func shortened(body []byte) string {
	const most = 300
	if len(body) == 0 {
		return "empty"
	}
	if len(body) > most {
		return strings.ToValidUTF8(string(body[:most]), "") + "…"
	}
	return string(body)
}

// described is the document of one endpoint.
type described struct {
	err       error
	place     string         // of the responses, a JSON pointer
	responses map[string]any // by status, and "default"
	compiler  *jsonschema.Compiler
	schemas   map[string]*jsonschema.Schema // by their place
}

// documentURL names the document for the compiler, which loads nothing.
const documentURL = "https://bustest.invalid/openapi.json"

// describe reads a document with one operation.
func describe(document func() ([]byte, error)) *described {
	text, err := document()
	if err != nil {
		return &described{err: err}
	}
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return &described{err: err}
	}
	d := &described{compiler: jsonschema.NewCompiler(), schemas: make(map[string]*jsonschema.Schema)}
	root, _ := parsed.(map[string]any)
	paths, _ := root["paths"].(map[string]any)
	for path, item := range paths {
		operations, _ := item.(map[string]any)
		for method, operation := range operations {
			said, _ := operation.(map[string]any)
			d.place = pointer("paths", path, method, "responses")
			d.responses, _ = said["responses"].(map[string]any)
		}
	}
	d.compiler.DefaultDraft(jsonschema.Draft4) // the nearest to OpenAPI 3.0
	d.err = d.compiler.AddResource(documentURL, allowingNull(parsed))
	return d
}

// pointer makes a JSON pointer.
func pointer(parts ...string) string {
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	var text strings.Builder
	for _, part := range parts {
		text.WriteString("/" + escape.Replace(part))
	}
	return text.String()
}

// allowingNull turns nullable, which JSON Schema does not have, into null among the types.
func allowingNull(document any) any {
	switch v := document.(type) {
	case []any:
		for i := range v {
			v[i] = allowingNull(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = allowingNull(v[name])
		}
		typ, isType := v["type"].(string)
		nullable, _ := v["nullable"].(bool)
		if !nullable || !isType {
			return v
		}
		delete(v, "nullable")
		if v["allOf"] != nil || v["anyOf"] != nil || v["oneOf"] != nil {
			return map[string]any{"anyOf": []any{map[string]any{"enum": []any{nil}}, v}}
		}
		v["type"] = []any{typ, "null"}
	}
	return document
}

// mistakes returns the ways in which a response does not fit.
func (d *described) mistakes(response *testbroker.Response) []mistake {
	if d.err != nil {
		return []mistake{{kind: "document", what: "there is none: " + d.err.Error(), remedy: "mend the types of the method"}}
	}
	status := strconv.Itoa(response.Status)
	listed, isListed := d.responses[status].(map[string]any)
	if !isListed {
		status = "default"
		listed, _ = d.responses[status].(map[string]any)
	}
	content, _ := listed["content"].(map[string]any)
	mediaType, _, _ := strings.Cut(response.ContentType, ";")
	_, described := content[mediaType]
	withoutBody := len(response.Body) == 0 && mediaType == ""
	switch {
	case withoutBody && (len(content) == 0 || !isListed && content["application/json"] != nil):
		return nil
	case !described && !isListed && response.Status < http.StatusBadRequest:
		return []mistake{{status, "it has no such status, but " + d.successes(),
			"return one of these, or declare this one in the interface with //busline:status"}}
	case !described:
		return []mistake{{status + mediaType, fmt.Sprintf("its media type is %q there and %q here",
			strings.Join(slices.Sorted(maps.Keys(content)), " or "), mediaType),
			"let the interceptor that makes this response return what the document says"}}
	}
	broken, err := d.brokenIn(d.place+pointer(status, "content", mediaType, "schema"), mediaType, response.Body)
	if err != nil {
		return []mistake{{status, err.Error(), "mend what writes this type or this response"}}
	}
	remedy := "return what the type says, or mend the type, its json and jsonschema tags or the directives of the method"
	if response.Status >= http.StatusBadRequest {
		remedy = "return a problem that the method declares for this status, or declare this one with //busline:problem"
	}
	var found []mistake
	for _, each := range broken {
		found = append(found, mistake{status + each.kind, each.what, remedy})
	}
	return found
}

// successes lists the statuses in the document that are not errors.
func (d *described) successes() string {
	var statuses []string
	for _, status := range slices.Sorted(maps.Keys(d.responses)) {
		if status < "400" {
			statuses = append(statuses, status)
		}
	}
	return strings.Join(statuses, ", ")
}

// brokenIn returns what a schema says against a body, or against each line of a stream. That of events is not checked.
func (d *described) brokenIn(place, mediaType string, body []byte) (found []mistake, err error) {
	switch mediaType {
	case restmap.EventStream:
		return nil, nil
	case restmap.NDJSON:
		n := 0
		for line := range bytes.Lines(body) {
			n++
			broken, err := d.broken(place, line)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", n, err)
			}
			for _, each := range broken {
				each.what = fmt.Sprintf("line %d: %s", n, each.what)
				found = append(found, each)
			}
		}
		return found, nil
	default:
		return d.broken(place, body)
	}
}

// broken returns what a schema says against a body.
func (d *described) broken(place string, body []byte) (found []mistake, err error) {
	schema := d.schemas[place]
	if schema == nil {
		if schema, err = d.compiler.Compile(documentURL + "#" + strings.ReplaceAll(place, "%", "%25")); err != nil {
			return nil, err
		}
		d.schemas[place] = schema
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("it is no JSON: %w", err)
	}
	if invalid, ok := errors.AsType[*jsonschema.ValidationError](schema.Validate(value)); ok {
		found = leaves(invalid, value, nil)
		slices.SortFunc(found, func(a, b mistake) int { return strings.Compare(a.what, b.what) })
	}
	return found, nil
}

// leaves returns the innermost causes of an error. That no alternative fits is one cause.
func leaves(e *jsonschema.ValidationError, body any, found []mistake) []mistake {
	detail := e.ErrorKind.LocalizedString(message.NewPrinter(language.English))
	switch e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf:
		var inner []string
		for _, cause := range e.Causes {
			for _, each := range leaves(cause, body, nil) {
				inner = append(inner, each.what)
			}
		}
		detail = "fits none of the alternatives: " + strings.Join(inner, "; ")
		if len(inner) == 0 {
			detail = "fits more than one of the alternatives"
		}
	default:
		for _, cause := range e.Causes {
			found = leaves(cause, body, found)
		}
		if len(e.Causes) > 0 {
			return found
		}
	}
	place, general := memberPath(e.InstanceLocation, body)
	return append(found, mistake{
		kind: fmt.Sprint(general, e.SchemaURL, e.ErrorKind.KeywordPath()),
		what: cmp.Or(place, "the body") + ": " + detail,
	})
}

// memberPath returns the path of a member, "items[0].price", and the same for all elements of an array,
// "items[].price".
func memberPath(location []string, body any) (path, general string) {
	for _, part := range location {
		switch v := body.(type) {
		case []any:
			path, general = path+"["+part+"]", general+"[]"
			if i, err := strconv.Atoi(part); err == nil && i < len(v) {
				body = v[i]
			}
		case map[string]any:
			path, general, body = path+"."+part, general+"."+part, v[part]
		}
	}
	return strings.TrimPrefix(path, "."), strings.TrimPrefix(general, ".")
}
