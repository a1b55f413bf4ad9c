package restmap

import (
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"
)

// The members of a struct argument are parameters of their own in a query: text=tea for filter.text=tea, unless another
// argument has that name, or a struct argument has a member of it, too. Both spellings are accepted.

// shorten determines which names stand for a member of a struct argument. arguments are the names of all arguments.
func (f *form) shorten(arguments []string) {
	f.short, f.ambiguous = make(map[string]string), make(map[string][]string)
	in := make(map[string][]string) // the arguments that have a member
	for _, argument := range slices.Sorted(maps.Keys(f.fields)) {
		for member := range f.fields[argument].members() {
			in[member] = append(in[member], argument)
		}
	}
	for member, among := range in {
		switch {
		case slices.Contains(arguments, member):
		case len(among) > 1:
			f.ambiguous[member] = among
		default:
			f.short[member] = among[0]
		}
	}
}

// members returns the parts of a struct; none of anything else.
func (p formPart) members() map[string]formPart {
	if p.indexed || p.keyed {
		return nil
	}
	return p.parts
}

// inFull returns values with the full names of members, and what the caller wrote for each of these.
func (f *form) inFull(values url.Values) (full url.Values, written map[string]string) {
	for name, texts := range values {
		first, _, _ := strings.Cut(name, ".")
		argument, isShort := f.short[first]
		if !isShort {
			continue
		}
		if full == nil {
			full, written = maps.Clone(values), make(map[string]string)
		}
		long := argument + "." + name
		delete(full, name)
		full[long] = append(slices.Clone(values[long]), texts...)
		written[long] = name
	}
	if full == nil {
		return values, nil
	}
	return full, written
}

// documented returns the path of a member of an argument, "filter.text", as documents name it: "text".
func (f *form) documented(path string) string {
	argument, member, found := strings.Cut(path, ".")
	if first, _, _ := strings.Cut(member, "."); found && f.short[first] == argument {
		return member
	}
	return path
}

// asWritten is documented for a caller with this query, unless it has the full name.
func (f *form) asWritten(path, query string) string {
	argument, _, _ := strings.Cut(path, ".")
	values, _ := url.ParseQuery(query) // it has been parsed before
	for name := range values {
		if first, _, _ := strings.Cut(name, "."); first == argument {
			return path
		}
	}
	return f.documented(path)
}

// QueryPart is a member of a struct argument, with the name of its own that it has in a query.
type QueryPart struct {
	Name string   // "text"; "filter.text" if another argument has that name
	Path []string // of members within the argument: "text"
	Type reflect.Type
}

// QueryParts returns the members of a struct argument that a query has in its place, in the order of their declaration.
// It returns none for any other argument, and for a struct with a member that is not a plain text, such as a list of
// structs: that is one parameter, in JSON.
func (e *Endpoint) QueryParts(argument string) []QueryPart {
	f := e.input.form()
	parts, whole := f.fields[argument].leaves(nil, nil)
	if !whole {
		return nil
	}
	for i := range parts {
		parts[i].Name = f.documented(argument + "." + strings.Join(parts[i].Path, "."))
	}
	return parts
}

// leaves returns the plain values in a struct; whole is false if there is something else in it, such as the struct
// itself. within are the types that the struct is a part of.
func (p formPart) leaves(path []string, within []reflect.Type) (leaves []QueryPart, whole bool) {
	if p.members() == nil || slices.Contains(within, pointed(p.typ)) {
		return nil, false
	}
	within = append(slices.Clip(within), pointed(p.typ))
	for _, target := range targetsOf(pointed(p.typ)) {
		member, at := p.parts[target.name], append(slices.Clip(path), target.name)
		if member.plain {
			leaves = append(leaves, QueryPart{Path: at, Type: target.typ})
			continue
		}
		inner, innerWhole := member.leaves(at, within)
		if !innerWhole {
			return nil, false
		}
		leaves = append(leaves, inner...)
	}
	return leaves, true
}
