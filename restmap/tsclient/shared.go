package tsclient

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/busline/busline/reflectapi/schema"
)

// shareComponents has events refer to the types of the same publisher's calls that are alike, so that a client has one
// type for both.
func (g *generator) shareComponents() {
	alike, ofCalls := make(map[string]string), make(map[string]string)
	names := slices.Sorted(maps.Keys(g.components))
	for _, name := range names {
		host, rest, _ := strings.Cut(name, "_")
		_, own, _ := strings.Cut(rest, "_") // behind the port
		ofCalls[eventComponents+host+"_"+own] = name
	}
	for _, name := range names {
		other := ofCalls[name]
		if other != "" && g.isAlike(g.components[name], g.components[other], map[[2]*schema.Schema]bool{}) {
			alike[componentPrefix+name] = componentPrefix + other
		}
	}
	seen := make(map[*schema.Schema]bool)
	for name, component := range g.components {
		if strings.HasPrefix(name, eventComponents) {
			refer(component, alike, seen)
		}
	}
}

// refer changes the references in a schema.
func refer(s *schema.Schema, to map[string]string, seen map[*schema.Schema]bool) {
	if s == nil || seen[s] {
		return
	}
	seen[s] = true
	if other := to[s.Ref]; other != "" {
		s.Ref = other
	}
	if s.Discriminator != nil {
		s.Discriminator = s.Discriminator.Referring(func(ref string) string { return cmp.Or(to[ref], ref) })
	}
	for _, part := range partsOf(s) {
		refer(part, to, seen)
	}
}

// partsOf returns the schemas directly in a schema.
func partsOf(s *schema.Schema) []*schema.Schema {
	parts := slices.Concat([]*schema.Schema{s.Items, s.AdditionalProperties, s.Not}, s.AllOf, s.AnyOf, s.OneOf)
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		parts = append(parts, s.Properties[name])
	}
	return parts
}

// isAlike reports whether two schemas have one type: one of events, and one of calls, which says more about values.
func (g *generator) isAlike(event, call *schema.Schema, seen map[[2]*schema.Schema]bool) bool {
	pair := [2]*schema.Schema{event, call}
	switch {
	case event == nil || call == nil:
		return event == call
	case seen[pair]: // they contain themselves
		return true
	}
	seen[pair] = true
	if event.Ref != "" && call.Ref != "" {
		return g.isAlike(g.components[strings.TrimPrefix(event.Ref, componentPrefix)],
			g.components[strings.TrimPrefix(call.Ref, componentPrefix)], seen)
	}
	if !sameFacts(event, call) || len(event.Properties) != len(call.Properties) ||
		len(partsOf(event)) != len(partsOf(call)) {
		return false
	}
	for name := range event.Properties {
		if call.Properties[name] == nil {
			return false
		}
	}
	others := partsOf(call)
	for i, part := range partsOf(event) {
		if !g.isAlike(part, others[i], seen) {
			return false
		}
	}
	return true
}

// sameFacts compares what a type depends on, but for the schemas in it.
func sameFacts(event, call *schema.Schema) bool {
	facts := func(s *schema.Schema) []any {
		kind := ""
		if s.Discriminator != nil {
			kind = s.Discriminator.PropertyName
		}
		return []any{s.Ref, s.Type, isInt64(s), s.Nullable, kind, fmt.Sprint(s.Enum), s.EnumNames,
			slices.Sorted(slices.Values(s.Required))}
	}
	return reflect.DeepEqual(facts(event), facts(call))
}
