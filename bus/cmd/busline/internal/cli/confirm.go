package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// confirm asks whether something shall be done, such as "delete 2 dead letters", and returns an error unless the answer
// is yes. yes means that the command line has the answer.
func (s *session) confirm(ctx context.Context, what string, yes bool) error {
	if yes {
		return nil
	}
	what = cleanLine(what)
	if !s.StdinTerminal {
		return misuse("add --yes to %s: standard input is no terminal on which to ask", what)
	}
	fmt.Fprintf(s.Stderr, "%s? [y/N] ", what)
	answer, err := abandonable(ctx, func() ([]byte, error) { return bufio.NewReader(s.Stdin).ReadBytes('\n') })
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	switch strings.ToLower(strings.TrimSpace(string(answer))) {
	case "y", "yes":
		return nil
	default:
		return &failure{status: failed, err: errors.New("nothing was changed")}
	}
}

// progress shows on a terminal how much of a long job is done, on a line that is written over.
type progress struct {
	session *session
	what    string // "delivered again"
	total   int
	done    int
}

const startOfLine, restOfLine = "\r", "\x1b[K"

// step shows that one more is done.
func (p *progress) step() {
	p.done++
	if p.session.StderrTerminal {
		fmt.Fprintf(p.session.Stderr, "%s%d of %d %s%s", startOfLine, p.done, p.total, p.what, restOfLine)
	}
}

// end removes the line.
func (p *progress) end() {
	if p.session.StderrTerminal && p.done > 0 {
		fmt.Fprint(p.session.Stderr, startOfLine+restOfLine)
	}
}
