package cli

import (
	"cmp"
	"context"
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/busline/busline/bus"
)

// Environment is the environment of a run of the command.
type Environment struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// StdoutTerminal and StderrTerminal say whether the output is a terminal. Default: it is not.
	StdoutTerminal, StderrTerminal bool
	// Height returns how many lines the terminal of Stdout has now, 0 if that is unknown. Default: unknown.
	Height func() int
	// Getenv returns environment variables: BUS_TOKEN, BUS_LOG_LEVEL, NO_COLOR, TERM. bus.Connect reads its variables
	// itself.
	Getenv func(name string) string
	// Connect are options for joining the bus, for tests; flags override them. Default: as the environment says.
	Connect []bus.ConnectOption
}

// Run runs one command line, without the name of the program, and returns the exit status that --help lists. When ctx
// ends, it stops and returns 130. It closes everything that it opens.
func Run(ctx context.Context, environment Environment, arguments []string) (status int) {
	s := newSession(environment)
	root := s.newRoot()
	root.SetArgs(withTwoDashes(root, arguments))
	chosen, err := root.ExecuteContextC(ctx)
	s.command = chosen.CommandPath()
	err = errors.Join(err, s.help.err, s.close())
	if ctx.Err() != nil && err != nil {
		return interrupted
	}
	return s.explain(err)
}

const overview = `busline looks at a bus and calls what is on it.

Environment:
  BUS_NATS_URL, BUS_PLANE and others, see docs/configuration.md: the broker, and how to log in
  BUS_TOKEN      the token to call with
  BUS_LOG_LEVEL  shows the log of the connection from this level on; default: no log
  NO_COLOR       no colours, whatever the value

Exit status:
` + exitStatuses

// newRoot returns the command busline with its subcommands, which share the session.
func (s *session) newRoot() *cobra.Command {
	const explore, call, operate = "explore", "call", "operate"
	version := false
	root := &cobra.Command{
		Use:           "busline",
		Long:          overview,
		Example:       examples("busline ls", "busline describe calculator.example", "busline call calculator.example/add x=5 y=6"),
		SilenceErrors: true, // Run prints them
		SilenceUsage:  true,
		Args: func(c *cobra.Command, operands []string) error {
			if len(operands) > 0 {
				return noCommand(c, operands[0])
			}
			return nil
		},
		PersistentPreRunE: func(c *cobra.Command, _ []string) error {
			s.command = c.CommandPath()
			s.settings.timeoutGiven = c.Flags().Changed("timeout")
			return s.settings.check()
		},
		RunE: func(c *cobra.Command, _ []string) error {
			if version {
				return s.version()
			}
			c.SetOut(s.Stderr)
			return errors.Join(c.Help(), &failure{status: misused})
		},
	}
	root.SetIn(s.Stdin)
	root.SetOut(&s.help)
	root.SetErr(s.Stderr)
	root.SetFlagErrorFunc(flagError)
	root.Flags().SetInterspersed(false) // what follows an unknown command is not examined
	root.Flags().BoolVar(&version, "version", false, "print the version, like the command version")
	s.settings.register(root.PersistentFlags())
	root.AddGroup(&cobra.Group{ID: explore, Title: "Explore:"}, &cobra.Group{ID: call, Title: "Call:"}, &cobra.Group{ID: operate, Title: "Operate:"})
	for group, commands := range map[string][]*cobra.Command{
		explore: {s.newList(), s.newDescribe(), s.newDocs(), s.newTap()},
		call:    {s.newCall(), s.newBench()},
		operate: {s.newParked(), s.newToken(), s.newPermissions()},
		"":      {newCompletion(), s.newVersion()},
	} {
		for _, each := range commands {
			each.GroupID = group
			root.AddCommand(each)
		}
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpCommand(newHelp())
	return root
}

// helpWriter writes help, and keeps an error, which cobra drops.
type helpWriter struct {
	io.Writer
	err error
}

func (w *helpWriter) Write(text []byte) (int, error) {
	n, err := w.Writer.Write(text)
	w.err = cmp.Or(w.err, err)
	return n, err
}

// newHelp returns the command help. That of cobra succeeds for an unknown command.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [command]",
		Short: "How to use a command: busline help call",
		RunE: func(c *cobra.Command, names []string) error {
			of, unknown, err := c.Root().Find(names)
			if err != nil || len(unknown) > 0 {
				return noCommand(c.Root(), strings.Join(names, " "))
			}
			of.InitDefaultHelpFlag()
			return of.Help()
		},
		ValidArgsFunction: func(c *cobra.Command, names []string, word string) ([]string, cobra.ShellCompDirective) {
			if len(names) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return startingWith(word, commandNames(c.Root())), cobra.ShellCompDirectiveNoFileComp
		},
	}
}

// noCommand returns the error for an unknown command.
func noCommand(root *cobra.Command, name string) error {
	return misuse("there is no command %s, see busline --help%s", name, didYouMean(name, commandNames(root)))
}

// commandNames returns the names that help shows.
func commandNames(root *cobra.Command) (names []string) {
	for _, each := range root.Commands() {
		if each.IsAvailableCommand() || each.Name() == "help" {
			names = append(names, each.Name())
		}
	}
	return names
}

// examples returns the examples of a command, as its help shows them.
func examples(lines ...string) string { return "  " + strings.Join(lines, "\n  ") }
