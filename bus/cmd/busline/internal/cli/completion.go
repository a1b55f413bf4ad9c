package cli

import (
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// newCompletion returns the command completion. That of cobra succeeds for an unknown shell.
func newCompletion() *cobra.Command {
	scripts := map[string]func(root *cobra.Command, w io.Writer) error{
		"bash":       func(root *cobra.Command, w io.Writer) error { return root.GenBashCompletionV2(w, true) },
		"fish":       func(root *cobra.Command, w io.Writer) error { return root.GenFishCompletion(w, true) },
		"powershell": (*cobra.Command).GenPowerShellCompletionWithDesc,
		"zsh":        (*cobra.Command).GenZshCompletion,
	}
	shells := slices.Sorted(maps.Keys(scripts))
	return &cobra.Command{
		Use:   "completion " + strings.Join(shells, "|"),
		Short: "A script that completes commands, hosts and paths in a shell",
		Long: `Prints a script for a shell. With it the tab key completes commands and flags, the hosts and paths on the bus, and the
names of arguments. If the bus does not answer within a second, only commands and flags are completed. The script for bash
needs the package bash-completion.`,
		Example: examples(
			"source <(busline completion bash)                                    # in ~/.bashrc",
			"source <(busline completion zsh)                                     # in ~/.zshrc, after compinit",
			"busline completion fish > ~/.config/fish/completions/busline.fish",
			"busline completion powershell | Out-String | Invoke-Expression       # in $PROFILE",
		),
		ValidArgs: shells,
		RunE: func(c *cobra.Command, operands []string) error {
			if len(operands) != 1 || scripts[operands[0]] == nil {
				return misuse("name a shell: one of %s", strings.Join(shells, ", "))
			}
			return scripts[operands[0]](c.Root(), c.OutOrStdout())
		},
	}
}
