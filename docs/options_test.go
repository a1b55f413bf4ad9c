package docs_test

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/printer"
	"go/token"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// optionTable is one of the tables in docs/reference/configuration.md: the options of one call.
type optionTable struct {
	name  string            // of the marks around it
	pkg   string            // where the options are, "bus"
	types map[string]string // the types that such an option may have, and where it can stand then
}

var optionTables = []optionTable{
	{"options of Connect", "bus", map[string]string{"ConnectOption": ""}},
	{"options of Run", "bus", map[string]string{"RunOption": ""}},
	{"options of Serve", "bus", map[string]string{
		"ServeOption": "`Serve`", "MethodOption": "`Method`", "ServiceOption": "`Serve`, `Subscribe`",
		"EndpointOption": "`Serve`, `Method`, `Handle`", "HandlerOption": "all four",
		"ClaimsOption": "all four, `NewPublisher`", "DescriptionOption": "`Method`, `Handle`",
	}},
	{"options of events", "bus/events", map[string]string{
		"PublishOption": "`NewPublisher`", "SubscribeOption": "`Subscribe`", "DurableOption": "`NewPublisher`, `Subscribe`",
	}},
	{"options of interceptors", "bus/interceptors",
		map[string]string{"RetryOption": "`Retry`", "BreakerOption": "`CircuitBreaker`", "HedgeOption": "`Hedge`"}},
	{"options of telemetry", "bus/otelbus", map[string]string{"Option": ""}},
	{"options of traces", "bus/trace", map[string]string{"Option": ""}},
	{"options of the ingress", "portal/ingress", map[string]string{"Option": "`New`", "ServerOption": "`Listen`"}},
	{"options of the portal", "portal", map[string]string{"RegisterOption": ""}},
	{"options of the tools", "portal/mcp", map[string]string{"Option": ""}},
	{"options of the broker", "bus/broker", map[string]string{"Option": ""}},
	{"options of msgsvc", "msgsvc", map[string]string{"Option": ""}},
}

// TestOptions holds docs/reference/configuration.md to the doc comments: every exported option
// has its row, with the first sentence and the default of its comment. One whose
// comment names no default fails, unless it has none to name.
func TestOptions(t *testing.T) {
	t.Parallel()
	for _, table := range optionTables {
		options := readOptions(t, table)
		if len(options) == 0 {
			t.Errorf("%s: none found in %s", table.name, table.pkg)
		}
		checkBetween(t, "docs/reference/configuration.md", table.name, "\n"+optionRows(options)+"\n")
	}
}

// option is a function that makes one.
type option struct{ call, where, text, fallback string }

func optionRows(options []option) string {
	head, line := "| option | what it does | default |\n", "|---|---|---|\n"
	several := slices.ContainsFunc(options, func(o option) bool { return o.where != "" })
	if several {
		head, line = "| option | in | what it does | default |\n", "|---|---|---|---|\n"
	}
	text := head + line
	for _, each := range options {
		text += "| `" + each.call + "` | "
		if several {
			text += each.where + " | "
		}
		text += cell(each.text) + " | " + cell(each.fallback) + " |\n"
	}
	return text
}

var (
	docLink   = regexp.MustCompile(`\[([\w.]+)\]`)
	noDefault = []string{"Method", "ExcludeMethods"}
)

// cell is text as it can stand in a table.
func cell(text string) string {
	text = docLink.ReplaceAllString(strings.ReplaceAll(text, "|", `\|`), "`$1`")
	return variable.ReplaceAllString(text, "`$0`")
}

// readOptions returns the options of a table, in the order of the source; those
// of a file named after them come first.
func readOptions(t *testing.T, table optionTable) []option {
	t.Helper()
	var options []option
	files := tree(t)
	slices.SortStableFunc(files, func(a, b string) int { return rank(a) - rank(b) })
	for _, file := range files {
		if path.Dir(file) != table.pkg || path.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, filepath.Join(root, file), nil, parser.ParseComments|parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, declaration := range parsed.Decls {
			made, isFunction := declaration.(*ast.FuncDecl)
			if !isFunction || made.Recv != nil || !made.Name.IsExported() {
				continue
			}
			if where, isOption := table.types[resultType(made)]; isOption {
				options = append(options, readOption(t, path.Base(table.pkg), set, made, where))
			}
		}
	}
	return options
}

func rank(file string) int {
	if path.Base(file) == "options.go" {
		return 0
	}
	return 1
}

// resultType names what a function returns: a type of its package, or several
// that are embedded in an interface, joined by "+".
func resultType(function *ast.FuncDecl) string {
	if function.Type.Results == nil || len(function.Type.Results.List) != 1 {
		return ""
	}
	switch result := function.Type.Results.List[0].Type.(type) {
	case *ast.Ident:
		return result.Name
	case *ast.InterfaceType:
		var names []string
		for _, each := range result.Methods.List {
			if name, isName := each.Type.(*ast.Ident); isName {
				names = append(names, name.Name)
			}
		}
		return strings.Join(names, "+")
	}
	return ""
}

func readOption(t *testing.T, pkg string, set *token.FileSet, made *ast.FuncDecl, where string) option {
	t.Helper()
	name, comment := made.Name.Name, strings.Join(strings.Fields(made.Doc.Text()), " ")
	_, fallback, hasDefault := strings.Cut(comment, "Default: ")
	if !hasDefault && !slices.Contains(noDefault, name) {
		t.Errorf("%s.%s: the comment says no default; end it with \"Default: ….\"", pkg, name)
	}
	fallback, _, _ = strings.Cut(strings.TrimSuffix(fallback, "."), ". ")
	sentence, about := strings.CutPrefix(new(doc.Package).Synopsis(made.Doc.Text()), name+" ")
	sentence, _, _ = strings.Cut(sentence, " Default: ")
	if !about || sentence == "" {
		t.Errorf("%s.%s: the comment does not begin with its name", pkg, name)
		return option{call: pkg + "." + name}
	}
	var parameters bytes.Buffer
	require.NoError(t, printer.Fprint(&parameters, set, &ast.FuncType{Params: made.Type.Params}))
	return option{
		call:     fmt.Sprintf("%s.%s%s", pkg, name, strings.TrimPrefix(parameters.String(), "func")),
		where:    where,
		text:     strings.ToUpper(sentence[:1]) + sentence[1:],
		fallback: cmp.Or(fallback, "–"),
	}
}
