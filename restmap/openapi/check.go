package openapi

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/busline/busline/reflectapi/schema"
)

// check returns the first error in a document, as far as its author can make one in the members supported here.
// Defaults and examples are not checked.
func (d *Document) check() error {
	if err := d.checkHead(); err != nil {
		return err
	}
	for name, schema := range sorted(d.Components.Schemas) {
		if err := d.checkComponent(name, schema); err != nil {
			return fmt.Errorf("schema %q: %w", name, err)
		}
	}
	shapes := make(map[string]bool)
	ids := make(map[string]bool)
	for path, item := range sorted(d.Paths) {
		if shapes[CanonicalPath(path)] {
			return fmt.Errorf("path %q: is given twice", path)
		}
		shapes[CanonicalPath(path)] = true
		if err := d.checkPath(path, item, ids); err != nil {
			return fmt.Errorf("path %q: %w", path, err)
		}
	}
	return nil
}

// checkHead checks the members beside the paths.
func (d *Document) checkHead() error {
	switch {
	case !strings.HasPrefix(d.OpenAPI, "3.0."):
		return errors.New("its version is not 3.0")
	case d.Info.Title == "" || d.Info.Version == "":
		return errors.New("it has no title or no version")
	case slices.ContainsFunc(d.Servers, func(s Server) bool { return s.URL == "" || strings.ContainsAny(s.URL, "{}") }):
		return errors.New("it has a server without a plain URL")
	}
	tags := make(map[string]bool)
	for _, tag := range d.Tags {
		if tag.Name == "" || tags[tag.Name] {
			return fmt.Errorf("tag %q has no name, or is given twice", tag.Name)
		}
		tags[tag.Name] = true
	}
	return nil
}

// sorted yields the entries of a map in the order of their keys.
func sorted[V any](m map[string]V) func(yield func(string, V) bool) {
	return func(yield func(string, V) bool) {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			if !yield(key, m[key]) {
				return
			}
		}
	}
}

// checkPath checks a path and its operations, and adds their IDs to ids.
func (d *Document) checkPath(path string, item *PathItem, ids map[string]bool) error {
	if item == nil || !strings.HasPrefix(path, "/") {
		return errors.New("does not start with a slash, or is null")
	}
	parameters, err := templateNames(path)
	if err != nil {
		return err
	}
	for method, operation := range item.Operations() {
		if id := operation.OperationID; ids[id] {
			return fmt.Errorf("%s: operation %q is given twice", method, id)
		} else if id != "" {
			ids[id] = true
		}
		if err := d.checkOperation(operation, parameters); err != nil {
			return fmt.Errorf("%s: %w", method, err)
		}
	}
	return nil
}

// templateNames returns the names of the parameters in a path, sorted.
func templateNames(path string) ([]string, error) {
	var names []string
	for segment := range strings.SplitSeq(path, "/") {
		if !strings.ContainsAny(segment, "{}") {
			continue
		}
		name, opened := strings.CutPrefix(segment, "{")
		name, closed := strings.CutSuffix(name, "}")
		if !opened || !closed || name == "" || strings.ContainsAny(name, "{}:*") {
			return nil, fmt.Errorf("segment %q is not a parameter such as {id}", segment)
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return names, nil
}

// checkOperation checks an operation of a path with these parameters.
func (d *Document) checkOperation(o *Operation, inPath []string) error {
	if err := d.checkParameters(o.Parameters, inPath); err != nil {
		return err
	}
	if o.RequestBody != nil {
		if len(o.RequestBody.Content) == 0 {
			return errors.New("its request body has no content")
		}
		if err := d.checkContent(o.RequestBody.Content); err != nil {
			return fmt.Errorf("request body: %w", err)
		}
	}
	if len(o.Responses) == 0 {
		return errors.New("has no responses")
	}
	for status, response := range sorted(o.Responses) {
		if response == nil || !isStatus(status) {
			return fmt.Errorf("response %q: is null, or is not a status", status)
		}
		if err := d.checkContent(response.Content); err != nil {
			return fmt.Errorf("response %q: %w", status, err)
		}
	}
	return nil
}

// isStatus reports whether s is a key for responses: "200", "4XX", "default".
func isStatus(s string) bool {
	if s == "default" {
		return true
	}
	digits := strings.Trim(s[min(1, len(s)):], "0123456789") == ""
	return len(s) == 3 && s[0] >= '1' && s[0] <= '5' && (digits || s[1:] == "XX")
}

// checkParameters checks that the parameters are well-formed, and that path parameters and path agree.
func (d *Document) checkParameters(parameters []*Parameter, inPath []string) error {
	type place struct{ name, in string }
	seen := make(map[place]bool)
	var found []string
	for i, p := range parameters {
		if p == nil || p.Name == "" || !slices.Contains([]string{"path", "query", "header", "cookie"}, p.In) {
			return fmt.Errorf("parameter %d: has no name, or no place", i)
		}
		if seen[place{p.Name, p.In}] {
			return fmt.Errorf("parameter %q: is given twice", p.Name)
		}
		seen[place{p.Name, p.In}] = true
		if p.In == "path" {
			found = append(found, p.Name)
		}
		if err := d.checkParameter(p); err != nil {
			return fmt.Errorf("parameter %q: %w", p.Name, err)
		}
	}
	slices.Sort(found)
	if !slices.Equal(found, inPath) {
		return fmt.Errorf("describes the path parameters %q, but the path has %q", found, inPath)
	}
	return nil
}

func (d *Document) checkParameter(p *Parameter) error {
	switch {
	case p.In == "path" && !p.Required:
		return errors.New("is in the path, so it has to be required")
	case p.Schema != nil && len(p.Content) == 0:
		return d.checkSchema(p.Schema)
	case p.Schema == nil && len(p.Content) == 1:
		return d.checkContent(p.Content)
	default:
		return errors.New("needs either a schema or one content")
	}
}

func (d *Document) checkContent(content map[string]*MediaType) error {
	seen := make(map[string]bool) // content types are case-insensitive
	for mediaType, media := range sorted(content) {
		lower := strings.ToLower(mediaType)
		if media == nil || seen[lower] || strings.Contains(lower, ",") {
			return fmt.Errorf("content %q: is null, is not one content type, or is given twice", mediaType)
		}
		seen[lower] = true
		if media.Schema == nil {
			continue
		}
		if err := d.checkSchema(media.Schema); err != nil {
			return fmt.Errorf("content %q: %w", mediaType, err)
		}
	}
	return nil
}

// checkComponent checks a named schema, and that its references end: it may refer to another component, but not in a
// circle.
func (d *Document) checkComponent(name string, s *schema.Schema) error {
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return !allowed(r) }) {
		return errors.New("has a name with characters other than A-Z a-z 0-9 - . _")
	}
	if err := d.checkSchema(s); err != nil {
		return err
	}
	for range d.Components.Schemas {
		if s == nil || s.Ref == "" {
			return nil
		}
		s = d.Components.Schemas[reference(s)]
	}
	return errors.New("refers to itself")
}

// checkSchema checks a schema and all schemas in it.
func (d *Document) checkSchema(s *schema.Schema) error {
	if s == nil {
		return errors.New("is null")
	}
	if s.Ref != "" {
		if d.Components.Schemas[reference(s)] == nil {
			return fmt.Errorf("refers to %q, which is not in the document", s.Ref)
		}
		return nil
	}
	if err := checkKeywords(s); err != nil {
		return err
	}
	for name, property := range sorted(s.Properties) {
		if err := d.checkSchema(property); err != nil {
			return fmt.Errorf("property %q: %w", name, err)
		}
	}
	for _, one := range slices.Concat(s.AllOf, s.AnyOf, s.OneOf) {
		if err := d.checkSchema(one); err != nil {
			return err
		}
	}
	for _, one := range []*schema.Schema{s.Items, s.AdditionalProperties, s.Not} {
		if one == nil {
			continue
		}
		if err := d.checkSchema(one); err != nil {
			return err
		}
	}
	return nil
}

// checkKeywords checks the keywords of a schema itself.
func checkKeywords(s *schema.Schema) error {
	switch s.Type {
	case "", "string", "number", "integer", "boolean", "object":
	case "array":
		if s.Items == nil {
			return errors.New("is an array without items")
		}
	default:
		return fmt.Errorf("has the unknown type %q", s.Type)
	}
	if s.ReadOnly && s.WriteOnly {
		return errors.New("is both read-only and write-only")
	}
	required := slices.Sorted(slices.Values(s.Required))
	if len(slices.Compact(required)) < len(s.Required) {
		return errors.New("requires a property twice")
	}
	if err := schema.CheckPattern(s.Pattern); err != nil {
		return fmt.Errorf("has the pattern %q, which %w", s.Pattern, err)
	}
	return nil
}
