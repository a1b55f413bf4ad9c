package openapi

import (
	"slices"

	"github.com/busline/busline/reflectapi/schema"
)

// Filter returns a copy of the document with the operations for which keep returns true, and without what only the
// others used: empty paths, unused tags and unused schemas. It shares the operations with d. keep gets the key of the
// path and the method in capital letters; it must not change the operation.
func (d *Document) Filter(keep func(path, method string, operation *Operation) bool) *Document {
	filtered := *d
	filtered.Paths = make(map[string]*PathItem)
	var kept []*Operation
	for path, item := range d.Paths {
		rest := new(PathItem)
		for method, operation := range item.Operations() {
			if keep(path, method, operation) {
				*rest.slot(method) = operation
				kept = append(kept, operation)
			}
		}
		if *rest != (PathItem{}) {
			filtered.Paths[path] = rest
		}
	}
	filtered.Tags = usedTags(d.Tags, kept)
	filtered.Components = usedSchemas(d.Components, kept)
	filtered.nameScheme()
	return &filtered
}

// usedTags returns the tags of the operations.
func usedTags(tags []Tag, operations []*Operation) []Tag {
	used := make(map[string]bool)
	for _, operation := range operations {
		for _, name := range operation.Tags {
			used[name] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(tags), func(t Tag) bool { return !used[t.Name] })
}

// usedSchemas returns the components to which the operations refer, directly or indirectly.
func usedSchemas(all Components, operations []*Operation) Components {
	used := make(map[string]bool)
	var walk func(*schema.Schema)
	walk = func(s *schema.Schema) {
		if name := reference(s); name != "" && !used[name] {
			used[name] = true
			if component := all.Schemas[name]; component != nil {
				walk(component)
			}
		}
		for part := range inside(s) {
			walk(part)
		}
	}
	for _, operation := range operations {
		for schema := range schemasOf(operation) {
			walk(schema)
		}
	}
	var rest Components
	for name, schema := range all.Schemas {
		if used[name] {
			rest.add(name, schema)
		}
	}
	return rest
}

// bearerScheme is the only security scheme of the bus: a JWT.
const bearerScheme = "bearer"

// SecurityScheme says how callers authenticate.
type SecurityScheme struct {
	Type         string `json:"type"` // "http"
	Scheme       string `json:"scheme,omitempty"`
	BearerFormat string `json:"bearerFormat,omitempty"`
}

// security is the security requirement of an operation. Linters want one that needs no token to say so, too.
func security(token bool) []map[string][]string {
	if !token {
		return []map[string][]string{}
	}
	return []map[string][]string{{bearerScheme: {}}}
}

// secure replaces the security of a document by the bus's own: an operation needs a token or nothing, whatever its
// author calls that.
func (d *Document) secure() {
	for _, item := range d.Paths {
		for _, operation := range item.Operations() {
			operation.Security = security(len(operation.Security) > 0)
		}
	}
	d.nameScheme()
}

// nameScheme adds the security scheme to a document if one of its operations needs a token. It does not change
// operations.
func (d *Document) nameScheme() {
	d.Components.SecuritySchemes = nil
	for _, item := range d.Paths {
		for _, operation := range item.Operations() {
			if len(operation.Security) > 0 {
				d.Components.SecuritySchemes = map[string]*SecurityScheme{
					bearerScheme: {Type: "http", Scheme: "bearer", BearerFormat: "JWT"},
				}
				return
			}
		}
	}
}
