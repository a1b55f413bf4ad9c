package reflectapi

import (
	"fmt"
	"go/ast"
	"os"
	"path/filepath"
	"reflect"
	"slices"

	"github.com/busline/busline/reflectapi/internal/gotype"
)

// A copy of a declaration, in a signature table or in embedded source, is out of date if the file from which it was
// taken says something else. Comparing it with the program shows only differences in numbers and types: an argument
// that has been renamed since matches as well as before.

// warnings returns all that is out of date, one line each.
func (s *inspection) warnings() []string {
	var all []string
	warn := func(thing string, texts []string) {
		for _, each := range texts {
			all = append(all, thing+": "+each)
		}
	}
	warn(s.staleType())
	for _, c := range s.candidates {
		warn("method "+c.name, s.staleMethod(c))
	}
	return all
}

// staleType compares the comments of the types from which the service's comment may come.
func (s *inspection) staleType() (thing string, texts []string) {
	for _, t := range []reflect.Type{gotype.Base(s.as), gotype.Base(s.impl)} {
		if texts := s.naming.staleComment(t); len(texts) > 0 {
			return "type " + gotype.PlainName(t), texts
		}
	}
	return "", nil
}

// staleMethod compares a method: the interface's declaration first, then the implementation's.
func (s *inspection) staleMethod(c *candidate) []string {
	for _, subject := range c.subjects {
		if texts := s.naming.stale(subject); len(texts) > 0 {
			return texts
		}
	}
	return nil
}

// stale compares what the copies say of a subject with the source on disk, if that exists.
func (n *naming) stale(of *methodDecl) []string {
	for _, text := range n.copies {
		copied := text.find(of)
		if len(copied) == 0 {
			continue // the disk is read only if there is a copy
		}
		originals := n.disk.find(of)
		agrees := func(original declared) bool { return len(copied[0].differences(original, of.shape)) == 0 }
		if len(originals) == 0 || slices.ContainsFunc(originals, agrees) {
			continue // there are several if files for different systems each have one
		}
		return outdated(text, copied[0].differences(originals[0], of.shape))
	}
	return nil
}

// staleComment compares the comment of a type.
func (n *naming) staleComment(t reflect.Type) []string {
	of := &methodDecl{receiver: t, near: n.near}
	for _, text := range n.copies {
		copied, in := text.comment(of)
		if in == nil {
			continue
		}
		original, from := n.disk.comment(of)
		if from == nil {
			continue
		}
		if docText(copied) != docText(original) {
			return outdated(text, []string{otherComment})
		}
		if different := differentDirectives(copied, original); len(different) > 0 {
			return outdated(text, different)
		}
	}
	return nil
}

// outdated says what is wrong with a copy, and what to do.
func outdated(text *textSource, differences []string) []string {
	remedy := "embed the current file"
	if text.name == originTable {
		remedy = "run go generate"
	}
	texts := make([]string, len(differences))
	for i, difference := range differences {
		texts[i] = fmt.Sprintf("the %s %s: %s", text.name, difference, remedy)
	}
	return texts
}

const otherComment = "has a different comment than the source file"

// differences returns how a copy differs from the original as far as callers can see: the names of context and error do
// not matter to them, nor do those of a web method.
func (d declared) differences(original declared, s signature) []string {
	params, results := slots(d.fn.Params), slots(d.fn.Results)
	originalParams, originalResults := slots(original.fn.Params), slots(original.fn.Results)
	if len(params) != len(originalParams) || len(results) != len(originalResults) {
		return []string{"has different arguments or results than the source file"}
	}
	var found []string
	if s.kind == Function {
		context, outcomes := len(s.params)-len(s.args), len(s.results)
		found = append(found, differentSlots("argument", params[context:], originalParams[context:], original.generic)...)
		found = append(found, differentSlots("result", results[:outcomes], originalResults[:outcomes], original.generic)...)
	}
	if docText(d.doc) != docText(original.doc) {
		found = append(found, otherComment)
	}
	return append(found, differentDirectives(d.doc, original.doc)...)
}

// differentDirectives compares the directives in two comments.
func differentDirectives(copied, original *ast.CommentGroup) []string {
	here, err := DirectivesIn(copied)
	there, otherErr := DirectivesIn(original)
	if err != nil || otherErr != nil || here.text() == there.text() {
		return nil
	}
	return []string{fmt.Sprintf("declares %s, the source file declares %s", here.text(), there.text())}
}

// slot is one argument or result in source.
type slot struct {
	name string // "_" if it has none
	kind ast.Expr
}

func slots(fields *ast.FieldList) []slot {
	if fields == nil {
		return nil
	}
	var all []slot
	for _, field := range fields.List {
		for _, name := range fieldNames(field) {
			if isBlank(name) {
				name = "_"
			}
			all = append(all, slot{name, field.Type})
		}
	}
	return all
}

// differentSlots compares names and, unless the original is generic, types.
func differentSlots(what string, copied, original []slot, generic bool) []string {
	var found []string
	for i := range copied {
		switch {
		case copied[i].name != original[i].name:
			found = append(found, fmt.Sprintf("calls %s %d %s, the source file calls it %s", what, i+1, copied[i].name,
				original[i].name))
		case !generic && !sameText(copied[i].kind, original[i].kind):
			found = append(found, fmt.Sprintf("gives %s %s a different type than the source file", what, copied[i].name))
		}
	}
	return found
}

// diskSource reads the source on disk, and checks it if it may be outdated. A file that was edited after the program
// was built, without moving a line or changing a type, matches the program as well as before but may have other
// argument names. Debug information has the right ones, but is expensive to read (dwarf.go), so it is used only if
// the file is newer than the program.
type diskSource struct{ *textSource }

func (s diskSource) declaration(of *methodDecl) (declaration, error) {
	read, err := s.textSource.declaration(of)
	if err != nil || of.file == "" || !youngerThanProgram(of.file) {
		return read, err
	}
	compiled, err := dwarfSource{}.declaration(of)
	if err == nil && (otherNames(read.params, compiled.params) || otherNames(read.results, compiled.results)) {
		return declaration{}, unknown(filepath.Base(of.file) + " was edited after the program was built")
	}
	return read, nil
}

// youngerThanProgram reports whether a file was modified after the program was built, by their modification times.
func youngerThanProgram(file string) bool {
	path, err := os.Executable()
	if err != nil {
		return false
	}
	program, err := os.Stat(path)
	if err != nil {
		return false
	}
	source, err := os.Stat(file)
	return err == nil && source.ModTime().After(program.ModTime())
}

// otherNames reports whether names differ, where both sides have one: debug information may lack some.
func otherNames(read, compiled []string) bool {
	for i, name := range compiled {
		if !isBlank(name) && !isBlank(read[i]) && name != read[i] {
			return true
		}
	}
	return false
}

// sameText reports whether two type expressions are written alike, apart from package names: a copy may be in another
// file, with other imports. Of structs, functions and interfaces only the number of members is compared.
func sameText(a, b ast.Expr) bool {
	a, b = spelledOut(a), spelledOut(b)
	switch a := a.(type) {
	case *ast.Ident:
		b, ok := b.(*ast.Ident)
		return ok && a.Name == b.Name
	case *ast.StarExpr:
		b, ok := b.(*ast.StarExpr)
		return ok && sameText(a.X, b.X)
	case *ast.Ellipsis:
		b, ok := b.(*ast.Ellipsis)
		return ok && sameText(a.Elt, b.Elt)
	case *ast.ArrayType:
		b, ok := b.(*ast.ArrayType)
		return ok && (a.Len == nil) == (b.Len == nil) && sameText(a.Elt, b.Elt)
	case *ast.MapType:
		b, ok := b.(*ast.MapType)
		return ok && sameText(a.Key, b.Key) && sameText(a.Value, b.Value)
	case *ast.StructType:
		b, ok := b.(*ast.StructType)
		return ok && a.Fields.NumFields() == b.Fields.NumFields()
	case *ast.InterfaceType:
		b, ok := b.(*ast.InterfaceType)
		return ok && a.Methods.NumFields() == b.Methods.NumFields()
	}
	return true // types that callers cannot be given, or that only generic types contain
}

// spelledOut normalises what may be written in two ways.
func spelledOut(e ast.Expr) ast.Expr {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return spelledOut(e.X)
	case *ast.SelectorExpr:
		return e.Sel
	case *ast.Ident:
		switch e.Name {
		case "byte":
			return ast.NewIdent("uint8")
		case "rune":
			return ast.NewIdent("int32")
		case "any":
			return &ast.InterfaceType{Methods: &ast.FieldList{}}
		}
	}
	return e
}
