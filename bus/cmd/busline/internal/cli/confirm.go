package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/busline/busline/bus/cmd/busline/internal/output"
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
	total   int    // 0: not known
	done    int
	shown   time.Time
}

// step shows that one more is done, not more often than can be read.
func (p *progress) step() {
	p.done++
	if now := time.Now(); p.done == p.total || now.Sub(p.shown) >= progressEvery {
		p.shown = now
		p.session.showProgress(p.text())
	}
}

func (p *progress) text() string {
	if p.total == 0 {
		return fmt.Sprintf("%d %s", p.done, p.what)
	}
	return fmt.Sprintf("%d of %d %s", p.done, p.total, p.what)
}

// end removes the line.
func (p *progress) end() {
	if p.done > 0 {
		p.session.showProgress("")
	}
}

// progressEvery is the time between two texts that are shown.
const progressEvery = 200 * time.Millisecond

// showProgress writes a text over the last one, if standard error is a terminal.
func (s *session) showProgress(text string) {
	const startOfLine, restOfLine = "\r", "\x1b[K"
	if output.Redraws(s.StderrTerminal, s.Getenv) {
		fmt.Fprint(s.Stderr, startOfLine+text+restOfLine)
	}
}
