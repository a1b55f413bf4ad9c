package cli_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
)

// manual is the file with the sessions to be checked.
const manual = "../../../../../docs/reference/command.md"

// TestManual runs the sessions of docs/reference/command.md, one after the other on one bus, and compares what comes
// back.
func TestManual(t *testing.T) {
	t.Parallel()
	m := newManual(t)
	text, err := os.ReadFile(manual)
	require.NoError(t, err)
	const begins, ends = "```console\n", "```"
	var written strings.Builder
	rest := string(text)
	for {
		before, behind, found := strings.Cut(rest, begins)
		written.WriteString(before)
		if !found {
			break
		}
		session, after, _ := strings.Cut(behind, ends)
		written.WriteString(begins + m.play(session) + ends)
		rest = after
	}
	if m.played == 0 {
		t.Error("there is no session")
	}
	switch {
	case written.String() == string(text):
	case *update:
		require.NoError(t, os.WriteFile(manual, []byte(written.String()), 0o600))
	default:
		t.Errorf("docs/reference/command.md is not what comes back; go test -update writes it anew:\n%s", written.String())
	}
}

// manualBus is the bus of the sessions.
type manualBus struct {
	*terminal
	real, shown []string // what differs each time, and what stands for it
	played      int
}

func newManual(t *testing.T) *manualBus {
	m := &manualBus{terminal: newTerminal(t)}
	messaging := []*bus.Conn{m.serveMessaging(), m.serveMessaging(), m.serveMessaging()}
	slices.SortFunc(messaging, func(a, b *bus.Conn) int { return strings.Compare(a.ID(), b.ID()) })
	payroll, _ := m.servePayroll()
	conns := slices.Concat(messaging, []*bus.Conn{m.serveCalculator(), m.serveProducts(), payroll, m.servePortal()})
	ids := []string{"k3x0messag", "n1c0messag", "u7e0messag", "c4l0calcul", "p2o0produc", "y8a0payrol", "w5p0portal"}
	for i, conn := range conns {
		m.real, m.shown = append(m.real, conn.ID()), append(m.shown, ids[i])
	}
	return m
}

// play runs the lines of a session that begin with a dollar sign, and returns the session with their output.
func (m *manualBus) play(session string) string {
	var played strings.Builder
	lines := strings.SplitAfter(session, "\n")
	for i, line := range lines {
		command, isCommand := strings.CutPrefix(line, "$ busline ")
		if !isCommand {
			continue
		}
		m.played++
		var before strings.Builder
		for _, output := range lines[i+1:] {
			if strings.HasPrefix(output, "$ ") {
				break
			}
			before.WriteString(output)
		}
		played.WriteString(line)
		played.WriteString(m.output(strings.TrimSpace(command), before.String()))
	}
	return played.String()
}

// output runs a command line. If the output differs from the previous one only in figures, the previous one is kept.
func (m *manualBus) output(command, before string) string {
	m.t.Helper()
	got := m.run(m.t.Context(), nil, words(replace(command, m.shown, m.real))...)
	text := replace(strings.ReplaceAll(got.stdout+got.stderr, m.bus.Plane(), "bus"), m.real, m.shown)
	text = regexp.MustCompile(`[A-Z2-7]{26}`).ReplaceAllString(text, "HOVTTL3BIZDJNXDRLOVA3EBXBP")
	if strings.Contains(command, "--all") { // answers come in no order
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		slices.Sort(lines)
		text = strings.Join(lines, "\n") + "\n"
	}
	figures := regexp.MustCompile(`\d+(\.\d+)?`)
	if strings.HasPrefix(command, "bench") && figures.ReplaceAllString(text,
		"0") == figures.ReplaceAllString(before, "0") {
		return before
	}
	return text
}

func replace(text string, from, to []string) string {
	var pairs []string
	for i := range from {
		pairs = append(pairs, from[i], to[i])
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// words splits a command line like a shell, as far as the sessions need it.
func words(line string) (all []string) {
	quoted := false
	word := ""
	for _, r := range line + " " {
		switch {
		case r == '\'':
			quoted = !quoted
		case r == ' ' && !quoted:
			all, word = append(all, word), ""
		default:
			word += string(r)
		}
	}
	return all
}
