// Package openapi31 says in OpenAPI 3.1 what a document of package openapi says in 3.0.0, and adds what is published.
//
//	Convert   an openapi.Document, and Events → Document
//	IsWanted  the query of a request          → whether it asks for 3.1
package openapi31

import (
	"fmt"
	"net/url"

	"github.com/busline/busline/reflectapi/strictjson"
	"github.com/busline/busline/restmap/jsonschema"
	"github.com/busline/busline/restmap/openapi"
)

// Version is the OpenAPI version of the documents.
const Version = "3.1.2"

// IsWanted reports whether the query of a request for a document asks for OpenAPI 3.1: version=3.1. Without a version,
// and for version=3.0, it does not. The error of any other version names those that there are.
func IsWanted(query url.Values) (bool, error) {
	versions, isGiven := query["version"]
	switch {
	case !isGiven:
		return false, nil
	case len(versions) > 1:
		return false, fmt.Errorf("version is given %d times: give it once, %s", len(versions), choices)
	}
	return IsVersion(versions[0])
}

// choices are the versions that there are.
const choices = "as 3.0 or 3.1"

// IsVersion reports whether a text is 3.1, and not 3.0. The error of any other text names both.
func IsVersion(text string) (bool, error) {
	switch text {
	case "3.0":
		return false, nil
	case "3.1":
		return true, nil
	default:
		return false, fmt.Errorf("there is no OpenAPI document of version %.40q: give it %s", text, choices)
	}
}

// Document is an OpenAPI 3.1 document: https://spec.openapis.org/oas/v3.1.2. It has the members that documents of
// package openapi have, and webhooks.
type Document struct {
	OpenAPI    string              `json:"openapi"` // Version
	Info       openapi.Info        `json:"info"`
	Servers    []openapi.Server    `json:"servers,omitempty"`
	Tags       []openapi.Tag       `json:"tags,omitempty"`
	Paths      map[string]PathItem `json:"paths"`
	Webhooks   map[string]PathItem `json:"webhooks,omitempty"` // "on-ordered", "orders.example/on-ordered"
	Components Components          `json:"components,omitzero"`
}

// PathItem holds the operations of one path by method, "post".
type PathItem map[string]*Operation

// Operation is an operation whose schemas are those of JSON Schema: its members replace those of the other one.
type Operation struct {
	*openapi.Operation

	Parameters  []*Parameter         `json:"parameters,omitempty"`
	RequestBody *RequestBody         `json:"requestBody,omitempty"`
	Responses   map[string]*Response `json:"responses"`
}

// Parameter is an argument in the path or the query.
type Parameter struct {
	*openapi.Parameter

	Schema  *jsonschema.Schema    `json:"schema,omitempty"` // one of these two
	Content map[string]*MediaType `json:"content,omitempty"`
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
	Schema   *jsonschema.Schema           `json:"schema,omitempty"`
	Encoding map[string]*openapi.Encoding `json:"encoding,omitempty"`
}

// Components holds the schemas for references, and the security schemes.
type Components struct {
	Schemas         map[string]*jsonschema.Schema      `json:"schemas,omitempty"`
	SecuritySchemes map[string]*openapi.SecurityScheme `json:"securitySchemes,omitempty"`
}

// JSON returns the document as JSON, the same bytes for equal documents.
func (d *Document) JSON() ([]byte, error) {
	data, err := strictjson.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("OpenAPI 3.1 document: %w", err)
	}
	return data, nil
}
