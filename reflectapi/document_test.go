package reflectapi_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// buildTable is the table of builds: which source answered for names and for comments. Only
// regular methods count; they have to agree.
func buildTable(t *testing.T, measured []measurement) string {
	t.Helper()
	columns := []struct {
		title, origin string
		iface         bool
	}{
		{"a struct", "nothing", false},
		{"an interface", "nothing", true},
		{"names in code", "code", false},
		{"signature table", "table", true},
		{"embedded source", "embedded", false},
	}
	table := "| build | source |"
	for _, column := range columns {
		table += " " + column.title + " |"
	}
	table += "\n|" + strings.Repeat("---|", len(columns)+2) + "\n"
	for _, m := range measured {
		table += "| `" + m.build + "` | " + m.source + " |"
		for _, column := range columns {
			cell := agreed(t, m.build+", "+column.title, m.answers, func(a *answer) (string, bool) {
				counts := a.origin == column.origin && isRegular(a.method) &&
					(a.isOfInterface() == column.iface || a.origin != "nothing")
				return a.origins(), counts
			})
			table += " " + cell + " |"
		}
		table += "\n"
	}
	return table
}

// origins is a cell of the table: where names come from, and where comments.
func (a *answer) origins() string {
	switch {
	case a.err != "":
		return "refused"
	case a.comment == "":
		return a.names + ", no comments"
	case a.comment != a.names:
		return a.names + ", comments: " + a.comment
	}
	return a.names
}

func (a *answer) isOfInterface() bool { return strings.Contains(a.method, "/") }

func isRegular(method string) bool {
	return slices.ContainsFunc(shapes, func(s shape) bool { return s.regular && s.has(method) })
}

func (s shape) has(method string) bool {
	return slices.ContainsFunc(s.methods, func(t truth) bool { return t.method == method })
}

// methodTable is the table of methods: which source can name them.
func methodTable(t *testing.T, measured []measurement) string {
	t.Helper()
	table := "| method | source file | DWARF | names in code | signature table | embedded source " +
		"|\n|---|---|---|---|---|---|\n"
	for _, shape := range shapes {
		table += "| " + shape.label + " |"
		for _, column := range []string{"source file", "DWARF", "code", "table", "embedded"} {
			var answers []*answer
			for _, m := range measured {
				answers = append(answers, m.answersBy(column)...)
			}
			cell := agreed(t, shape.label+", "+column, answers, func(a *answer) (string, bool) {
				if a.err != "" {
					return "refused", shape.has(a.method)
				}
				return "yes", shape.has(a.method)
			})
			table += " " + cell + " |"
		}
		table += "\n"
	}
	return table
}

// answersBy picks the answers that a source gave, or could have: of those that are there
// without being given, a build has at most one.
func (m measurement) answersBy(column string) []*answer {
	origin := column
	if column == "source file" || column == "DWARF" {
		origin = "nothing"
		has := func(a *answer) bool { return a.origin == origin && a.names == column }
		if !slices.ContainsFunc(m.answers, has) {
			return nil
		}
	}
	return slices.DeleteFunc(slices.Clone(m.answers), func(a *answer) bool { return a.origin != origin })
}

// agreed is what all answers that count say, "–" when there is none.
func agreed(t *testing.T, where string, answers []*answer, say func(a *answer) (text string, counts bool)) string {
	t.Helper()
	said := "–"
	for _, a := range answers {
		text, counts := say(a)
		switch {
		case !counts:
		case said == "–":
			said = text
		case said != text:
			t.Errorf("%s: %s for %s, %s for another method", where, text, a.method, said)
		}
	}
	return said
}

// checkDocument compares what stands in docs/guides/names.md between <!-- begin name --> and
// <!-- end name --> with what is true. With -update it is written there.
func checkDocument(t *testing.T, name, table string) {
	t.Helper()
	const document = "../docs/guides/names.md"
	text, err := os.ReadFile(document)
	require.NoError(t, err)
	begin, end := "<!-- begin "+name+" -->\n\n", "\n<!-- end "+name+" -->"
	before, rest, found := strings.Cut(string(text), begin)
	got, after, closed := strings.Cut(rest, end)
	require.True(t, found, name)
	require.True(t, closed, name)
	if got == table {
		return
	}
	if !*update {
		t.Errorf("%s has other %s than were measured; go test ./reflectapi -update writes\n%s", document, name, table)
		return
	}
	require.NoError(t, os.WriteFile(document, []byte(before+begin+table+end+after), 0o644))
}
