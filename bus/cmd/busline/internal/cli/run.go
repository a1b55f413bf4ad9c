package cli

import (
	"context"
	"errors"
	"flag"
	"io"
	"strings"

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
	err := errors.Join(s.dispatch(ctx, arguments), s.close())
	if ctx.Err() != nil && err != nil {
		return interrupted
	}
	return s.explain(err)
}

// dispatch finds the subcommand and runs it. Flags of all subcommands may come before its name, too.
func (s *session) dispatch(ctx context.Context, arguments []string) error {
	set, version := s.newFlags(nil), false
	set.BoolVar(&version, "version", false, "print the version, like the command version")
	rest, err := parseFlags(set, arguments, true)
	s.settings.noteGiven(set)
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
	if chosen.name != completeName { // its operands belong to another command line
		set = s.newFlags(chosen)
		operands, err = parseFlags(set, operands, false)
		s.settings.noteGiven(set)
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
