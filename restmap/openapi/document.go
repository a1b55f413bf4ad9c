package openapi

import (
	"errors"
	"fmt"
	"iter"
	"net/url"
	"strings"

	"github.com/busline/busline/reflectapi"
	"github.com/busline/busline/reflectapi/schema"
	"github.com/busline/busline/reflectapi/strictjson"
)

// Version is the OpenAPI version of the documents.
const Version = "3.0.0"

// Document is an OpenAPI 3.0.0 document: https://spec.openapis.org/oas/v3.0.0. It has the members that services of the
// bus use.
type Document struct {
	OpenAPI    string               `json:"openapi"` // Version
	Info       Info                 `json:"info"`
	Servers    []Server             `json:"servers,omitempty"`
	Tags       []Tag                `json:"tags,omitempty"`
	Paths      map[string]*PathItem `json:"paths"` // "/calculator.example:443/add"
	Components Components           `json:"components,omitzero"`
}

// Info describes the service.
type Info struct {
	Title       string `json:"title"` // the host
	Description string `json:"description,omitempty"`
	Version     string `json:"version"` // of the service, never empty

	// LeftOut says of a document of several services, one sentence each, what is not in it and why, for programs.
	LeftOut []string `json:"x-left-out,omitempty"`
}

// Server is an address of the paths.
type Server struct {
	URL string `json:"url"`
}

// Tag is a group of operations: a host.
type Tag struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// PathItem holds the operations of one path, nil for methods without one.
type PathItem struct {
	Get     *Operation `json:"get,omitempty"`
	Put     *Operation `json:"put,omitempty"`
	Post    *Operation `json:"post,omitempty"`
	Delete  *Operation `json:"delete,omitempty"`
	Options *Operation `json:"options,omitempty"`
	Head    *Operation `json:"head,omitempty"`
	Patch   *Operation `json:"patch,omitempty"`
	Trace   *Operation `json:"trace,omitempty"`
}

// Operation describes one endpoint under one method.
type Operation struct {
	Tags        []string             `json:"tags,omitempty"` // the host
	Summary     string               `json:"summary,omitempty"`
	Description string               `json:"description,omitempty"`
	OperationID string               `json:"operationId,omitempty"`
	Parameters  []*Parameter         `json:"parameters,omitempty"`
	RequestBody *RequestBody         `json:"requestBody,omitempty"`
	Responses   map[string]*Response `json:"responses"` // "200", "default"
	Deprecated  bool                 `json:"deprecated,omitempty"`

	Tool *reflectapi.Tool `json:"x-tool,omitempty"` // what agents are told

	Security []map[string][]string `json:"security,omitzero"` // [{"bearer":[]}] if calls need a token, else []

	// Callers are the hosts of the services that may call, "*.billing.example" for all below; none if all may.
	Callers []string `json:"x-callers,omitempty"`

	// Claims is the rule that the claims of a caller's token must satisfy, in documents that only the authors of a
	// service see. No caller sees it: Parse removes it.
	Claims string `json:"x-claims,omitempty"`

	// Also are the other HTTP methods under which the endpoint is served, ["GET"], or ["*"] for any, in documents that
	// only the authors of a service see. Parse removes them.
	Also []string `json:"x-also,omitempty"`

	// Stored says of an event that it is stored for its subscribers, in documents that only the authors of a source see.
	// Parse removes it.
	Stored bool `json:"x-stored,omitempty"`
}

// Parameter is an argument in the path or the query.
type Parameter struct {
	Name     string                `json:"name"`
	In       string                `json:"in"` // "path" or "query"
	Required bool                  `json:"required,omitempty"`
	Schema   *schema.Schema        `json:"schema,omitempty"`  // one of these two
	Content  map[string]*MediaType `json:"content,omitempty"` // for a value given as JSON text

	// Description and Deprecated are said by services that describe themselves: Build says them in the schema.
	Description string `json:"description,omitempty"`
	Deprecated  bool   `json:"deprecated,omitempty"`

	// Rest says that the last parameter of a path matches all remaining segments: {path+}, which OpenAPI cannot
	// express.
	Rest bool `json:"x-rest,omitempty"`

	// PartOf is the struct argument of which a member is given here: the full name is that of both, "filter.text".
	PartOf string `json:"x-part-of,omitempty"`
}

// RequestBody is the body of a request.
type RequestBody struct {
	Required bool                  `json:"required,omitempty"`
	Content  map[string]*MediaType `json:"content"`
}

// Response describes the responses with one status.
type Response struct {
	Description string                `json:"description"`
	Content     map[string]*MediaType `json:"content,omitempty"`
}

// MediaType describes a body of one content type.
type MediaType struct {
	Schema   *schema.Schema       `json:"schema,omitempty"`
	Encoding map[string]*Encoding `json:"encoding,omitempty"` // of the parts of a form, by name
}

// Encoding describes a part of a form.
type Encoding struct {
	ContentType string `json:"contentType,omitempty"` // of a file, "image/png, image/jpeg"
}

// Components holds the schemas for references, and the security schemes.
type Components struct {
	Schemas         map[string]*schema.Schema  `json:"schemas,omitempty"`
	SecuritySchemes map[string]*SecurityScheme `json:"securitySchemes,omitempty"`
}

// add adds a schema.
func (c *Components) add(name string, added *schema.Schema) {
	if c.Schemas == nil {
		c.Schemas = make(map[string]*schema.Schema)
	}
	c.Schemas[name] = added
}

// methods are the HTTP methods in OpenAPI. An endpoint for any method is listed under the first of these that is free.
func methods() []string {
	return []string{"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD", "TRACE"}
}

// slot returns the field for the operation of a method, nil for a method that OpenAPI does not have.
func (p *PathItem) slot(method string) **Operation {
	switch method {
	case "GET":
		return &p.Get
	case "POST":
		return &p.Post
	case "PUT":
		return &p.Put
	case "PATCH":
		return &p.Patch
	case "DELETE":
		return &p.Delete
	case "OPTIONS":
		return &p.Options
	case "HEAD":
		return &p.Head
	case "TRACE":
		return &p.Trace
	default:
		return nil
	}
}

// Operations yields the operations of a path by HTTP method, "GET" first.
func (p *PathItem) Operations() iter.Seq2[string, *Operation] {
	return func(yield func(string, *Operation) bool) {
		for _, method := range methods() {
			if operation := *p.slot(method); operation != nil && !yield(method, operation) {
				return
			}
		}
	}
}

// Parse parses a document that a service has published, and checks it as far as merging, filtering and showing it need.
// Members that [Document] does not have are left out, and so is what only the authors may see.
func Parse(data []byte) (*Document, error) {
	d, err := ParseWithExtensions(data)
	if err != nil {
		return nil, err
	}
	for _, item := range d.Paths {
		for _, operation := range item.Operations() {
			operation.Claims, operation.Also, operation.Stored = "", nil, false
		}
	}
	return d, nil
}

// ParseWithExtensions is Parse for a document that only the authors of a service see; it keeps what Parse leaves out.
func ParseWithExtensions(data []byte) (*Document, error) {
	d := new(Document)
	if err := strictjson.Unmarshal(data, d); err != nil {
		return nil, fmt.Errorf("OpenAPI document: %w", err)
	}
	if err := d.check(); err != nil {
		return nil, fmt.Errorf("OpenAPI document: %w", err)
	}
	d.secure()
	return d, nil
}

// JSON returns the document as JSON, the same bytes for equal documents.
func (d *Document) JSON() ([]byte, error) {
	data, err := strictjson.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("OpenAPI document: %w", err)
	}
	return data, nil
}

// CheckBaseURL returns an error unless baseURL can be the URL of a document's server, to which its paths are appended.
// "" is valid.
func CheckBaseURL(baseURL string) error {
	if baseURL == "" {
		return nil
	}
	parsed, err := url.Parse(baseURL)
	if err != nil || (parsed.Scheme != "http" && parsed.Scheme != "https") || parsed.Host == "" ||
		strings.ContainsAny(baseURL, "?#") {
		return fmt.Errorf("%q is not an address such as https://api.example.com", baseURL)
	}
	if parsed.User != nil { // not to be shown in this error, either
		return errors.New("it has a login, which all documents would show: leave it out")
	}
	return nil
}
