package cli

import (
	"context"
	"flag"
)

// command is one subcommand. Its constructor keeps the values of its flags.
type command struct {
	name     string // "call"
	operands string // "<address> [name=value …]"
	summary  string // one line, for the list of commands
	about    string // paragraphs, for its own help
	examples []string
	hidden   bool // hidden from help and completion

	flags    func(*flag.FlagSet) // nil if it has none of its own
	run      func(ctx context.Context, s *session, operands []string) error
	complete func(ctx context.Context, s *session, before []string, word string) []string // nil: no candidates
}
