package output

import (
	"errors"
	"slices"
	"strings"
)

// choice is the flag --color.
type choice string

// Values of --color.
const (
	Auto   = "auto"
	Always = "always"
	Never  = "never"
)

// Colors returns the values of --color.
func Colors() []string { return []string{Auto, Always, Never} }

// String implements pflag.Value.
func (c *choice) String() string { return string(*c) }

// Type implements pflag.Value.
func (*choice) Type() string { return "when" }

// Set implements pflag.Value.
func (c *choice) Set(text string) error {
	if !slices.Contains(Colors(), text) {
		return errors.New(strings.Join(Colors(), ", "))
	}
	*c = choice(text)
	return nil
}

// Colours reports whether an output has colours, which is perhaps a terminal.
func (o *Options) Colours(terminal bool, getenv func(string) string) bool {
	return Colours(string(o.color), terminal, getenv)
}

// Colours reports whether an output has colours by a value of --color, "" for the default.
func Colours(color string, terminal bool, getenv func(string) string) bool {
	switch color {
	case Always:
		return true
	case Never:
		return false
	default:
		return Redraws(terminal, getenv) && getenv("NO_COLOR") == ""
	}
}

// Redraws reports whether lines of an output can be written over, which is perhaps a terminal.
func Redraws(terminal bool, getenv func(string) string) bool {
	return terminal && getenv("TERM") != "dumb"
}

// Clean replaces the control characters in foreign text, which must not control the terminal.
func Clean(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && (r < ' ' || '\x7f' <= r && r < '\u00a0') {
			return '\ufffd'
		}
		return r
	}, text)
}

// CleanLine is Clean for text that has to stay on one line.
func CleanLine(text string) string { return strings.Join(strings.Fields(Clean(text)), " ") }
