package cli

import (
	"strings"
	"unicode/utf8"
)

// table aligns cells, and wraps the notes after them so that the page stays narrow.
type table []tableRow

type tableRow struct {
	cells []string // none has a line break
	notes string
}

const (
	pageWidth    = 100
	leastForText = 30 // characters for notes, however wide the cells are
	cellGap      = "  "
)

func (t *table) add(notes string, cells ...string) {
	for len(cells) > 0 && cells[len(cells)-1] == "" && notes == "" {
		cells = cells[:len(cells)-1]
	}
	*t = append(*t, tableRow{cells, notes})
}

// write writes the rows, each indented. The last cell of a row does not widen its column if nothing follows it.
func (t table) write(text *strings.Builder, indent string) {
	var widths []int
	for _, row := range t {
		for i, cell := range row.cells {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			if i < len(row.cells)-1 || row.notes != "" {
				widths[i] = max(widths[i], utf8.RuneCountInString(cell))
			}
		}
	}
	for _, row := range t {
		row.write(text, indent, widths)
	}
}

func (r *tableRow) write(text *strings.Builder, indent string, widths []int) {
	line := indent
	for i, cell := range r.cells {
		if cell == "" && widths[i] == 0 {
			continue
		}
		line += cell + strings.Repeat(" ", max(0, widths[i]-utf8.RuneCountInString(cell))) + cellGap
	}
	begin := utf8.RuneCountInString(line)
	width := begin
	for word := range strings.FieldsSeq(r.notes) {
		count := utf8.RuneCountInString(word)
		if width > begin && width+count > max(pageWidth, begin+leastForText) {
			text.WriteString(strings.TrimRight(line, " ") + "\n")
			line, width = strings.Repeat(" ", begin), begin
		}
		line += word + " "
		width += count + 1
	}
	text.WriteString(strings.TrimRight(line, " ") + "\n")
}
