package openapi

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

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
