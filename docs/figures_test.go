package docs_test

import (
	"slices"
	"strings"
	"testing"
)

// TestFigures holds the figures of docs/comparison.md to those of
// benchmarks/README.md, from which they are taken: each stands there in a row of
// its peer. When they are measured again, both change.
func TestFigures(t *testing.T) {
	t.Parallel()
	_, measured, _ := strings.Cut(readFile(t, "benchmarks/README.md"), "<!-- begin peers -->")
	measured, _, _ = strings.Cut(measured, "<!-- end peers -->")
	known := make(map[string][]string) // by peer
	for _, row := range tableRows(measured) {
		known[row[0]] = append(known[row[0]], row[1:]...)
	}
	_, compared, _ := strings.Cut(readFile(t, "docs/comparison.md"), "## Figures")
	compared, _, _ = strings.Cut(compared, "\n## ")
	rows := tableRows(compared)
	if len(rows) < 3 {
		t.Fatal("docs/comparison.md: no table of figures")
	}
	for _, row := range rows[2:] { // after the head
		for i, figure := range row[1:] {
			if peer := rows[0][i+1]; !slices.Contains(known[peer], figure) {
				t.Errorf("docs/comparison.md: %s of %s: %s is not in benchmarks/README.md", row[0], peer, figure)
			}
		}
	}
}

// tableRows returns the cells of all table rows in a text.
func tableRows(text string) (rows [][]string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "|-") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows = append(rows, cells)
	}
	return rows
}
