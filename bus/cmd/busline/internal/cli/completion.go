package cli

import (
	"context"
	_ "embed"
	"maps"
	"slices"
	"strings"
)

//go:embed completion.bash
var bashScript string

//go:embed completion.zsh
var zshScript string

//go:embed completion.fish
var fishScript string

// completionScripts are the scripts, by shell.
func completionScripts() map[string]string {
	return map[string]string{"bash": bashScript, "zsh": zshScript, "fish": fishScript}
}

func newCompletion() *command {
	shells := slices.Sorted(maps.Keys(completionScripts()))
	return &command{
		name:     "completion",
		operands: strings.Join(shells, "|"),
		summary:  "a script that completes commands, hosts and paths in a shell",
		about: `
Prints a script for a shell. With it the tab key completes commands and flags, hosts and paths of the bus that is there, and
the names of arguments. When the bus does not answer in a second there is nothing to choose from.`,
		examples: []string{
			"source <(busline completion bash)                                    # in ~/.bashrc",
			"source <(busline completion zsh)                                     # in ~/.zshrc, behind compinit",
			"busline completion fish > ~/.config/fish/completions/busline.fish",
		},
		run: func(_ context.Context, s *session, operands []string) error {
			if len(operands) != 1 || completionScripts()[operands[0]] == "" {
				return misuse("for which shell? One of %s", strings.Join(shells, ", "))
			}
			return s.print("%s", completionScripts()[operands[0]])
		},
		complete: func(_ context.Context, _ *session, before []string, word string) []string {
			if len(before) > 0 {
				return nil
			}
			return startingWith(word, shells, false)
		},
	}
}
