package cli

import (
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/busline/busline/bus/cmd/busline/internal/output"
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

// headed formats a table whose first row is its heading.
func (s *session) headed(rows table) string {
	var plain strings.Builder
	rows.write(&plain, "")
	heading, rest, _ := strings.Cut(plain.String(), "\n")
	return s.style().bold(heading) + "\n" + rest
}

func yesOrNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

// style colours text if the output is a terminal and the user has not disabled colours.
type style struct{ on bool }

// style returns the style of standard output.
func (s *session) style() style { return style{s.settings.Colours(s.StdoutTerminal, s.Getenv)} }

// errorStyle returns the style of standard error.
func (s *session) errorStyle() style { return style{s.settings.Colours(s.StderrTerminal, s.Getenv)} }

// Colours reports whether standard output has colours, for a subcommand that prints itself.
func Colours(c *cobra.Command, environment Environment) bool {
	return output.Colours(c.Flag("color").Value.String(), environment.StdoutTerminal, environment.Getenv)
}

func (s style) wrap(code, text string) string {
	if !s.on || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s style) plain(text string) string { return text }
func (s style) bold(text string) string  { return s.wrap("1", text) }
func (s style) dim(text string) string   { return s.wrap("2", text) }
func (s style) red(text string) string   { return s.wrap("31", text) }

// clean replaces the control characters in foreign text, which must not control the terminal.
func clean(text string) string { return output.Clean(text) }

// cleanLine is clean for text that has to stay on one line.
func cleanLine(text string) string { return output.CleanLine(text) }
