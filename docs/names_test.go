package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNames holds that what pages and comments name is there: in code spans of a page "bus.Serve", "Conn.Call",
// "conn.Call", options, and the flags of busline; in comments the links, and names with their package or type. What
// examples declare does not count, as other pages and comments have examples of their own.
func TestNames(t *testing.T) {
	t.Parallel()
	names := readNames(t)
	for _, document := range documents(t) {
		for _, line := range document.prose {
			for _, span := range codeSpan.FindAllString(line.text, -1) {
				for _, missing := range names.missing(span, "", false) {
					t.Errorf("%s:%d: %s: there is no %s", document.path, line.number, span, missing)
				}
				for _, missing := range names.missingFlags(document.path, span) {
					t.Errorf("%s:%d: %s: busline has no flag %s", document.path, line.number, span, missing)
				}
			}
		}
	}
	for _, file := range names.files {
		for _, group := range file.parsed.Comments {
			for _, missing := range names.missing(indented.ReplaceAllString(group.Text(), ""), file.pkg, file.isTest) {
				t.Errorf("%s: there is no %s", names.set.Position(group.Pos()), missing)
			}
		}
	}
}

// names are those that the Go files of the module declare.
type names struct {
	set      *token.FileSet
	files    []goFile
	declared map[string]bool     // "bus.Serve", "bus.Conn.Call", and without the package
	inTests  map[string]bool     // of these, the ones of test files
	packages map[string]bool     // by name
	embedded map[string][]string // types in a type, "" for one of another module
	flags    map[string]bool     // "since"
}

// goFile is a file and its package.
type goFile struct {
	parsed *ast.File
	pkg    string
	isTest bool
}

func readNames(t *testing.T) *names {
	t.Helper()
	n := &names{set: token.NewFileSet(), declared: map[string]bool{}, inTests: map[string]bool{},
		packages: map[string]bool{}, embedded: map[string][]string{}, flags: map[string]bool{}}
	quoted := regexp.MustCompile(`"([a-z][a-z-]*)"`)
	for _, file := range tree(t) {
		if path.Ext(file) != ".go" || strings.Contains(file, "testdata/") {
			continue
		}
		parsed, err := parser.ParseFile(n.set, filepath.Join(root, file), nil,
			parser.ParseComments|parser.SkipObjectResolution)
		require.NoError(t, err)
		read := goFile{parsed, strings.TrimSuffix(parsed.Name.Name, "_test"), strings.HasSuffix(file, "_test.go")}
		n.files = append(n.files, read)
		if !strings.HasPrefix(file, "examples/") && read.pkg != "main" {
			n.packages[read.pkg] = true
			n.declare(read)
		}
		if strings.HasPrefix(file, "bus/cmd/busline/") {
			for _, match := range quoted.FindAllStringSubmatch(readFile(t, file), -1) {
				n.flags[match[1]] = true
			}
		}
	}
	return n
}

// declare adds what a file declares.
func (n *names) declare(file goFile) {
	into := n.declared
	if file.isTest {
		into = n.inTests
	}
	add := func(name string) { into[name], into[file.pkg+"."+name] = true, true }
	for _, declaration := range file.parsed.Decls {
		switch declared := declaration.(type) {
		case *ast.FuncDecl:
			if declared.Recv == nil {
				add(declared.Name.Name)
			} else {
				add(typeName(declared.Recv.List[0].Type) + "." + declared.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range declared.Specs {
				switch spec := spec.(type) {
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						add(name.Name)
					}
				case *ast.TypeSpec:
					add(spec.Name.Name)
					n.declareMembers(spec, add)
				}
			}
		}
	}
}

// declareMembers adds the fields or methods of a type.
func (n *names) declareMembers(spec *ast.TypeSpec, add func(string)) {
	var members *ast.FieldList
	switch of := spec.Type.(type) {
	case *ast.StructType:
		members = of.Fields
	case *ast.InterfaceType:
		members = of.Methods
	default: // it may have the members of another type
		n.embedded[spec.Name.Name] = append(n.embedded[spec.Name.Name], typeName(of))
		return
	}
	for _, member := range members.List {
		for _, name := range member.Names {
			add(spec.Name.Name + "." + name.Name)
		}
		if len(member.Names) == 0 {
			embedded := typeName(member.Type)
			add(spec.Name.Name + "." + embedded)
			n.embedded[spec.Name.Name] = append(n.embedded[spec.Name.Name], embedded)
		}
	}
}

// typeName names a type without its package, pointer and parameters, "Conn"; "" if it has no name.
func typeName(of ast.Expr) string {
	switch of := of.(type) {
	case *ast.Ident:
		return of.Name
	case *ast.SelectorExpr:
		return of.Sel.Name
	case *ast.StarExpr:
		return typeName(of.X)
	case *ast.IndexExpr:
		return typeName(of.X)
	case *ast.IndexListExpr:
		return typeName(of.X)
	}
	return ""
}

var (
	indented   = regexp.MustCompile(`(?m)^\t.*$`) // code
	qualified  = regexp.MustCompile(`(?:^|[^\w./$*-])([A-Za-z]\w*)\.([A-Z]\w*)(?:\.([A-Z]\w*))?`)
	linkedName = regexp.MustCompile(`\[\*?([A-Z]\w+)(?:\.([A-Z]\w*))?\](?:[^(\w]|$)`)
	optionName = regexp.MustCompile(`\b(?:With|Without)[A-Z]\w+`)
	flagName   = regexp.MustCompile(`(?:^|\s)--([a-z][a-z-]+)`)
)

// missing returns the names in a text that are not declared: in a comment of a package, or with "" in a page.
func (n *names) missing(text, pkg string, inTest bool) (missing []string) {
	check := func(name string) {
		if !n.has(name, inTest) {
			missing = append(missing, name)
		}
	}
	for _, match := range qualified.FindAllStringSubmatch(text, -1) {
		first, second, third := match[1], match[2], match[3]
		object := strings.ToUpper(first[:1]) + first[1:]
		switch {
		case n.packages[first]:
			check(first + "." + second)
			if third != "" {
				check(second + "." + third)
			}
		case n.packages[pkg] && ast.IsExported(first) && n.has(first, inTest), pkg == "" && n.has(object, false):
			check(object + "." + second)
		}
	}
	if pkg == "" {
		for _, name := range optionName.FindAllString(text, -1) {
			check(name)
		}
		return missing
	}
	for _, match := range linkedName.FindAllStringSubmatch(text, -1) {
		if !n.packages[pkg] {
			break
		}
		check(pkg + "." + match[1])
		if match[2] != "" {
			check(match[1] + "." + match[2])
		}
	}
	return missing
}

// has reports whether a name is declared; that of a member in any type of its name, or in one that is embedded there.
func (n *names) has(name string, inTest bool) bool {
	if n.declared[name] || inTest && n.inTests[name] {
		return true
	}
	of, member, _ := strings.Cut(name, ".")
	for _, embedded := range n.embedded[of] {
		if embedded != of && (!n.has(embedded, true) || n.has(embedded+"."+member, inTest)) {
			return true
		}
	}
	return false
}

// missingFlags returns the flags in a code span that busline does not have, if they are meant to be its.
func (n *names) missingFlags(page, span string) (missing []string) {
	span = strings.Trim(span, "`")
	if !strings.HasPrefix(span, "busline ") && page != "docs/reference/command.md" {
		return nil
	}
	for _, match := range flagName.FindAllStringSubmatch(span, -1) {
		if !n.flags[match[1]] {
			missing = append(missing, "--"+match[1])
		}
	}
	return missing
}
