package docs_test

import (
	"bytes"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// described are the packages that programs import to use Busline.
func described() []string {
	return []string{"bus", "bus/events", "bus/interceptors", "bus/bustest", "portal", "portal/ingress", "portal/mcp"}
}

// TestLLMs holds docs/llms.txt to the code: the pages, and the API in one sentence for each name, for a model that
// writes a program with Busline (llmstxt.org).
func TestLLMs(t *testing.T) {
	t.Parallel()
	const most = 55_000 // bytes, as a model reads all of it
	var text strings.Builder
	text.WriteString("# Busline\n\n> " + summary(t) + "\n\nThe module is `github.com/busline/busline`. " +
		"Links are from the folder docs.\n\n" + pages(t))
	for _, pkg := range described() {
		text.WriteString("\n" + apiOf(t, pkg))
	}
	assert.LessOrEqual(t, text.Len(), most)
	file := filepath.Join(root, "docs", "llms.txt")
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(text.String()), 0o644))
	}
	written, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(written), text.String(), "go test ./docs -update writes docs/llms.txt")
}

// summary is the first paragraph of the README.
func summary(t *testing.T) string {
	t.Helper()
	for paragraph := range strings.SplitSeq(readFile(t, "README.md"), "\n\n") {
		if !strings.HasPrefix(paragraph, "#") {
			return strings.Join(strings.Fields(paragraph), " ")
		}
	}
	t.Fatal("README.md has no paragraph")
	return ""
}

// pages lists what the tables of docs/README.md do.
func pages(t *testing.T) string {
	t.Helper()
	row := regexp.MustCompile(`^\| (\[.*\)) \| (.*) \|$`)
	var list strings.Builder
	for line := range strings.Lines(readFile(t, "docs/README.md")) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "## ") {
			list.WriteString(line + "\n\n")
		}
		if match := row.FindStringSubmatch(line); match != nil {
			list.WriteString("- " + match[1] + ": " + match[2] + "\n")
		} else if line == "" && strings.HasSuffix(list.String(), "\n") && !strings.HasSuffix(list.String(), "\n\n") {
			list.WriteString("\n")
		}
	}
	require.Contains(t, list.String(), "\n- [")
	return strings.TrimRight(list.String(), "\n") + "\n"
}

// apiOf lists the exported names of a package, each with its signature and the first sentence of its comment.
func apiOf(t *testing.T, name string) string {
	t.Helper()
	set := token.NewFileSet()
	var files []*ast.File
	for _, file := range tree(t) {
		if path.Dir(file) == name && strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, "_test.go") {
			parsed, err := parser.ParseFile(set, filepath.Join(root, file), nil, parser.ParseComments)
			require.NoError(t, err)
			files = append(files, parsed)
		}
	}
	pkg, err := doc.NewFromFiles(set, files, "github.com/busline/busline/"+name)
	require.NoError(t, err)
	l := &listing{set: set, pkg: pkg}
	l.text.WriteString("## Package " + name + "\n\n" + pkg.Synopsis(pkg.Doc) + "\n\n")
	l.values(pkg.Consts)
	l.values(pkg.Vars)
	l.functions(pkg.Funcs)
	for _, each := range pkg.Types {
		l.add(each.Decl, each.Doc)
		l.values(each.Consts)
		l.values(each.Vars)
		l.functions(each.Funcs)
		l.functions(each.Methods)
	}
	return l.text.String()
}

// listing is a list of names.
type listing struct {
	set  *token.FileSet
	pkg  *doc.Package
	text strings.Builder
}

func (l *listing) functions(all []*doc.Func) {
	for _, each := range all {
		l.add(&ast.FuncDecl{Recv: each.Decl.Recv, Name: each.Decl.Name, Type: each.Decl.Type}, each.Doc)
	}
}

// values adds constants and variables: a group in one line, without what they are.
func (l *listing) values(all []*doc.Value) {
	for _, each := range all {
		l.line(each.Decl.Tok.String()+" "+strings.Join(each.Names, ", "), each.Doc)
	}
}

// add adds a declaration in one line. A type has its exported fields or methods, without comments.
func (l *listing) add(declared ast.Decl, comment string) {
	ast.Inspect(declared, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			n.Doc, n.Comment, n.Tag = nil, nil, nil
		case *ast.TypeSpec:
			n.Doc, n.Comment = nil, nil
		case *ast.GenDecl:
			n.Doc = nil
		}
		return true
	})
	var source bytes.Buffer
	if err := printer.Fprint(&source, l.set, declared); err != nil {
		l.text.WriteString(err.Error())
	}
	var members []string
	for line := range strings.Lines(source.String()) {
		if line = strings.Join(strings.Fields(line), " "); line != "" && !strings.HasPrefix(line, "//") {
			members = append(members, line)
		}
	}
	text := strings.Join(members, "; ")
	l.line(strings.NewReplacer("{; ", "{ ", "; }", " }", "(; ", "(", ",; )", ")", ",; ", ", ").Replace(text), comment)
}

func (l *listing) line(declared, comment string) {
	l.text.WriteString("- `" + declared + "`")
	if sentence := l.pkg.Synopsis(comment); sentence != "" {
		l.text.WriteString(": " + sentence)
	}
	l.text.WriteString("\n")
}
