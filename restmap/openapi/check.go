package openapi

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
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
		if shapes[ShapeOf(path)] {
			return fmt.Errorf("path %q: is given twice", path)
		}
		shapes[ShapeOf(path)] = true
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
