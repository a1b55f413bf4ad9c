package cli

import (
	"net/url"
	"slices"
	"strings"
)

// filledParameter is an argument with its value.
type filledParameter struct {
	parameter
	value *value
}

// fill finds the places of each named argument, and converts it to its type.
func (p *plan) fill(given arguments) (filled []filledParameter, err error) {
	d := schemas{p.operation.document}
	for _, one := range given.named {
		places, rest, err := p.placesOf(one.name, given.body != nil)
		if err != nil {
			return nil, err
		}
		for _, to := range places {
			i := slices.IndexFunc(filled, func(f filledParameter) bool { return f.name == to.name && f.in == to.in })
			if i < 0 {
				i, filled = len(filled), append(filled, filledParameter{to, new(value)})
			}
			if err := d.put(filled[i].value, to.schema, to.name, rest, one); err != nil {
				return nil, err
			}
		}
	}
	return filled, nil
}

// placesOf returns the parameters with a name, and the names after it: "x" in "p1.x". There are several if the path or
// the query and the body share the name: one value is for all that are still free.
func (p *plan) placesOf(given string, wholeBody bool) (places []parameter, rest []string, err error) {
	known := p.operation.parameters()
	name, rest := longestName(strings.Split(given, "."), parameterNames(known))
	all := slices.DeleteFunc(slices.Clone(known), func(k parameter) bool { return k.name != name })
	places = p.free(all, len(rest) > 0)
	if member, taken := p.operation.member(name); taken && len(places) == 0 {
		places = append(places, member)
	}
	outside := slices.DeleteFunc(slices.Clone(places), func(k parameter) bool { return k.in == inBody })
	switch {
	case wholeBody && len(outside) > 0:
		return outside, rest, nil
	case wholeBody && len(places) > 0:
		return nil, nil, misuse("argument %s is part of the body, which is already given as a whole", name)
	case len(places) > 0:
		return places, rest, nil
	case len(all) > 0:
		return nil, nil, misuse("argument %s: its value is already in the path", name)
	case len(known) == 0 && p.operation.isUnlisted(p.operation.body()):
		return nil, nil, misuse("there is no argument %s: %s", name, p.asksForBody())
	}
	return nil, nil, unknownArgument(p.to, name, parameterNames(known))
}

// longestName divides the parts of "p1.x" into a name and those after it. A name may have dots itself: the longest one that is known
// counts, else the first part.
func longestName(parts, known []string) (name string, rest []string) {
	for end := len(parts); end > 1; end-- {
		if name = strings.Join(parts[:end], "."); slices.Contains(known, name) {
			return name, parts[end:]
		}
	}
	return parts[0], parts[1:]
}

// free returns those of the parameters of one name that the address does not set. Arguments replace values in its
// query, unless a member of the body has the same name. A path parameter has no parts.
func (p *plan) free(all []parameter, parts bool) (free []parameter) {
	query, _ := url.ParseQuery(p.to.query) // its error is reported when the request is made
	shared := len(all) > 1
	for _, each := range all {
		_, given := p.inPath[each.name]
		switch {
		case each.in == inPath && (given || shared && parts):
		case each.in == inQuery && shared && query.Has(each.name):
		default:
			free = append(free, each)
		}
	}
	return free
}
