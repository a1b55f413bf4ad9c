package cli

import (
	"flag"
	"slices"
	"strings"
	"time"

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

// register adds the flags to a set. Values that have been parsed are kept.
func (g *settings) register(set *flag.FlagSet) {
	set.StringVar(&g.url, "url", g.url, "`address` of the broker, or several, separated by commas (default: BUS_NATS_URL, else nats://127.0.0.1:4222)")
	set.StringVar(&g.plane, "plane", g.plane, "`name` of the communication plane (default: BUS_PLANE, else bus)")
	set.StringVar(&g.token, "token", g.token, "`JWT` to call with (default: BUS_TOKEN, which other users of the machine cannot see)")
	set.DurationVar(&g.timeout, "timeout", g.timeout, "`time` that a call may take, at most 600s; if given, at most 5s of it to wait for a broker")
	set.BoolVar(&g.json, "json", g.json, "print JSON, also for errors")
}

// noteGiven takes in which flags were given.
func (g *settings) noteGiven(set *flag.FlagSet) {
	set.Visit(func(given *flag.Flag) { g.timeoutGiven = g.timeoutGiven || given.Name == "timeout" })
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

// newFlags returns the flags of a subcommand, which may be nil, and those of all subcommands.
func (s *session) newFlags(of *command) *flag.FlagSet {
	set := flag.NewFlagSet("busline", flag.ContinueOnError)
	s.settings.register(set)
	if of != nil && of.flags != nil {
		of.flags(set)
	}
	return set
}

// parseFlags parses flags at any position, and returns the other arguments; those after -- are not flags. With leading
// it stops at the first other argument.
func parseFlags(set *flag.FlagSet, arguments []string, leading bool) (others []string, err error) {
	for len(arguments) > 0 {
		argument := arguments[0]
		switch {
		case argument == "--":
			return append(others, arguments[1:]...), nil
		case !isFlag(argument) && leading:
			return arguments, nil
		case !isFlag(argument):
			others, arguments = append(others, argument), arguments[1:]
		default:
			if arguments, err = setFlag(set, arguments); err != nil {
				return nil, err
			}
		}
	}
	return others, nil
}

// isFlag is true for arguments that begin with a dash; a single dash stands for standard input.
func isFlag(argument string) bool { return len(argument) > 1 && argument[0] == '-' }

// setFlag sets the flag at the start of the arguments, and returns the arguments after it and its value.
func setFlag(set *flag.FlagSet, arguments []string) (rest []string, err error) {
	rest = arguments[1:]
	name, value, hasValue := strings.Cut(strings.TrimLeft(arguments[0], "-"), "=")
	known := set.Lookup(name)
	if known == nil {
		if name == "h" || name == "help" {
			return nil, flag.ErrHelp
		}
		return nil, misuse("there is no flag %s%s", dashed(name), didYouMean(dashed(name), flagNames(set)))
	}
	if !hasValue {
		switch {
		case isSwitch(known):
			value = "true"
		case len(rest) == 0:
			return nil, misuse("%s: the value is missing", dashed(name))
		default:
			value, rest = rest[0], rest[1:]
		}
	}
	if err := set.Set(name, value); err != nil {
		return nil, misuse("%s: %q is not valid; write %s", dashed(name), value, expectedOf(known, err))
	}
	return rest, nil
}

// isSwitch is true for a flag without a value.
func isSwitch(known *flag.Flag) bool {
	boolean, ok := known.Value.(interface{ IsBoolFlag() bool })
	return ok && boolean.IsBoolFlag()
}

// expectedOf says what values a flag takes, after an invalid one.
func expectedOf(known *flag.Flag, err error) string {
	getter, ok := known.Value.(flag.Getter)
	if !ok {
		return err.Error() // our own flags say it
	}
	switch getter.Get().(type) {
	case time.Duration:
		return "a time such as 500ms, 20s or 2m"
	case int:
		return "an integer"
	case bool:
		return "true or false"
	default:
		return err.Error()
	}
}

// dashed returns a flag as it is typed.
func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// flagNames returns the flags of a set, as they are typed.
func flagNames(set *flag.FlagSet) (names []string) {
	set.VisitAll(func(each *flag.Flag) { names = append(names, dashed(each.Name)) })
	slices.Sort(names)
	return names
}
