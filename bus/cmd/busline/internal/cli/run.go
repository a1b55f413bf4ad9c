package cli

import (
	"context"
	"errors"
	"flag"
	"io"
	"strings"

	"github.com/busline/busline/bus"
)

// Environment is what a run of the command has around it.
type Environment struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// StdoutTerminal and StderrTerminal say whether a person is looking there. Default: nobody is.
	StdoutTerminal, StderrTerminal bool
	// Getenv returns variables: BUS_TOKEN, BUS_LOG_LEVEL, NO_COLOR, TERM. What bus.Connect reads it reads itself.
	Getenv func(name string) string
	// Connect is how to join the bus, for tests; flags win. Default: as the environment says.
	Connect []bus.ConnectOption
}

// Run runs one command line, without the name of the program in front, and returns the exit status that --help lists.
// When ctx ends, it stops what it does and returns 130. It leaves nothing open.
func Run(ctx context.Context, environment Environment, arguments []string) (status int) {
	s := newSession(environment)
	err := errors.Join(s.dispatch(ctx, arguments), s.close())
	if ctx.Err() != nil && err != nil {
		return interrupted
	}
	return s.explain(err)
}

// dispatch finds the subcommand and runs it. Flags that all have may stand in front of its name, too.
func (s *session) dispatch(ctx context.Context, arguments []string) error {
	set, version := s.newFlags(nil), false
	set.BoolVar(&version, "version", false, "as the subcommand")
	rest, err := parseFlags(set, arguments, true)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return s.help("")
	case err != nil:
		return err
	case version:
		return s.version()
	case len(rest) == 0:
		s.writeOverview(s.Stderr)
		return &failure{status: misused}
	case rest[0] == "help":
		return s.help(strings.Join(rest[1:], " "))
	}
	chosen := findCommand(rest[0])
	if chosen == nil {
		return noCommand(rest[0])
	}
	s.command = chosen.name
	operands := rest[1:]
	if chosen.name != completeName { // whose words are those of another command line
		operands, err = parseFlags(s.newFlags(chosen), operands, false)
	}
	if errors.Is(err, flag.ErrHelp) {
		return s.help(chosen.name)
	}
	if err == nil {
		err = s.settings.check()
	}
	if err != nil {
		return err
	}
	return chosen.run(ctx, s, operands)
}
