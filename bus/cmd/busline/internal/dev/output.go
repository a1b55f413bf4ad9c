package dev

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
)

// longestLine is how much of a line is held until it ends.
const longestLine = 64 << 10

// output joins the lines of several programs. It is safe for concurrent use.
type output struct {
	colours bool
	width   int // of the longest name

	mu    sync.Mutex // protects all below
	to    io.Writer
	names int
}

func newOutput(to io.Writer, colours bool, programs []*program) *output {
	o := &output{to: to, colours: colours, width: len("gateway")}
	for _, each := range programs {
		o.width = max(o.width, len(each.name))
	}
	return o
}

// lines are those of one program.
type lines struct {
	of     *output
	name   string
	colour int

	mu   sync.Mutex // protects rest
	rest []byte     // of a line that has not ended
}

// lines returns the writer for a program's lines.
func (o *output) lines(name string) *lines {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.names++
	const first, colours = 31, 6 // of the terminal, without black and white
	return &lines{of: o, name: name, colour: first + o.names%colours}
}

// Write writes the lines that are complete. It never fails: a program must not end because of its output.
func (l *lines) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest = append(l.rest, text...)
	for {
		line, rest, isWhole := bytes.Cut(l.rest, []byte("\n"))
		if !isWhole && len(line) < longestLine {
			return len(text), nil
		}
		l.rest = append([]byte(nil), rest...)
		l.of.write(l, string(line))
	}
}

// printf writes lines about the program.
func (l *lines) printf(format string, values ...any) {
	for line := range strings.Lines(fmt.Sprintf(format, values...)) {
		l.of.write(l, "• "+strings.TrimRight(line, "\n"))
	}
}

func (o *output) write(l *lines, line string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	name := fmt.Sprintf("%-*s │", o.width, l.name)
	if o.colours {
		name = fmt.Sprintf("\x1b[%dm%s\x1b[0m", l.colour, name)
	}
	_, _ = fmt.Fprintf(o.to, "%s %s\n", name, strings.TrimRight(line, "\r"))
}
