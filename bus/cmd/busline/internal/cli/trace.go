package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/trace"
)

func (s *session) newTrace() *cobra.Command {
	lines := false
	c := prints(&cobra.Command{
		Use:   "trace <id>",
		Short: "The calls of one trace, as a waterfall",
		Long: `Asks every instance what it remembers of a trace: the calls that it has made and served. Services do so
with the option trace.Record. The id is in problems, in logs and in the output of tap; a whole Traceparent
will do. A call has a line at its caller and one at its callee: a bar that says when, how long it took,
what was left of its time budget, and its status. Below it stand the error, what is missing in between,
by how much the clock of a machine was corrected, and of a failed call the last lines that its handler
has logged. Instances that do not answer are named; the rest is shown.`,
		Example: examples("busline trace 4bf92f3577b34da6a3ce929d0e0e4736",
			"busline call --trace calculator.example/add x=5 y=6", "busline trace --jq .roots $id"),
		Args: func(_ *cobra.Command, operands []string) error {
			if len(operands) != 1 {
				return misuse("pass the id of one trace, as problems, logs and busline tap --json name it")
			}
			return nil
		},
		RunE: func(c *cobra.Command, operands []string) error {
			id, err := trace.ParseID(operands[0])
			if err != nil {
				return misuse("%w", err)
			}
			return s.trace(c.Context(), id, lines, s.Stdout)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	})
	c.Flags().BoolVar(&lines, "lines", false, "show the log lines of every call, and not only of those that have failed")
	return c
}

// trace gathers and prints a trace.
func (s *session) trace(ctx context.Context, id string, lines bool, to io.Writer) error {
	conn, err := s.join(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := s.limited(ctx)
	defer cancel()
	gathered, err := trace.Gather(ctx, conn, id)
	if err != nil {
		return err
	}
	if !s.settings.IsJSON() || len(gathered.Roots) == 0 {
		s.noteMissing(gathered)
	}
	if len(gathered.Roots) == 0 {
		return &failure{status: absent, err: errors.New("no instance remembers trace " + id + ": its calls are " +
			"still running or older than what the memory of their instances holds, or the services do not use trace.Record")}
	}
	switch {
	case s.settings.IsJSON() && to == s.Stdout:
		return s.print("%s\n", jsonOf(gathered))
	case s.settings.IsJSON():
		text, err := s.settings.Format(jsonOf(gathered))
		if err == nil {
			_, err = to.Write(text)
		}
		return err
	}
	w := waterfall{style: s.style(), lines: lines}
	if to == s.Stderr {
		w.style = s.errorStyle()
	}
	for _, root := range gathered.Roots {
		w.begin(root)
		w.write(root, 0)
	}
	_, err = io.WriteString(to, w.text.String())
	return err
}

// noteMissing says what a trace does not have.
func (s *session) noteMissing(of *trace.Trace) {
	const most = 10
	if of.Without > 0 {
		verb := "do"
		if of.Without == 1 {
			verb = "does"
		}
		s.notef("%d of %s %s not use trace.Record", of.Without, plural(of.Instances, "instance"), verb)
	}
	for i, each := range of.Failed {
		if i == most {
			s.notef("%d more have not answered", len(of.Failed)-most)
			break
		}
		s.notef("%s.%s: %s", cleanLine(each.ID), cleanLine(each.Host), cleanLine(each.Why))
	}
	if of.LeftOut > 0 {
		s.notef("%s left out", plural(of.LeftOut, "call"))
	}
}

// waterfall writes the tree of a trace.
type waterfall struct {
	style style
	lines bool // of all calls, not only of those that have failed
	text  strings.Builder
	from  time.Time
	span  time.Duration // of the tree that is being written
}

const (
	barWidth  = 24
	maxIndent = 30 // levels
	textAt    = barWidth + 26
)

// begin begins a tree.
func (w *waterfall) begin(root *trace.Node) {
	w.from = root.Began
	w.span = max(1, endOf(root).Sub(root.Began))
}

// endOf returns when the last call of a tree has ended.
func endOf(n *trace.Node) time.Time {
	end := n.Began.Add(n.Took)
	for _, child := range n.Children {
		if of := endOf(child); of.After(end) {
			end = of
		}
	}
	return end
}

// write writes a call, and below it what it has caused.
func (w *waterfall) write(n *trace.Node, depth int) {
	indent := strings.Repeat("  ", min(depth, maxIndent))
	fmt.Fprintf(&w.text, "%s  %7.2f ms  %10s  %s%s\n", w.bar(n), milliseconds(n.Took), budgetOf(&n.Call), indent,
		w.callText(n))
	below := func(style func(string) string, text string) {
		if text = cleanLine(text); text != "" { // its colour comes later: it begins with a control character
			w.text.WriteString(strings.Repeat(" ", textAt) + indent + "  " + style(text) + "\n")
		}
	}
	below(w.style.dim, n.Gap)
	if shift := n.Shift.Round(time.Millisecond); shift != 0 {
		below(w.style.dim, fmt.Sprintf("clock %+d ms", -shift.Milliseconds()))
	}
	below(w.style.red, n.Error)
	if w.lines || n.Status >= http.StatusBadRequest {
		if n.LinesBefore > 0 {
			below(w.style.dim, plural(n.LinesBefore, "log line")+" before")
		}
		for _, line := range n.Lines {
			below(w.style.plain, "│ "+line)
		}
	}
	for _, child := range n.Children {
		w.write(child, depth+1)
	}
}

// bar draws when a call ran.
func (w *waterfall) bar(n *trace.Node) string {
	place := func(at time.Time) int {
		share := float64(at.Sub(w.from)) / float64(w.span)
		return int(math.Round(min(max(share, 0), 1) * barWidth))
	}
	from := min(place(n.Began), barWidth-1)
	width := max(1, place(n.Began.Add(n.Took))-from)
	return strings.Repeat("·", from) + strings.Repeat("█", width) + strings.Repeat("·", barWidth-from-width)
}

// callText says who calls whom, and with what result.
func (w *waterfall) callText(n *trace.Node) string {
	who := cleanLine(n.ToID + "." + n.To)
	if n.Side == bus.ClientSide {
		who = cleanLine(n.From) + " → " + cleanLine(n.To)
	}
	if n.Port != subject.PublicPort {
		who += ":" + strconv.Itoa(n.Port)
	}
	status := strconv.Itoa(n.Status)
	if n.Status >= http.StatusBadRequest {
		status = w.style.red(status)
	}
	text := who + "  " + cleanLine(n.Method) + " " + cleanLine(n.Path) + "  " + status
	if n.Attempts > 1 {
		text += fmt.Sprintf("  %d attempts", n.Attempts)
	}
	if n.Multicast && !n.IsEvent() {
		text += "  " + plural(n.Answers, "answer")
	}
	if n.Stream {
		text += fmt.Sprintf("  stream, %d bytes", n.ResponseBytes)
	}
	if n.Side == bus.ClientSide && n.Error != "" && n.Executed == bus.ExecutedUnknown {
		text += "  outcome unknown"
	}
	return text
}

// budgetOf says what was left of the time of a call.
func budgetOf(c *trace.Call) string {
	switch {
	case c.Budget <= 0:
		return ""
	case c.Left < 0 && c.Stream: // the budget was for its beginning
		return "stream"
	case c.Left < 0:
		return "over"
	default:
		return c.Left.Round(max(time.Millisecond, c.Left/1000)).Truncate(time.Millisecond).String() + " left"
	}
}
