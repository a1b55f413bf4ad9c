package reflectapi

import (
	"slices"
	"strings"
)

// circular finds a component that refers back to itself without going through a member or an element, so that checking
// a value against it would never end. A component that contains itself in a member or an element is fine.
func circular(components map[string]*Schema) (name string, found bool) {
	done := map[string]bool{}
	for name := range components {
		if name, found := circle(components, &Schema{Ref: componentPrefix + name}, nil, done); found {
			return name, true
		}
	}
	return "", false
}

// circle follows the schemas that apply to the same value.
func circle(components map[string]*Schema, s *Schema, within []string, done map[string]bool) (name string, found bool) {
	if s.Ref != "" {
		name = strings.TrimPrefix(s.Ref, componentPrefix)
		if slices.Contains(within, name) {
			return name, true
		}
		s = components[name]
		if s == nil || done[name] {
			return "", false
		}
		done[name] = true
		within = append(slices.Clone(within), name)
	}
	same := slices.Concat(s.AllOf, s.AnyOf, s.OneOf)
	if s.Not != nil {
		same = append(same, s.Not)
	}
	for _, each := range same {
		if name, found := circle(components, each, within, done); found {
			return name, true
		}
	}
	return "", false
}
