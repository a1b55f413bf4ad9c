package reflectapi

import "slices"

// pruned removes from a rule for a Go type whatever restricts nothing, so that it is not visited, and returns nil if
// nothing is left. The rule has to be complete: for a type that contains itself, an incomplete rule does not yet show
// what it restricts.
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

// reached returns a rule for a Go type and all rules in it, each once, inner ones first.
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

// usefulAmong returns the rules that restrict something, or contain one that does.
func usefulAmong(rules []*rule) map[*rule]bool {
	useful := make(map[*rule]bool)
	for found := true; found; { // for recursive types one round does not find all
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

// parts returns the rules directly inside a rule for a Go type.
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

// restricts reports whether a rule for a Go type restricts something by itself.
func (r *rule) restricts() bool {
	if r.enum != nil || r.text != nil || r.number != nil {
		return true
	}
	if l := r.list; l != nil && (l.shortest != nil || l.longest != nil || l.unique) {
		return true
	}
	return r.object != nil && (r.object.fewest != nil || r.object.most != nil)
}
