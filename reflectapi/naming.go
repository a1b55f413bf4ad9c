package reflectapi

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// source is one place that may know how a method was declared.
type source interface {
	// origin is what Method.Origin says of names from here.
	origin() string
	// declaration tells how the subject is declared. An error of type unknown says why
	// this source cannot tell, and passes the question on; any other error says that the
	// source contradicts the program, and ends it.
	declaration(of *subject) (declaration, error)
}

// declaration is a method as one source has it, by position, receiver left out.
type declaration struct {
	params, results []string // "" for an unnamed one, context and error included
	doc             string
}

// unknown is why a source cannot tell a method's names, e.g. "none given". An empty one goes
// without saying.
type unknown string

func (u unknown) Error() string { return string(u) }

// naming asks the sources in order; the first that knows the names gives them.
type naming struct {
	sources []source
	texts   []*textSource // those among them that know doc comments of types, too
	near    anchor
}

// newNaming puts the sources in the order in which they win. A table written by a generator
// belongs between code and embedded source.
func newNaming(s *settings, candidates []*candidate) *naming {
	embedded, disk := newEmbeddedSource(s.sources), newDiskSource()
	n := &naming{
		sources: []source{codeSource{s.names}, embedded, disk, newDWARFSource(candidates)},
		texts:   []*textSource{embedded, disk},
	}
	if len(candidates) > 0 {
		n.near = candidates[0].implementation().near
	}
	return n
}

// comment is the doc comment of the first of the types that has one.
func (n *naming) comment(types ...reflect.Type) string {
	for _, t := range types {
		for _, text := range n.texts {
			if doc := text.comment(&subject{receiver: t, near: n.near}); doc != "" {
				return doc
			}
		}
	}
	return ""
}

// name fills in the names, doc and origin of a method whose shape is known. The subjects
// are asked in order: an interface before its implementation.
func (n *naming) name(m *Method, subjects []*subject) error {
	search := &nameSearch{method: m, named: len(m.Args)+len(m.Results) == 0}
	for _, subject := range subjects {
		for _, source := range n.sources {
			if !search.needs(source) {
				continue
			}
			if err := search.ask(source, subject); err != nil {
				return fmt.Errorf("%s: %w", source.origin(), err)
			}
		}
	}
	return search.result()
}

// nameSearch is the way through the sources for one method.
type nameSearch struct {
	method *Method
	named  bool
	passed []string // what the sources said that do not know
}

// needs tells whether a source may add anything: DWARF has no doc comments.
func (s *nameSearch) needs(source source) bool {
	return !s.named || s.method.Doc == "" && source.origin() != originDWARF
}

// ask takes what a source knows and is still missing. A source that is wrong about a method
// ends the search, unless names are known and it was asked for a comment only; names given
// in code have to be right in any case.
func (s *nameSearch) ask(source source, about *subject) error {
	found, err := source.declaration(about)
	if err == nil && s.method.Doc == "" {
		s.method.Doc = found.doc
	}
	if err == nil && !s.named {
		err = s.method.take(found)
	}
	if err == nil {
		if !s.named {
			s.named, s.method.Origin = true, source.origin()
		}
		return nil
	}
	if reason, ok := errors.AsType[unknown](err); ok {
		s.pass(source, reason)
		return nil
	}
	if s.named && source.origin() != originCode {
		return nil
	}
	return err
}

// pass notes why a source does not know, once.
func (s *nameSearch) pass(source source, reason unknown) {
	text := source.origin() + ": " + string(reason)
	if reason != "" && !slices.Contains(s.passed, text) {
		s.passed = append(s.passed, text)
	}
}

// result is the error of a search that found no names, with what to do about it.
func (s *nameSearch) result() error {
	if s.named {
		return nil
	}
	return fmt.Errorf("no names for %s (%s); embed the source with bus.Source, or give them with bus.Names(%q, …)",
		s.method.unnamed(), strings.Join(s.passed, "; "), s.method.Name)
}

// take gives arguments and results the names of a declaration, all or none.
func (m *Method) take(d declaration) error {
	args, results := d.params, d.results
	if m.TakesContext {
		args = args[1:]
	}
	if m.ReturnsError {
		results = results[:len(results)-1]
	}
	if len(results) == 1 && isBlank(results[0]) {
		results = []string{"result"}
	}
	if err := cmp.Or(missing("argument", args), missing("result", results)); err != "" {
		return err
	}
	for i := range m.Args {
		m.Args[i].Name = args[i]
	}
	for i := range m.Results {
		m.Results[i].Name = results[i]
	}
	return nil
}

// missing says which name a declaration lacks, "" when it has them all.
func missing(what string, names []string) unknown {
	if i := slices.IndexFunc(names, isBlank); i >= 0 {
		return unknown(fmt.Sprintf("%s %d is unnamed", what, i+1))
	}
	return ""
}

func isBlank(name string) bool { return name == "" || name == "_" }

// unnamed says what lacks a name: "2 arguments and 1 result".
func (m *Method) unnamed() string {
	var parts []string
	for _, part := range []struct {
		count int
		what  string
	}{{len(m.Args), "argument"}, {len(m.Results), "result"}} {
		switch {
		case part.count == 1:
			parts = append(parts, "1 "+part.what)
		case part.count > 1:
			parts = append(parts, fmt.Sprintf("%d %ss", part.count, part.what))
		}
	}
	return strings.Join(parts, " and ")
}
