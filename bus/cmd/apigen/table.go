package main

import (
	"fmt"
	"go/format"
	"go/types"
	"slices"
	"strings"
)

// hasTable reports whether the interface, for which this package has an alias, gets a table in the package that
// declares it: a second one must not be written. What counts is the go:generate line there, not its output, so that the
// order of the two runs does not matter.
func (s *sources) hasTable(found *api) bool {
	return found.named.Pkg() != s.pkg && s.isAskedFor(found.named)
}

// isAskedFor reports whether a go:generate line in its package runs apigen for a type.
func (s *sources) isAskedFor(named *types.TypeName) bool {
	for _, file := range s.sourceOf(named.Pkg()) {
		for _, group := range file.Comments {
			for _, line := range group.List {
				if asksFor(line.Text, named.Name()) {
					return true
				}
			}
		}
	}
	return false
}

// asksFor reports whether a line runs apigen for a type.
func asksFor(line, typeName string) bool {
	words := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' || r == '=' || r == '"' })
	i := slices.IndexFunc(words, func(word string) bool { return strings.TrimLeft(word, "-") == "type" })
	return strings.HasPrefix(line, "//go:generate ") && strings.Contains(line, "apigen") && i >= 0 && i+1 < len(words) &&
		words[i+1] == typeName
}

// table writes the interface as one declaration: with all methods, names and comments as in the source, and types as
// this package would write them. client is the directive of the client, if there is one.
func table(found *api, qualifier types.Qualifier, client []string) (string, error) {
	var declaration strings.Builder
	var comments []string // by their placeholders, which gofmt leaves as they are
	fmt.Fprintf(&declaration, "type %s interface {\n", found.named.Name())
	for i := range found.methods {
		m := &found.methods[i]
		mark := fmt.Sprintf("\t//apigen:%d\n", i)
		fmt.Fprintf(&declaration, "%s\t%s%s\n", mark, m.name, signatureText(m.signature, qualifier))
		comments = append(comments, mark, indented(commented(m.doc, m.declared.Lines)))
	}
	declaration.WriteString("}\n")
	formatted, err := format.Source([]byte(declaration.String()))
	if err != nil {
		return "", fmt.Errorf("the signature table of %s: %w", found.name, err)
	}
	return commented(found.doc, append(slices.Clone(found.declared.Lines), client...)) +
		strings.NewReplacer(comments...).Replace(string(formatted)), nil
}

// commented returns a comment with directives, as gofmt has them.
func commented(doc string, directives []string) string {
	lines := strings.Join(append(slices.Clone(directives), ""), "\n")
	if doc != "" && len(directives) > 0 {
		lines = "//\n" + lines
	}
	return comment(doc) + lines
}

func indented(lines string) string {
	var b strings.Builder
	for line := range strings.Lines(lines) {
		b.WriteString("\t" + line)
	}
	return b.String()
}

// signatureText writes the parameters and results of a method as in source.
func signatureText(t *types.Signature, qualifier types.Qualifier) string {
	params := tupleText(t.Params(), t.Variadic(), qualifier)
	results := tupleText(t.Results(), false, qualifier)
	if t.Results().Len() == 1 && t.Results().At(0).Name() == "" {
		return "(" + params + ") " + results
	}
	if results != "" {
		results = " (" + results + ")"
	}
	return "(" + params + ")" + results
}

func tupleText(values *types.Tuple, variadic bool, qualifier types.Qualifier) string {
	var texts []string
	for i := range values.Len() {
		text := typeText(values.At(i).Type(), variadic && i == values.Len()-1, qualifier)
		if name := values.At(i).Name(); name != "" {
			text = name + " " + text
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}

// typeText writes a type; that of a variadic parameter begins with dots.
func typeText(t types.Type, variadic bool, qualifier types.Qualifier) string {
	if slice, ok := types.Unalias(t).(*types.Slice); ok && variadic {
		return "..." + types.TypeString(slice.Elem(), qualifier)
	}
	return types.TypeString(t, qualifier)
}

// comment writes a text as comment lines, "" for none.
func comment(text string) string {
	if text == "" {
		return ""
	}
	var b strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		switch {
		case line == "":
			b.WriteString("//\n")
		case line[0] == '\t':
			b.WriteString("//" + line + "\n")
		default:
			b.WriteString("// " + line + "\n")
		}
	}
	return b.String()
}

// rawString quotes a text with backquotes.
func rawString(text string) string {
	return "`" + strings.ReplaceAll(text, "`", "` + \"`\" + `") + "`"
}
