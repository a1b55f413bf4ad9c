package openapi

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/busline/busline/reflectapi"
)

// Member is a document to be merged by [Merge].
type Member struct {
	Host     string // that published it: "calculator.example"
	Port     int    // on which it is published: 443
	Document *Document
}

// Merge returns one document for several services, with Info.Version "0" if it is empty. Names that could clash get the
// member as a prefix: component Point becomes calculator.example_443_Point. A member can describe only itself: only
// paths under its own host and port are listed, and a reference to anything outside its document is replaced by a
// schema for any value.
func Merge(info Info, baseURL string, members []Member) *Document {
	info.Version = cmp.Or(info.Version, "0")
	d := &Document{OpenAPI: Version, Info: info, Servers: servers(baseURL), Paths: make(map[string]*PathItem)}
	members = slices.Clone(members)
	slices.SortFunc(members, func(a, b Member) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Port, b.Port))
	})
	for _, member := range members {
		if member.Document != nil {
			m := merger{into: d, member: member, prefix: fmt.Sprintf("%s_%d_", member.Host, member.Port)}
			m.merge()
		}
	}
	d.secure()
	return d
}

// merger merges one member into a document.
type merger struct {
	into   *Document
	member Member
	prefix string // "calculator.example_443_"
}

func (m *merger) merge() {
	listed := false
	own := fmt.Sprintf("/%s:%d/", m.member.Host, m.member.Port)
	for path, item := range m.member.Document.Paths {
		if strings.HasPrefix(path, own) {
			m.into.Paths[path] = m.pathItem(item)
			listed = true
		}
	}
	if !listed {
		return
	}
	for name, schema := range m.member.Document.Components.Schemas {
		m.into.Components.add(m.prefix+name, m.schema(schema))
	}
	tag := Tag{Name: m.member.Host, Description: m.member.Document.Info.Description}
	if last := len(m.into.Tags) - 1; last < 0 || m.into.Tags[last].Name != tag.Name {
		m.into.Tags = append(m.into.Tags, tag)
	}
}

func (m *merger) pathItem(item *PathItem) *PathItem {
	merged := new(PathItem)
	for method, operation := range item.Operations() {
		*merged.slot(method) = m.operation(operation)
	}
	return merged
}

func (m *merger) operation(o *Operation) *Operation {
	merged := *o
	merged.Tags = []string{m.member.Host}
	if o.OperationID != "" {
		merged.OperationID = m.prefix + o.OperationID
	}
	merged.Parameters = nil
	for _, parameter := range o.Parameters {
		p := *parameter
		p.Schema, p.Content = m.schema(p.Schema), m.content(p.Content)
		merged.Parameters = append(merged.Parameters, &p)
	}
	if o.RequestBody != nil {
		merged.RequestBody = &RequestBody{Required: o.RequestBody.Required, Content: m.content(o.RequestBody.Content)}
	}
	merged.Responses = make(map[string]*Response)
	for status, response := range o.Responses {
		merged.Responses[status] = &Response{Description: response.Description, Content: m.content(response.Content)}
	}
	return &merged
}

func (m *merger) content(content map[string]*MediaType) map[string]*MediaType {
	if content == nil {
		return nil
	}
	merged := make(map[string]*MediaType)
	for mediaType, media := range content {
		merged[mediaType] = &MediaType{Schema: m.schema(media.Schema)}
	}
	return merged
}

// schema returns a deep copy of a schema with references to the merged components.
func (m *merger) schema(s *reflectapi.Schema) *reflectapi.Schema {
	switch {
	case s == nil:
		return nil
	case s.Ref == "":
		return m.inside(s)
	case m.member.Document.Components.Schemas[reference(s)] == nil:
		return &reflectapi.Schema{Nullable: true}
	default:
		return &reflectapi.Schema{Ref: schemaPrefix + m.prefix + reference(s)}
	}
}

// inside is schema for a schema that is not a reference.
func (m *merger) inside(s *reflectapi.Schema) *reflectapi.Schema {
	merged := *s
	merged.Items = m.schema(s.Items)
	merged.AdditionalProperties = m.schema(s.AdditionalProperties)
	merged.Not = m.schema(s.Not)
	merged.AllOf, merged.AnyOf, merged.OneOf = m.schemas(s.AllOf), m.schemas(s.AnyOf), m.schemas(s.OneOf)
	if s.Properties != nil {
		merged.Properties = make(map[string]*reflectapi.Schema)
		for name, property := range s.Properties {
			merged.Properties[name] = m.schema(property)
		}
	}
	return &merged
}

func (m *merger) schemas(all []*reflectapi.Schema) []*reflectapi.Schema {
	var merged []*reflectapi.Schema
	for _, one := range all {
		merged = append(merged, m.schema(one))
	}
	return merged
}
