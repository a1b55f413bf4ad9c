package reflectapi

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/busline/busline/reflectapi/internal/gotype"
)

// source is one place that may know how a method was declared.
type source interface {
	// origin returns the Method.Origin of names from this source.
	origin() string
	// declaration returns how the subject is declared. An error of type unknown says why this source does not know it,
	// and the next source is asked; any other error says that the source contradicts the program, and ends the search.
	declaration(of *methodDecl) (declaration, error)
}

// declaration is a method as one source declares it, by position, without receiver.
type declaration struct {
	params, results []string // "" for an unnamed one, context and error included
	doc             string
	declared        Declared
	place           string // its file and line; "" if it is not in a file
}

// unknown is why a source does not know a method's names, e.g. "none given". An empty one is not reported.
type unknown string

func (u unknown) Error() string { return string(u) }

// naming asks the sources in order; the first one that knows the names wins.
type naming struct {
	sources []source
	copies  []*textSource // the sources contained in the program that have comments, too
	disk    *textSource   // from which the copies were taken; knows nothing with RequirePortableNames
	tables  *tables
	near    anchor
}

// newNaming lists the sources in order of precedence.
func newNaming(s *settings, candidates []*candidate) *naming {
	tables, table := newTableSource()
	embedded := newEmbeddedSource(s.sources)
	n := &naming{
		sources: []source{codeSource{s.names}, table, embedded},
		copies:  []*textSource{table, embedded},
		disk:    nowhere(),
		tables:  tables,
	}
	if !s.portable {
		n.disk = newDiskSource()
		n.sources = append(n.sources, diskSource{n.disk}, dwarfSource{})
	}
	if len(candidates) > 0 {
		n.near = candidates[0].implementation().near
	}
	return n
}

// texts returns all sources that have comments, in order.
func (n *naming) texts() []*textSource { return append(slices.Clone(n.copies), n.disk) }

// comment returns the doc comment of the first type that has one, and its origin.
func (n *naming) comment(types ...reflect.Type) (doc, origin string) {
	for _, t := range types {
		for _, text := range n.texts() {
			comment, _ := text.comment(&methodDecl{receiver: t, near: n.near})
			if doc := docText(comment); doc != "" {
				return doc, text.name
			}
		}
	}
	return "", ""
}

// declared returns what the comment of a type declares.
func (n *naming) declared(t reflect.Type) (Declared, error) {
	about := &methodDecl{receiver: t, near: n.near}
	for _, text := range n.texts() {
		comment, in := text.comment(about)
		if in == nil {
			continue
		}
		declared, err := TypeDirectivesIn(comment)
		if err != nil {
			err = in.contradiction(comment, err.Error())
		}
		if err == nil && len(declared.Lines) > 0 {
			err = checkOrigin(text.name, about, declared)
		}
		if err == nil {
			err = text.checkEmbedded(about, in, declared)
		}
		if err != nil {
			return Declared{}, fmt.Errorf("type %s: %s: %w", gotype.PlainName(t), text.name, err)
		}
		return declared, nil
	}
	return Declared{}, nil
}

// name fills in the names, doc and origins of a method whose shape is known. The subjects are asked in order: an
// interface before its implementation.
//
// An implementation may name only values that its interface leaves unnamed. If it were also asked when the interface's
// source is not available, the same service would have different names in different builds.
func (n *naming) name(m *Method, subjects []*methodDecl) error {
	search := &nameSearch{method: m, named: len(m.Args)+len(m.Results) == 0}
	if m.Streams && len(m.Args) == 0 { // no caller sees the name of a stream
		m.Results[0].Name, search.named, search.renames = "result", true, true
	}
	for _, subject := range subjects {
		if subject.receiver != subjects[0].receiver && !search.named && !search.found {
			break
		}
		for _, source := range n.sources {
			if !search.needs(source) {
				continue
			}
			if err := search.ask(source, subject); err != nil {
				return fmt.Errorf("%s: %w", source.origin(), err)
			}
		}
	}
	if !search.named {
		return search.missingNames(n.tables, subjects[0])
	}
	return m.declare(search.declared)
}

// nameSearch is the search through the sources for one method.
type nameSearch struct {
	method   *Method
	named    bool
	renames  bool                // although it is named, a declaration names it better
	found    bool                // a source has the declaration, with or without names
	read     bool                // a source has the declaration, with or without directives
	declared Declared            // by directives
	gap      *missingParamsError // in the first declaration found, preferably one in a file
	passed   []string            // why sources did not know the names
}

// needs reports whether a source may contribute: DWARF has no doc comments.
func (s *nameSearch) needs(source source) bool {
	return !s.named || s.method.Doc == "" && source.origin() != originDWARF
}

// ask takes what is still missing from a source. A source that contradicts the program ends the search, unless the
// names are known and only a comment is missing; names given in code have to be correct in any case.
func (s *nameSearch) ask(source source, about *methodDecl) error {
	found, err := source.declaration(about)
	if err == nil {
		s.found = true
		if err := s.takeDeclared(found, source, about); err != nil {
			return err
		}
		s.takeDoc(found.doc, source)
		err = s.takeNames(found, source)
	}
	if gap, ok := errors.AsType[*missingParamsError](err); ok {
		s.note(gap, source)
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

func (s *nameSearch) takeDoc(doc string, from source) {
	if s.method.Doc == "" && doc != "" {
		s.method.Doc, s.method.DocOrigin = doc, from.origin()
	}
}

func (s *nameSearch) takeNames(found declaration, from source) error {
	if s.named && !s.renames {
		return nil
	}
	if err := s.method.take(found); err != nil {
		return err
	}
	s.named, s.renames, s.method.Origin = true, false, from.origin()
	return nil
}

// note records the gap to report. Names in code have one only if they are invalid.
func (s *nameSearch) note(found *missingParamsError, in source) {
	if in.origin() != originCode && (s.gap == nil || s.gap.found.place == "") {
		s.gap = found
	}
}

// pass records why a source does not know the names, once.
func (s *nameSearch) pass(source source, reason unknown) {
	text := source.origin() + ": " + string(reason)
	if reason != "" && !slices.Contains(s.passed, text) {
		s.passed = append(s.passed, text)
	}
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
	if gap := missingParamsIn(d, args, results); gap != nil {
		return gap
	}
	for i := range m.Args {
		m.Args[i].Name = args[i]
	}
	for i := range m.Results {
		m.Results[i].Name = results[i]
	}
	return nil
}

// values says what needs names: "2 arguments and 1 result".
func (m *Method) values() string {
	results := len(m.Results)
	if m.Streams {
		results = 0
	}
	var parts []string
	for _, part := range []struct {
		count int
		what  string
	}{{len(m.Args), "argument"}, {results, "result"}} {
		switch {
		case part.count == 1:
			parts = append(parts, "1 "+part.what)
		case part.count > 1:
			parts = append(parts, fmt.Sprintf("%d %ss", part.count, part.what))
		}
	}
	return strings.Join(parts, " and ")
}

// takeDeclared takes what directives declare from the first source that has the declaration. It counts only where every
// build finds it, or a service would depend on the build.
func (s *nameSearch) takeDeclared(found declaration, from source, about *methodDecl) error {
	if s.read || from.origin() == originCode {
		return nil
	}
	if len(found.declared.Lines) > 0 {
		if err := checkOrigin(from.origin(), about, found.declared); err != nil {
			return err
		}
	}
	s.declared, s.read = found.declared, true
	return s.declared.resolve(about.receiver)
}

// checkOrigin returns an error for directives that a production build would not find.
func checkOrigin(origin string, about *methodDecl, declared Declared) error {
	switch {
	case !about.isInterface():
		return fmt.Errorf("its comment has %s, which is for interfaces: use the options of bus.Serve and tags of structs, "+
			"or serve an interface", declared.Lines[0])
	case origin != originTable && origin != originEmbedded:
		return fmt.Errorf("its comment has %s, which production would not know: write a signature table with apigen -type %s",
			declared.Lines[0], about.typeName())
	default:
		return nil
	}
}
