package restmap

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"
)

// Pattern is the path of a route: literal segments, parameters that match one segment each, and optionally a last one
// that matches all remaining segments.
//
//	/products/{id}     /files/{path+}     /dir/     /
//
// The zero Pattern has no segments and matches nothing.
type Pattern struct {
	segments []Segment
	names    []string // of the parameters, in order
}

// Segment is a part of a [Pattern] between two slashes.
type Segment struct {
	Literal string // decoded, "a/b" for a%2Fb; only when Name is empty
	Name    string // "id" for {id} and {id+}
	Rest    bool   // {id+}: this segment and all that follow
}

// ParsePattern parses a path. Literal segments are written as in a URL, escaped or not. A parameter is a whole segment;
// its name consists of letters, digits and underscores, and is unique in the path. {name+} has to be the last segment.
// What another router would take for a parameter, "*" and ":name", is refused, and so are a query and a fragment, which
// are not part of a path; %2A, %3A, %3F and %23 stand for the characters.
func ParsePattern(path string) (Pattern, error) {
	rest, rooted := strings.CutPrefix(path, "/")
	if !rooted {
		return Pattern{}, fmt.Errorf("path %q: does not start with a slash", path)
	}
	if i := strings.IndexAny(path, "?#"); i >= 0 {
		return Pattern{}, fmt.Errorf("path %q: ends before %q: leave out the rest, or write %s for the character", path,
			path[i:i+1], url.PathEscape(path[i:i+1]))
	}
	var p Pattern
	for text := range strings.SplitSeq(rest, "/") {
		if len(p.segments) > 0 && p.segments[len(p.segments)-1].Rest {
			return Pattern{}, fmt.Errorf("path %q: {name+} takes all the rest, nothing may follow it", path)
		}
		segment, err := parseSegment(text)
		if err != nil {
			return Pattern{}, fmt.Errorf("path %q: %w", path, err)
		}
		if segment.Name != "" {
			if slices.Contains(p.names, segment.Name) {
				return Pattern{}, fmt.Errorf("path %q: parameter %q is given twice", path, segment.Name)
			}
			p.names = append(p.names, segment.Name)
		}
		p.segments = append(p.segments, segment)
	}
	return p, nil
}

// parseSegment parses the text between two slashes.
func parseSegment(text string) (Segment, error) {
	if text == "*" {
		return Segment{}, errors.New(`segment "*": write {name} for one segment, {name+} at the end for all the rest, or %2A for the character`)
	}
	if name, colon := strings.CutPrefix(text, ":"); colon {
		if !isName(name) {
			name = "name"
		}
		return Segment{}, fmt.Errorf("segment %q: write {%s} for a parameter, or %%3A for the character", text, name)
	}
	if !strings.ContainsAny(text, "{}") {
		literal, err := url.PathUnescape(text)
		if err != nil {
			return Segment{}, fmt.Errorf("segment %q: a %% needs two hexadecimal digits after it", text)
		}
		if literal == "." || literal == ".." {
			return Segment{}, fmt.Errorf("segment %q: browsers take it for another folder, and call another path", text)
		}
		return Segment{Literal: literal}, nil
	}
	name, opened := strings.CutPrefix(text, "{")
	name, closed := strings.CutSuffix(name, "}")
	name, rest := strings.CutSuffix(name, "+")
	if !opened || !closed || !isName(name) {
		return Segment{}, fmt.Errorf("segment %q: a parameter is a whole segment, {name}, or {name+} at the end for all "+
			"the rest", text)
	}
	return Segment{Name: name, Rest: rest}, nil
}

// isName reports whether a parameter may have this name: it has to be an identifier, as in Go.
func isName(s string) bool {
	for i, r := range s {
		if r != '_' && !unicode.IsLetter(r) && (i == 0 || !unicode.IsDigit(r)) {
			return false
		}
	}
	return s != ""
}

// String returns the path in its canonical form: literals escaped where they have to be.
func (p Pattern) String() string {
	return p.path(func(s Segment) string {
		if s.Rest {
			return "{" + s.Name + "+}"
		}
		return "{" + s.Name + "}"
	})
}

// path writes the pattern with its parameters replaced.
func (p Pattern) path(parameter func(Segment) string) string {
	var b strings.Builder
	for _, s := range p.segments {
		b.WriteByte('/')
		if s.Name != "" {
			b.WriteString(parameter(s))
		} else {
			b.WriteString(escaped(s.Literal))
		}
	}
	return b.String()
}

// escaped writes a literal so that it is read again as one: a colon in front would announce a parameter.
func escaped(literal string) string {
	if rest, colon := strings.CutPrefix(literal, ":"); colon {
		return "%3A" + url.PathEscape(rest)
	}
	return url.PathEscape(literal)
}

// Segments returns a copy of the segments: [{Literal: "products"} {Name: "id"}]. The
// path / has one segment, the empty literal.
func (p Pattern) Segments() []Segment { return slices.Clone(p.segments) }

// Names returns a copy of the names of the parameters, in the order of the path.
func (p Pattern) Names() []string { return slices.Clone(p.names) }
