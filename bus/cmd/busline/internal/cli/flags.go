package cli

import (
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/busline/busline/bus/subject"
)

// settings are the flags of all subcommands.
type settings struct {
	url, plane, token string
	timeout           time.Duration
	timeoutGiven      bool // a timeout was given: the broker may be about to start
	json              bool
}

const (
	defaultTimeout = 20 * time.Second  // the default of a call
	longestTimeout = 600 * time.Second // the bus gives a call no more
)

// register adds the flags to a set.
func (g *settings) register(set *pflag.FlagSet) {
	set.StringVar(&g.url, "url", "", "`address` of the broker, or several, separated by commas (default: BUS_NATS_URL, else nats://127.0.0.1:4222)")
	set.StringVar(&g.plane, "plane", "", "`name` of the communication plane (default: BUS_PLANE, else bus)")
	set.StringVar(&g.token, "token", "", "`JWT` to call with (default: BUS_TOKEN, which other users of the machine cannot see)")
	set.DurationVar(&g.timeout, "timeout", defaultTimeout, "`time` that a call may take, at most 600s; if given, at most 5s of it to wait for a broker")
	set.BoolVar(&g.json, "json", false, "print JSON, also for errors")
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
		return misuse("there is no flag %s%s", name, didYouMean(name, flagNames(c)))
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

// withTwoDashes returns the arguments with a second dash before the long names of flags that have only one, as Go programs
// accept them.
func withTwoDashes(root *cobra.Command, arguments []string) []string {
	long := map[string]bool{"help": true}
	for _, each := range append(root.Commands(), root) {
		for _, set := range []*pflag.FlagSet{each.Flags(), each.PersistentFlags()} {
			set.VisitAll(func(flag *pflag.Flag) { long[flag.Name] = true })
		}
	}
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
