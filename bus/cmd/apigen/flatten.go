package main

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/busline/busline/reflectapi"
)

// flatten returns the methods of an interface in the order of its declaration, those of embedded interfaces in their
// place. Duplicates count once.
func (s *sources) flatten(found *api, named *types.Named) {
	f := &flattening{sources: s, api: found, met: make(map[string]bool),
		members: make(map[*types.Package]map[place]member)}
	f.expand(named)
}

type flattening struct {
	*sources
	api     *api
	met     map[string]bool // seen so far, by name
	members map[*types.Package]map[place]member
}

// place identifies a method within one package. The compiled form of a package has file and line, but not the column.
type place struct {
	file string // "calculator.go"
	line int
	name string
}

// member is a method as it is written in its interface.
type member struct {
	doc      string
	declared reflectapi.Declared // by the comment
	misread  error
	within   *ast.InterfaceType
}

// expand adds the methods of an interface, or of a part of one.
func (f *flattening) expand(t types.Type) {
	if alias, ok := t.(*types.Alias); ok {
		f.api.parts = append(f.api.parts, alias.Obj())
	}
	t = types.Unalias(t)
	if named, ok := t.(*types.Named); ok {
		f.api.reached, f.api.parts = append(f.api.reached, named.Obj()), append(f.api.parts, named.Obj())
	}
	iface, ok := t.Underlying().(*types.Interface)
	if !ok {
		f.api.invalid = true
		return
	}
	embedded := 0
	for _, own := range f.order(iface) {
		switch {
		case own != nil:
			f.add(own)
		case embedded < iface.NumEmbeddeds():
			f.expand(iface.EmbeddedType(embedded))
			embedded++
		}
	}
}

// order returns the methods that an interface declares itself, with nil in the place of an embedded interface: in the
// order of the source if available, otherwise with embedded interfaces last.
func (f *flattening) order(iface *types.Interface) []*types.Func {
	own := slices.Collect(iface.ExplicitMethods())
	slices.SortFunc(own, func(a, b *types.Func) int { return cmp.Compare(a.Pos(), b.Pos()) })
	var written *ast.InterfaceType
	if len(own) > 0 {
		written = f.member(own[0]).within
	}
	if written == nil {
		return append(own, make([]*types.Func, iface.NumEmbeddeds())...)
	}
	var ordered []*types.Func
	for _, field := range written.Methods.List {
		if len(field.Names) == 0 {
			ordered = append(ordered, nil)
			continue
		}
		if i := slices.IndexFunc(own, func(fn *types.Func) bool { return fn.Name() == field.Names[0].Name }); i >= 0 {
			ordered = append(ordered, own[i])
		}
	}
	return ordered
}

// add adds one method, unless it is there.
func (f *flattening) add(fn *types.Func) {
	if f.met[fn.Name()] {
		return
	}
	f.met[fn.Name()] = true
	written := f.member(fn)
	f.api.methods = append(f.api.methods, method{
		name: fn.Name(), doc: written.doc, declared: written.declared, misread: written.misread, at: f.position(fn.Pos()),
		signature: fn.Signature(),
	})
}

// member returns the source of a method, the zero value if there is none.
func (f *flattening) member(fn *types.Func) member {
	members := f.members[fn.Pkg()]
	if members == nil {
		members = f.membersOf(f.sourceOf(fn.Pkg()))
		f.members[fn.Pkg()] = members
	}
	return members[f.placeOf(fn.Pos(), fn.Name())]
}

// membersOf returns the methods of all interfaces in the files.
func (f *flattening) membersOf(files []*ast.File) map[place]member {
	members := make(map[place]member)
	for _, file := range files {
		for node := range ast.Preorder(file) {
			written, ok := node.(*ast.InterfaceType)
			if !ok {
				continue
			}
			for _, field := range written.Methods.List {
				for _, name := range field.Names {
					declared, err := reflectapi.DirectivesIn(field.Doc)
					members[f.placeOf(name.Pos(), name.Name)] = member{strings.TrimSpace(field.Doc.Text()), declared, err, written}
				}
			}
		}
	}
	return members
}

func (f *flattening) placeOf(pos token.Pos, name string) place {
	position := f.position(pos)
	return place{filepath.Base(position.Filename), position.Line, name}
}

// sourceOf parses the files of a package, as far as they are available. It does not matter which of them belong to this
// build: the compiled form says where to look.
func (s *sources) sourceOf(pkg *types.Package) []*ast.File {
	if pkg == s.pkg {
		return s.files
	}
	if pkg == nil || s.exports.packages[pkg.Path()].dir == "" {
		return nil
	}
	dir := s.exports.packages[pkg.Path()].dir
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var files []*ast.File
	for _, entry := range entries {
		if name := entry.Name(); filepath.Ext(name) == ".go" && !strings.HasSuffix(name, "_test.go") {
			file, err := parser.ParseFile(s.set, filepath.Join(dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
			if err == nil {
				files = append(files, file)
			}
		}
	}
	return files
}
