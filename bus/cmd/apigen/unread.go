package main

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/busline/busline/reflectapi"
)

// unreadDirectives finds comments at an interface that look like directives, and stand where none is read.
func (s *sources) unreadDirectives(iface types.Object) (diagnostics []diagnostic) {
	for _, file := range s.sourceOf(iface.Pkg()) {
		spec, declaration := typeSpec(file, iface.Name())
		if spec == nil {
			continue
		}
		from := spec.Pos()
		if doc := docOf(spec, declaration); doc != nil {
			from = doc.Pos()
		}
		read := commentsOfMethods(spec)
		read[docOf(spec, declaration)] = true
		for _, group := range file.Comments {
			for _, comment := range group.List {
				_, offset, write := reflectapi.MeantAsDirective(comment.Text)
				if write != "" && !read[group] && from <= comment.Pos() && comment.Pos() <= s.endOfLine(spec.End()) {
					diagnostics = append(diagnostics, diagnostic{s.position(comment.Pos() + token.Pos(offset)),
						"this declares nothing: write " + write + ", in the comment directly above a method or the interface"})
				}
			}
		}
	}
	return diagnostics
}

// docOf returns the comment of a type: its own, or that of a declaration with only this type.
func docOf(spec *ast.TypeSpec, declaration *ast.GenDecl) *ast.CommentGroup {
	if spec.Doc == nil && !declaration.Lparen.IsValid() {
		return declaration.Doc
	}
	return spec.Doc
}

// commentsOfMethods are those in which directives of methods are looked for.
func commentsOfMethods(spec *ast.TypeSpec) map[*ast.CommentGroup]bool {
	read := make(map[*ast.CommentGroup]bool)
	if written, ok := spec.Type.(*ast.InterfaceType); ok {
		for _, field := range written.Methods.List {
			if len(field.Names) > 0 && field.Doc != nil {
				read[field.Doc] = true
			}
		}
	}
	return read
}

// endOfLine returns the end of the line that a position is in.
func (s *sources) endOfLine(pos token.Pos) token.Pos {
	file := s.set.File(pos)
	if line := file.Line(pos); line < file.LineCount() {
		return file.LineStart(line + 1)
	}
	return pos + token.Pos(file.Size()) // it is the last
}
