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
Prints a script for a shell. With it the tab key completes commands and flags, the hosts and paths on the bus, and the
names of arguments. If the bus does not answer within a second, only commands and flags are completed.`,
		examples: []string{
			"source <(busline completion bash)                                    # in ~/.bashrc",
			"source <(busline completion zsh)                                     # in ~/.zshrc, after compinit",
			"busline completion fish > ~/.config/fish/completions/busline.fish",
		},
		run: func(_ context.Context, s *session, operands []string) error {
			if len(operands) != 1 || completionScripts()[operands[0]] == "" {
				return misuse("name a shell: one of %s", strings.Join(shells, ", "))
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
