package cli

import (
	"slices"
	"strings"
)

// filledParameter is an argument with its value.
type filledParameter struct {
	parameter
	value *value
}

// fill finds the place of each named argument, and gives it its type.
func (p *plan) fill(given arguments) (filled []filledParameter, err error) {
	d := schemas{p.operation.document}
	for _, one := range given.named {
		to, rest, err := p.placeOf(one.name)
		if err != nil {
			return nil, err
		}
		if to.in == inBody && given.body != nil {
			return nil, misuse("argument %s belongs to the body, which is given as a whole", to.name)
		}
		i := slices.IndexFunc(filled, func(f filledParameter) bool { return f.name == to.name })
		if i < 0 {
			i, filled = len(filled), append(filled, filledParameter{to, new(value)})
		}
		if err := d.put(filled[i].value, to.schema, to.name, rest, one); err != nil {
			return nil, err
		}
	}
	return filled, nil
}

// placeOf returns the parameter that a name is of, and the names that lead on from there: "x" of "p1.x".
func (p *plan) placeOf(given string) (to parameter, rest []string, err error) {
	known := p.operation.parameters()
	find := func(name string) int {
		return slices.IndexFunc(known, func(k parameter) bool { return k.name == name })
	}
	name, at := given, find(given)
	if at < 0 {
		parts := strings.Split(given, ".")
		name, rest, at = parts[0], parts[1:], find(parts[0])
	}
	if _, fixed := p.inPath[name]; fixed {
		return parameter{}, nil, misuse("argument %s: the path says already what it is", name)
	}
	if at >= 0 {
		return known[at], rest, nil
	}
	if body := p.operation.body(); body != nil { // which may take any name
		if schema, taken := (schemas{p.operation.document}).property(body, name); taken {
			return parameter{name: name, in: inBody, schema: schema}, rest, nil
		}
	}
	return parameter{}, nil, unknownArgument(p.to, name, parameterNames(known))
}
