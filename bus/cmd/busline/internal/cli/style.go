package cli

import "strings"

// style colours text if the output is a terminal and the user has not disabled colours.
type style struct{ on bool }

func (s *session) colourful() bool { return s.Getenv("NO_COLOR") == "" && s.Getenv("TERM") != "dumb" }

// style returns the style of standard output.
func (s *session) style() style { return style{s.StdoutTerminal && s.colourful()} }

// errorStyle returns the style of standard error.
func (s *session) errorStyle() style { return style{s.StderrTerminal && s.colourful()} }

func (s style) wrap(code, text string) string {
	if !s.on || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s style) bold(text string) string { return s.wrap("1", text) }
func (s style) dim(text string) string  { return s.wrap("2", text) }
func (s style) red(text string) string  { return s.wrap("31", text) }

// clean replaces the control characters in foreign text, which must not control the terminal.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && (r < ' ' || '\x7f' <= r && r < '\u00a0') {
			return '\ufffd'
		}
		return r
	}, text)
}

// cleanLine is clean for text that has to stay on one line.
func cleanLine(text string) string { return strings.Join(strings.Fields(clean(text)), " ") }
