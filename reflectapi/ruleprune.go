package reflectapi

import "slices"

// pruned takes out of a rule for a Go type whatever restricts nothing, so that nobody looks there, and returns nil when
// nothing is left. It is for complete rules alone: of a type that contains itself, a rule in the making does not yet say
// what it is there for.
func (r *rule) pruned() *rule {
	reached := r.reached(map[*rule]bool{})
	useful := usefulAmong(reached)
	keep := func(part *rule) *rule {
		if useful[part] {
			return part
		}
		return nil
	}
	for _, each := range reached {
		if each.list != nil {
			each.list.items = keep(each.list.items)
		}
		if o := each.object; o != nil {
			o.fields = slices.DeleteFunc(o.fields, func(f fieldRule) bool { return keep(f.rule) == nil })
			o.others = keep(o.others)
		}
	}
	return keep(r)
}

// reached returns a rule for a Go type with all that are inside it, each once, what is inside first.
func (r *rule) reached(seen map[*rule]bool) (rules []*rule) {
	if r == nil || seen[r] {
		return nil
	}
	seen[r] = true
	for _, part := range r.parts() {
		rules = append(rules, part.reached(seen)...)
	}
	return append(rules, r)
}

// usefulAmong finds the rules that restrict something, or have one inside that does.
func usefulAmong(rules []*rule) map[*rule]bool {
	useful := make(map[*rule]bool)
	for found := true; found; { // of types that contain themselves one round does not find all
		found = false
		for _, each := range rules {
			isUseful := func(part *rule) bool { return useful[part] }
			if !useful[each] && (each.restricts() || slices.ContainsFunc(each.parts(), isUseful)) {
				useful[each], found = true, true
			}
		}
	}
	return useful
}

// parts are the rules right inside a rule for a Go type.
func (r *rule) parts() (parts []*rule) {
	if r.list != nil {
		parts = append(parts, r.list.items)
	}
	if r.object != nil {
		parts = append(parts, r.object.others)
		for _, field := range r.object.fields {
			parts = append(parts, field.rule)
		}
	}
	return parts
}

// restricts says whether a rule for a Go type asks for something itself.
func (r *rule) restricts() bool {
	if r.enum != nil || r.text != nil || r.number != nil {
		return true
	}
	if l := r.list; l != nil && (l.shortest != nil || l.longest != nil || l.unique) {
		return true
	}
	return r.object != nil && (r.object.fewest != nil || r.object.most != nil)
}
