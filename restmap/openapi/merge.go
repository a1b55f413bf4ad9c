package openapi

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/busline/busline/reflectapi/schema"
	"github.com/busline/busline/restmap"
)

// Member is a document to be merged by [Merge].
type Member struct {
	Host     string // that published it: "calculator.example"
	Port     int    // on which it is published: 443
	Document *Document
}

// Merge returns one document for several services, with Info.Version "0" if it is empty, and a Description. Names that
// could clash get the member as a prefix: component Point becomes calculator.example_443_Point. A member can describe
// only itself: only paths under its own host and port are listed, and a reference to anything outside its document is
// replaced by a schema for any value.
func Merge(info Info, baseURL string, members []Member) *Document {
	info.Version = cmp.Or(info.Version, "0")
	info.Description = cmp.Or(info.Description, "The endpoints that the caller may call.")
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
	tag := Tag{Name: m.member.Host, Description: cmp.Or(m.member.Document.Info.Description, endpointsOf(m.member.Host))}
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
		merged[mediaType] = &MediaType{Schema: m.schema(media.Schema), Encoding: media.Encoding}
	}
	return merged
}

// schema returns a deep copy of a schema with references to the merged components.
func (m *merger) schema(s *schema.Schema) *schema.Schema {
	switch {
	case s == nil:
		return nil
	case s.Ref == "":
		return m.inside(s)
	case m.member.Document.Components.Schemas[reference(s)] == nil:
		return &schema.Schema{}
	default:
		return &schema.Schema{Ref: schemaPrefix + m.prefix + reference(s)}
	}
}

// inside is schema for a schema that is not a reference.
func (m *merger) inside(s *schema.Schema) *schema.Schema {
	merged := *s
	merged.Items = m.schema(s.Items)
	merged.AdditionalProperties = m.schema(s.AdditionalProperties)
	merged.Not = m.schema(s.Not)
	merged.AllOf, merged.AnyOf, merged.OneOf = m.schemas(s.AllOf), m.schemas(s.AnyOf), m.schemas(s.OneOf)
	if s.Properties != nil {
		merged.Properties = make(map[string]*schema.Schema)
		for name, property := range s.Properties {
			merged.Properties[name] = m.schema(property)
		}
	}
	if s.Discriminator != nil {
		merged.Discriminator = s.Discriminator.Referring(func(ref string) string {
			return cmp.Or(m.schema(&schema.Schema{Ref: ref}).Ref, ref)
		})
	}
	return &merged
}

func (m *merger) schemas(all []*schema.Schema) []*schema.Schema {
	var merged []*schema.Schema
	for _, one := range all {
		merged = append(merged, m.schema(one))
	}
	return merged
}

// names gives each endpoint of a document a unique name, in the characters allowed for components.
type names struct {
	of      map[*EndpointDoc]string
	methods map[methodOf]string // of endpoints that are listed under several
	used    map[string]bool
}

type methodOf struct {
	endpoint *EndpointDoc
	method   string
}

func newNames(endpoints []*EndpointDoc) *names {
	n := &names{of: make(map[*EndpointDoc]string), methods: make(map[methodOf]string), used: make(map[string]bool)}
	for _, endpoint := range endpoints {
		name := identifier(endpoint.Name)
		if n.used[name] && endpoint.Style == restmap.REST { // a method served in both styles
			name += "REST"
		}
		n.of[endpoint] = n.claim(name)
	}
	for _, endpoint := range endpoints {
		if endpoint.Web == nil {
			continue
		}
		for _, method := range endpoint.Web.Methods {
			n.methods[methodOf{endpoint, method}] = n.claim(n.of[endpoint] + "_" + method)
		}
	}
	return n
}

// ofMethod returns the name of an endpoint under one of several methods.
func (n *names) ofMethod(endpoint *EndpointDoc, method string) string {
	return n.methods[methodOf{endpoint, method}]
}

// claim returns an unused name: the wanted one, otherwise with a number from 2 appended.
func (n *names) claim(wanted string) string {
	name := freeName(wanted, n.used)
	n.used[name] = true
	return name
}

// freeName returns a name that is not in used: the wanted one, otherwise with a number from 2 appended.
func freeName[V any](wanted string, used map[string]V) string {
	name := wanted
	for i := 2; ; i++ {
		if _, ok := used[name]; !ok {
			return name
		}
		name = wanted + strconv.Itoa(i)
	}
}

// components returns the component names that the endpoints may use.
func (n *names) components() []string {
	var all []string
	for name := range n.used {
		all = append(all, name+"_in", name+"_out")
	}
	return all
}

// identifier converts a name to the characters that OpenAPI allows: Add stays Add, and "GET /files/{path+}" becomes
// GET_files_path.
func identifier(name string) string {
	words := strings.FieldsFunc(name, func(r rune) bool { return !allowed(r) })
	if len(words) == 0 {
		return "endpoint"
	}
	return strings.Join(words, "_")
}

// allowed reports whether the name of a component may contain a character.
//
// https://spec.openapis.org/oas/v3.0.0#components-object
func allowed(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' || r == '.' || r == '_'
}

// paths are the paths of a document under construction. OpenAPI distinguishes paths only by their shape: /a/{x} and
// /a/{y} are the same, and so are /a/{x} and /a/{x+}. Of two operations in the same place the more specific one is
// listed.
type paths struct {
	service Service
	items   map[string]*PathItem
	keys    map[string]string   // by shape
	names   map[string][]string // of the parameters of a key
}

// newPaths lists operations: more specific paths first, those for any method last.
func newPaths(service Service, all []listed) map[string]*PathItem {
	p := &paths{
		service: service,
		items:   make(map[string]*PathItem),
		keys:    make(map[string]string),
		names:   make(map[string][]string),
	}
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b listed) int {
		return cmp.Or(rank(a.method)-rank(b.method), a.endpoint.Path().Compare(b.endpoint.Path()))
	})
	for _, l := range sorted {
		p.list(l)
	}
	return p.items
}

func rank(method string) int {
	if method == restmap.AnyMethod {
		return 1
	}
	return 0
}

// list lists one operation under its path.
func (p *paths) list(l listed) {
	pattern := l.endpoint.Path()
	prefix := ""
	if !p.service.AtRoot {
		prefix = fmt.Sprintf("/%s:%d", p.service.Host, cmp.Or(l.endpoint.Port, p.service.Port))
	}
	path := prefix + strings.ReplaceAll(pattern.String(), "+}", "}")
	shape := CanonicalPath(path)
	key, known := p.keys[shape]
	if !known {
		key = path
		p.keys[shape], p.names[key], p.items[key] = key, pattern.Names(), new(PathItem)
	}
	markRest(l.operation, pattern)
	rename(l.operation, pattern.Names(), p.names[key])
	method, slot := p.items[key].free(l.method, l.operation.RequestBody != nil)
	if l.endpoint.Style == restmap.Web {
		l.operation.Summary = method + " " + pattern.String()
	}
	if *slot == nil {
		*slot = l.operation
	}
}

// Conflicts reports whether one endpoint of a port takes the place of another one in documents: they have one method,
// and paths that OpenAPI does not distinguish, such as /a/{x} and /a/{x+}, of which the first is more specific.
func Conflicts(one, other *restmap.Endpoint) bool {
	if !one.Path().SameShape(other.Path()) || one.Path().Compare(other.Path()) >= 0 {
		return false
	}
	method := listedMethod(one)
	return method != restmap.AnyMethod && method == listedMethod(other)
}

// free returns the slot of a method, or for any method the first free one; the first that has a body if the operation
// has one.
func (p *PathItem) free(method string, body bool) (string, **Operation) {
	if method != restmap.AnyMethod {
		return method, p.slot(method)
	}
	for _, method := range methods() {
		if slot := p.slot(method); *slot == nil && (!body || HasBody(method)) {
			return method, slot
		}
	}
	return "GET", &p.Get
}

// CanonicalPath returns a path without the names of its parameters: /a/{} for /a/{x} and for /a/{x+}.
func CanonicalPath(path string) string {
	var shape strings.Builder
	for {
		before, behind, found := strings.Cut(path, "{")
		shape.WriteString(before)
		if !found {
			return shape.String()
		}
		shape.WriteString("{}")
		_, path, _ = strings.Cut(behind, "}")
	}
}

// markRest marks the parameter that is {name+} in the pattern and {name} in the path of the document.
func markRest(operation *Operation, pattern restmap.Pattern) {
	for _, parameter := range operation.Parameters {
		whole := restmap.Segment{Name: parameter.Name, Rest: true}
		parameter.Rest = parameter.In == "path" && slices.Contains(pattern.Segments(), whole)
	}
}

// rename gives the parameters of a path the names in its key.
func rename(operation *Operation, from, to []string) {
	for _, parameter := range operation.Parameters {
		if i := slices.Index(from, parameter.Name); parameter.In == "path" && i >= 0 {
			parameter.Name = to[i]
		}
	}
}
