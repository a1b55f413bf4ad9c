package cli

import (
	"cmp"
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/cmd/busline/internal/contexts"
	"github.com/busline/busline/bus/cmd/busline/internal/output"
	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/reflectapi/similar"
)

// Environment is the environment of a run of the command.
type Environment struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// StdoutTerminal and StderrTerminal say whether the output is a terminal. Default: it is not.
	StdoutTerminal, StderrTerminal bool
	// StdinTerminal says whether Stdin is a terminal, on which to ask before something is deleted. Default: it is not.
	StdinTerminal bool
	// Height returns how many lines the terminal of Stdout has now, 0 if that is unknown. Default: unknown.
	Height func() int
	// Getenv returns environment variables: BUS_TOKEN, BUS_LOG_LEVEL, NO_COLOR, TERM, and what contexts keep. bus.Connect
	// reads its variables itself.
	Getenv func(name string) string
	// Setenv sets variables of the process to those of a context. Default: there are no contexts.
	Setenv func(name, value string) error
	// Connect are options for joining the bus, for tests; flags override them. Default: as the environment says.
	Connect []bus.ConnectOption
	// ReadOnly refuses what may change something, hides it in the tree, and reads no files. Default: all is done.
	ReadOnly bool
	// FilesOnly refuses to read files that may have no end, such as devices and pipes. Default: they are read.
	FilesOnly bool
	// More return further subcommands, of packages above, for one run. Default: none.
	More []Subcommand
}

// Subcommand makes a subcommand for one run.
type Subcommand func(Environment) *cobra.Command

// Run runs one command line, without the name of the program, and returns the exit status that --help lists. When ctx
// ends, it stops and returns 130. It closes everything that it opens.
func Run(ctx context.Context, environment Environment, arguments []string) (status int) {
	s := newSession(environment)
	root := s.newRoot()
	root.SetArgs(withTwoDashes(root, arguments))
	chosen, err := root.ExecuteContextC(ctx)
	s.command = chosen.CommandPath()
	err = errors.Join(err, s.help.err, s.close())
	if failed := s.closeOutput(); err == nil {
		err = failed
	}
	if ctx.Err() != nil && err != nil {
		return Interrupted
	}
	return s.explain(err)
}

// Tree returns the subcommands as one run has them, to read their names, flags and help.
func Tree(environment Environment) *cobra.Command { return newSession(environment).newRoot() }

// Annotations in the tree.
const (
	// Changes is at a command that changes something, and at a flag with which one does.
	Changes = "changes"
	// MayChange is at a command of which the operands say whether it changes something.
	MayChange = "may change"
	// Endless is at a command that ends when it is interrupted.
	Endless = "endless"
	// Choices are the values that a flag may have.
	Choices = "choices"
	// Prints are the formats of the results of a command, separated by spaces.
	Prints = "prints"
)

// prints annotates a command that prints JSON, and thus YAML, with these and further formats of its results.
func prints(c *cobra.Command, more ...string) *cobra.Command {
	if c.Annotations == nil {
		c.Annotations = make(map[string]string)
	}
	c.Annotations[Prints] = strings.Join(append([]string{output.JSON, output.YAML}, more...), " ")
	return c
}

// formatsOf returns the formats of the results of a command, none if it has only text.
func formatsOf(c *cobra.Command) []string { return strings.Fields(c.Annotations[Prints]) }

// annotated are the annotations of a command that has one of them.
func annotated(name string) map[string]string { return map[string]string{name: "yes"} }

// annotateFlag gives a flag an annotation.
func annotateFlag(set *pflag.FlagSet, flag, name string, values ...string) {
	_ = set.SetAnnotation(flag, name, values) // it is in the set
}

const overview = `busline looks at a bus and calls what is on it.

Environment:
  BUS_NATS_URL, BUS_PLANE and others, see docs/reference/configuration.md: the broker, and how to log in
  BUS_TOKEN      the token to call with
  BUS_LOG_LEVEL  shows the log of the connection from this level on; default: no log
  NO_COLOR       no colours, whatever the value
  BUSLINE_CONTEXT and BUSLINE_CONFIG, see busline context --help: buses by name

Exit status:
` + exitStatuses

// newRoot returns the command busline with its subcommands, which share the session.
func (s *session) newRoot() *cobra.Command {
	const explore, call, operate = "explore", "call", "operate"
	version := false
	root := prints(&cobra.Command{
		Use:  "busline",
		Long: overview,
		Example: examples("busline ls", "busline describe calculator.example",
			"busline call calculator.example/add x=5 y=6"),
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
			if err := s.settings.Check(formatsOf(c)); err != nil {
				return misuse("%w", err)
			}
			s.openOutput(c.Context())
			return errors.Join(s.settings.check(), s.checkReadOnly(c))
		},
		RunE: func(c *cobra.Command, _ []string) error {
			if version {
				return s.version()
			}
			c.SetOut(s.Stderr)
			return errors.Join(c.Help(), &failure{status: misused})
		},
	})
	root.SetIn(s.Stdin)
	root.SetOut(&s.help)
	root.SetErr(s.Stderr)
	root.SetFlagErrorFunc(flagError)
	root.Flags().SetInterspersed(false) // what follows an unknown command is not examined
	root.Flags().BoolVar(&version, "version", false, "print the version, like the command version")
	s.settings.register(root.PersistentFlags())
	s.completeFlags(root)
	root.AddGroup(&cobra.Group{ID: explore, Title: "Explore:"}, &cobra.Group{ID: call, Title: "Call:"},
		&cobra.Group{ID: operate, Title: "Operate:"})
	for group, commands := range map[string][]*cobra.Command{
		explore: {s.newList(), s.newDescribe(), s.newDocs(), s.newAsyncAPI(), s.newClient(), s.newTap(), s.newTrace()},
		call:    {s.newCall(), s.newBench()},
		operate: {s.newEvents(), s.newToken(), s.newKey(), s.newPermissions()},
		"":      {newCompletion(), s.newVersion()},
	} {
		for _, each := range commands {
			each.GroupID = group
			root.AddCommand(each)
		}
	}
	if s.Setenv != nil {
		context := WithSubcommands(s.Stderr, contexts.Command(s.contexts()))
		context.GroupID = operate
		root.AddCommand(context)
	}
	for _, each := range s.More {
		more := each(s.Environment)
		more.GroupID = cmp.Or(more.GroupID, operate)
		root.AddCommand(more)
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpCommand(newHelp())
	if s.ReadOnly {
		hideChanges(root)
	}
	return root
}

// WithSubcommands returns a command that does nothing without one of its subcommands, but print its help.
func WithSubcommands(stderr io.Writer, c *cobra.Command) *cobra.Command {
	c.Args = func(c *cobra.Command, operands []string) error {
		if len(operands) > 0 {
			return noCommand(c, operands[0])
		}
		return nil
	}
	c.RunE = func(c *cobra.Command, _ []string) error {
		c.SetOut(stderr)
		return errors.Join(c.Help(), &failure{status: misused})
	}
	return c
}

// NoOperands refuses operands.
func NoOperands(c *cobra.Command, operands []string) error {
	if len(operands) > 0 {
		return misuse("%s takes no arguments", c.Name())
	}
	return nil
}

// changes reports whether a flag makes its command change something.
func changes(flag *pflag.Flag) bool {
	_, does := flag.Annotations[Changes]
	return does
}

// hideChanges hides the commands and the flags that change something.
func hideChanges(c *cobra.Command) {
	c.Hidden = c.Hidden || c.Annotations[Changes] != ""
	c.Flags().VisitAll(func(flag *pflag.Flag) { flag.Hidden = flag.Hidden || changes(flag) })
	for _, each := range c.Commands() {
		hideChanges(each)
	}
}

// withWrite is the remedy for what is refused because the environment is read-only.
const withWrite = "start busline mcp with --write to allow it"

// checkReadOnly refuses a command, or a flag, that changes something if the environment is read-only.
func (s *session) checkReadOnly(c *cobra.Command) (err error) {
	if !s.ReadOnly {
		return nil
	}
	if c.Annotations[Changes] != "" {
		return misuse("it changes something: %s", withWrite)
	}
	c.Flags().Visit(func(flag *pflag.Flag) {
		if changes(flag) {
			err = misuse("--%s changes something: %s", flag.Name, withWrite)
		}
	})
	return err
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

// noCommand returns the error for an unknown command below another one.
func noCommand(above *cobra.Command, name string) error {
	return misuse("there is no command %s, see %s --help%s", name, above.CommandPath(),
		similar.DidYouMean(name, commandNames(above)))
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

// settings are the flags of all subcommands.
type settings struct {
	output.Options

	url, plane, token string
	context           string // name of one; "" for the one in use
	timeout           time.Duration
	timeoutGiven      bool // a timeout was given: the broker may be about to start
}

const (
	defaultTimeout = 20 * time.Second  // the default of a call
	longestTimeout = 600 * time.Second // the bus gives a call no more
)

// register adds the flags to a set.
func (g *settings) register(set *pflag.FlagSet) {
	set.StringVar(&g.url, "url", "",
		"`address` of the broker, or several, separated by commas (default: BUS_NATS_URL, else nats://127.0.0.1:4222)")
	set.StringVar(&g.plane, "plane", "", "`name` of the communication plane (default: BUS_PLANE, else bus)")
	set.StringVar(&g.token, "token", "",
		"`JWT` to call with (default: BUS_TOKEN, which other users of the machine cannot see)")
	set.DurationVar(&g.timeout, "timeout", defaultTimeout,
		"`time` that a call may take, at most 600s; if given, at most 5s of it to wait for a broker")
	set.StringVar(&g.context, "context", "",
		"`name` of how to reach a bus, see busline context (default: BUSLINE_CONTEXT, else the one in use)")
	g.Register(set)
}

// connectTimeout returns how long to wait for a broker that is not there: not at all, unless --timeout is given.
func (g *settings) connectTimeout() time.Duration {
	if !g.timeoutGiven {
		return 0
	}
	return min(g.timeout, longestConnect)
}

// check returns what is wrong with the values.
func (g *settings) check() error {
	if g.timeout <= 0 {
		return misuse("--timeout %s: choose a time such as 20s", g.timeout)
	}
	if g.timeout > longestTimeout {
		return misuse("--timeout %s: choose at most %.0fs", g.timeout, longestTimeout.Seconds())
	}
	if g.plane == "" {
		return nil
	}
	if err := subject.CheckPlane(g.plane); err != nil {
		return misuse("%w", err)
	}
	return nil
}

// flagError returns the error for a flag of a command that cannot be parsed.
func flagError(c *cobra.Command, err error) error {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		name := dashed(unknown.GetSpecifiedName())
		return misuse("there is no flag %s%s", name, similar.DidYouMean(name, flagNames(c)))
	}
	if missing, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		return misuse("%s: the value is missing", dashed(missing.GetSpecifiedName()))
	}
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		of := invalid.GetFlag()
		name := of.Shorthand
		if name == "" {
			name = of.Name
		}
		return misuse("%s: %q is not valid; write %s", dashed(name), invalid.GetValue(), expectedOf(of, invalid.Unwrap()))
	}
	return misuse("%w", err)
}

// expectedOf says what values a flag takes, after an invalid one.
func expectedOf(known *pflag.Flag, err error) string {
	switch known.Value.Type() {
	case "duration":
		return "a time such as 500ms, 20s or 2m"
	case "int":
		return "an integer"
	case "bool":
		return "true or false"
	default:
		return err.Error() // our own flags say it
	}
}

// dashed returns a flag as it is typed.
func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// flagNames returns the flags of a command, as they are typed.
func flagNames(c *cobra.Command) (names []string) {
	c.Flags().VisitAll(func(each *pflag.Flag) {
		names = append(names, dashed(each.Name))
		if each.Shorthand != "" {
			names = append(names, dashed(each.Shorthand))
		}
	})
	return names
}

// withTwoDashes returns the arguments with a second dash before the long names of flags that have only one, as Go
// programs accept them.
func withTwoDashes(root *cobra.Command, arguments []string) []string {
	long := map[string]bool{"help": true}
	var note func(c *cobra.Command)
	note = func(c *cobra.Command) {
		for _, set := range []*pflag.FlagSet{c.Flags(), c.PersistentFlags()} {
			set.VisitAll(func(flag *pflag.Flag) { long[flag.Name] = true })
		}
		for _, each := range c.Commands() {
			note(each)
		}
	}
	note(root)
	spelled := []string{} // not nil, which cobra takes for os.Args
	for i, argument := range arguments {
		if argument == "--" {
			return append(spelled, arguments[i:]...)
		}
		bare, dashes := strings.CutPrefix(argument, "-")
		if name, _, _ := strings.Cut(bare, "="); dashes && len(name) > 1 && long[name] {
			argument = "-" + argument
		}
		spelled = append(spelled, argument)
	}
	return spelled
}
