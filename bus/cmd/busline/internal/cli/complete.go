package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/busline/busline/bus/cmd/busline/internal/contexts"
	"github.com/busline/busline/bus/cmd/busline/internal/output"
)

// completeTimeout is the longest time that a user waits after pressing the tab key.
const completeTimeout = time.Second

// completing returns a function with which shells complete the operands of a command: complete returns the candidates
// for a word after other operands, none after any error.
func (s *session) completing(complete func(ctx context.Context, before []string,
	word string) []string) cobra.CompletionFunc {
	return func(c *cobra.Command, before []string, word string) ([]string, cobra.ShellCompDirective) {
		const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
		if s.settings.check() != nil {
			return nil, directive
		}
		s.settings.timeout = completeTimeout
		ctx, cancel := context.WithTimeout(c.Context(), completeTimeout)
		defer cancel()
		candidates := complete(ctx, before, word)
		for i, candidate := range candidates {
			candidates[i] = cleanLine(candidate)
		}
		// more is to come
		if len(candidates) == 1 && (strings.HasSuffix(candidates[0], "=") || strings.HasSuffix(candidates[0], "/")) {
			return candidates, directive | cobra.ShellCompDirectiveNoSpace
		}
		return candidates, directive
	}
}

// contexts returns what the subcommand context needs.
func (s *session) contexts() *contexts.Terminal {
	return &contexts.Terminal{Given: s.given, Note: s.notef, Prints: prints, Annotations: annotated(Changes),
		Show: func(r contexts.Result) error {
			rows := make(table, len(r.Rows))
			for i := range r.Rows {
				rows[i].cells = r.Rows[i]
			}
			return s.show(r.Value, func() string { return s.headed(rows) }, func() []string { return r.Names })
		}}
}

// completeFlags completes the values of the flags of all commands.
func (s *session) completeFlags(root *cobra.Command) {
	complete := func(flag string, candidates cobra.CompletionFunc) {
		_ = root.RegisterFlagCompletionFunc(flag, candidates) // it fails for an unknown flag
	}
	complete("output", func(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		return formatsOf(c), cobra.ShellCompDirectiveNoFileComp
	})
	complete("color", cobra.FixedCompletions(output.Colors(), cobra.ShellCompDirectiveNoFileComp))
	complete("context", s.contexts().Complete)
	for _, flag := range []string{"url", "plane", "token", "timeout", "jq"} {
		complete(flag, cobra.NoFileCompletions)
	}
}

// startingWith returns the candidates that begin with a word.
func startingWith(word string, candidates []string) []string {
	return slices.DeleteFunc(candidates, func(each string) bool { return !strings.HasPrefix(each, word) })
}

// completeHosts completes hosts, any number of them.
func (s *session) completeHosts(ctx context.Context, _ []string, word string) []string {
	return s.completeHost(ctx, word, "")
}

// completeHost returns the hosts that serve something, each with an ending.
func (s *session) completeHost(ctx context.Context, word, ending string) []string {
	instances, err := s.discover(ctx, "all")
	if err != nil {
		return nil
	}
	scheme := schemeOf(word)
	var candidates []string
	for _, host := range hostsOf(instances) {
		candidates = append(candidates, scheme+host+ending)
	}
	return startingWith(word, candidates)
}

// schemeOf returns the https:// of a word, if it has one.
func schemeOf(word string) string {
	if scheme, _, found := strings.Cut(word, "://"); found {
		return scheme + "://"
	}
	return ""
}

// completePath returns the addresses that a host serves.
func (s *session) completePath(ctx context.Context, word string) []string {
	scheme := schemeOf(word)
	place, _, _ := strings.Cut(strings.TrimPrefix(word, scheme), "/")
	to, err := parseAddress(scheme + place)
	if err != nil {
		return nil
	}
	known, err := s.fetch(ctx, to.host, to.port)
	if err != nil {
		return nil
	}
	var candidates []string
	for _, each := range operationsOf(known.document) {
		if candidate := scheme + place + each.path; !slices.Contains(candidates, candidate) {
			candidates = append(candidates, candidate)
		}
	}
	return startingWith(word, candidates)
}

// completeCall completes an address, and after it the names of arguments.
func (s *session) completeCall(ctx context.Context, before []string, word string) []string {
	switch {
	case len(before) == 0 && strings.Contains(strings.TrimPrefix(word, schemeOf(word)), "/"):
		return s.completePath(ctx, word)
	case len(before) == 0:
		return s.completeHost(ctx, word, "/")
	case strings.Contains(word, "="):
		return nil // a value
	}
	to, err := parseAddress(before[0])
	if err != nil {
		return nil
	}
	known, err := s.fetch(ctx, to.host, to.port)
	if err != nil {
		return nil
	}
	var candidates []string
	for _, each := range matching(known.document, to.path) {
		for _, argument := range each.parameters() {
			if candidate := fmt.Sprintf("%s=", argument.name); !slices.Contains(candidates, candidate) {
				candidates = append(candidates, candidate)
			}
		}
	}
	return startingWith(word, candidates)
}

// completeInstance completes the ID of an instance of the host that is called.
func (s *session) completeInstance(ctx context.Context, before []string, word string) []string {
	if len(before) == 0 {
		return nil
	}
	to, err := parseAddress(before[0])
	if err != nil {
		return nil
	}
	instances, err := s.discover(ctx, to.host)
	if err != nil {
		return nil
	}
	return startingWith(word, idsOf(instances, to.host))
}

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
		Long: `Prints a script for a shell. With it the tab key completes commands and flags, the hosts and paths on
the bus, and the names of arguments. If the bus does not answer within a second, only commands and flags
are completed. The script for bash needs the package bash-completion.`,
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
