package cli

import (
	"flag"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"text/tabwriter"
)

const overview = `busline looks at a bus and calls what is on it.

usage: busline [flags] <command> [arguments]
`

const overviewExamples = `  busline ls
  busline describe calculator.example
  busline call calculator.example/add x=5 y=6
`

const environmentHelp = `  BUS_NATS_URL, BUS_PLANE and others, see docs/configuration.md: the broker, and how to log in
  BUS_TOKEN      the token to call with
  BUS_LOG_LEVEL  shows the log of the connection from this level on; default: no log
  NO_COLOR       no colours, whatever the value
`

// help prints the usage of a subcommand, or of the whole command for "".
func (s *session) help(name string) error {
	var text strings.Builder
	chosen := findCommand(name)
	switch {
	case name == "" || name == "help":
		s.writeOverview(&text)
	case chosen == nil:
		return noCommand(name)
	default:
		s.writeHelp(&text, chosen)
	}
	return s.print("%s", text.String())
}

func (s *session) writeOverview(w io.Writer) {
	fmt.Fprint(w, overview)
	fmt.Fprintln(w, "\ncommands")
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, each := range commands() {
		if !each.hidden {
			fmt.Fprintf(table, "  %s\t%s\n", each.name, each.summary)
		}
	}
	fmt.Fprintf(table, "  %s\t%s\n", "help", "how to use a command: busline help call")
	_ = table.Flush() // w reports errors
	fmt.Fprintln(w, "\nflags of all commands")
	writeFlags(w, newSession(Environment{}).newFlags(nil), nil)
	fmt.Fprintf(w, "\nenvironment\n%s\nexit status\n%s\nexamples\n%s", environmentHelp, exitStatuses, overviewExamples)
}

func (s *session) writeHelp(w io.Writer, of *command) {
	fmt.Fprintf(w, "%s\n\n", strings.TrimSpace("usage: busline "+of.name+" [flags] "+of.operands))
	fmt.Fprintf(w, "%s\n", strings.TrimSpace(of.about))
	fresh := newSession(Environment{}) // for the defaults of its flags
	common := fresh.newFlags(nil)
	if own := fresh.newFlags(of); of.flags != nil {
		fmt.Fprintln(w, "\nflags")
		writeFlags(w, own, common)
	}
	fmt.Fprintln(w, "\nflags of all commands")
	writeFlags(w, common, nil)
	fmt.Fprintln(w, "\nexamples")
	for _, example := range of.examples {
		fmt.Fprintf(w, "  %s\n", example)
	}
	fmt.Fprintln(w, "\nbusline --help lists the exit statuses.")
}

// noCommand returns the error for an unknown command.
func noCommand(name string) error {
	return misuse("there is no command %s, see busline --help%s", name, didYouMean(name, commandNames()))
}

// writeFlags lists the flags of a set, without those of another. Two names of one flag share a line.
func writeFlags(w io.Writer, set, except *flag.FlagSet) {
	var lines []flagLine
	set.VisitAll(func(each *flag.Flag) {
		if except != nil && except.Lookup(each.Name) != nil {
			return
		}
		same := func(line flagLine) bool {
			return reflect.ValueOf(line.value).Pointer() == reflect.ValueOf(each.Value).Pointer()
		}
		if at := slices.IndexFunc(lines, same); at >= 0 {
			lines[at].names = append(lines[at].names, dashed(each.Name))
			return
		}
		placeholder, usage := flag.UnquoteUsage(each)
		if hasDefault(each) && !strings.Contains(usage, "(default") {
			usage += " (default " + each.DefValue + ")"
		}
		lines = append(lines, flagLine{each.Value, []string{dashed(each.Name)}, placeholder, usage})
	})
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, line := range lines {
		fmt.Fprintf(table, "  %s\t%s\n", line.text(), line.usage)
	}
	_ = table.Flush() // w reports errors
}

func hasDefault(of *flag.Flag) bool {
	return !slices.Contains([]string{"", "0", "0s", "false"}, of.DefValue)
}

// flagLine is one flag in a help text.
type flagLine struct {
	value              flag.Value
	names              []string
	placeholder, usage string
}

// text returns "-w, --watch", or "    --every time".
func (l flagLine) text() string {
	slices.SortFunc(l.names, func(a, b string) int { return len(a) - len(b) })
	text := strings.Join(l.names, ", ")
	if strings.HasPrefix(text, "--") {
		text = "    " + text
	}
	return strings.TrimRight(text+" "+l.placeholder, " ")
}
