// Package markdown formats measured figures as tables of a README.
package markdown

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// Table is a table with text in the first column, and figures in the others.
type Table struct {
	Heading []string
	Rows    [][]string
}

// String returns the table in Markdown.
func (t *Table) String() string {
	var text strings.Builder
	line := func(cells []string) { text.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	line(t.Heading)
	text.WriteString("|---|" + strings.Repeat("--:|", len(t.Heading)-1) + "\n")
	for _, row := range t.Rows {
		line(row)
	}
	return text.String()
}

// Number formats a figure with at most the given number of decimals, fewer if it has three digits without them. NaN
// stands for a value that was not measured, and becomes a dash. What rounds to zero has no sign.
func Number(figure float64, decimals int) string {
	if math.IsNaN(figure) || math.IsInf(figure, 0) {
		return "–"
	}
	for limit := 10.0; decimals > 0 && math.Abs(figure) >= limit; limit *= 10 {
		decimals--
	}
	text := strconv.FormatFloat(figure, 'f', decimals, 64)
	if strings.Trim(text, "-0.") == "" {
		return strings.TrimPrefix(text, "-")
	}
	return text
}

// Median returns the middle value, or the mean of the two middle ones; NaN if there are no values.
func Median(figures []float64) float64 {
	if len(figures) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(figures))
	half := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[half]
	}
	return (sorted[half-1] + sorted[half]) / 2
}
