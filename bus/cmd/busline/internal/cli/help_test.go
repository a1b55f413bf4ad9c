package cli_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
)

func TestHelp(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	overview := e.busline(0, "--help")
	golden(t, "help.txt", overview.stdout)
	for _, arguments := range [][]string{{"help"}, {"-h"}} {
		e.says(overview.stdout, arguments...)
	}
	got := e.busline(2)
	assert.Equal(t, overview.stdout, got.stderr)
	assert.Empty(t, got.stdout)
	for _, name := range []string{"ls", "describe", "call", "docs", "asyncapi", "client", "tap", "events", "bench",
		"token", "key", "permissions", "completion", "context", "version"} {
		if !strings.Contains(overview.stdout, "\n  "+name+" ") {
			t.Errorf("the overview does not have %s", name)
		}
		help := e.busline(0, name, "--help")
		golden(t, "help-"+name+".txt", help.stdout)
		e.says(help.stdout, "help", name)
		e.says(help.stdout, "--plane", "x", name, "-h")
	}
	for _, name := range []string{"ls", "describe", "tail", "publish", "replay", "dead-letters", "forget"} {
		help := e.busline(0, "events", name, "--help")
		golden(t, "help-events-"+name+".txt", help.stdout)
		e.says(help.stdout, "help", "events", name)
	}
	for _, name := range []string{"save", "use", "ls", "show", "rm"} {
		golden(t, "help-context-"+name+".txt", e.busline(0, "context", name, "--help").stdout)
	}
	golden(t, "help-client-ts.txt", e.busline(0, "client", "ts", "--help").stdout)
}

// TestVersionFlag asks for the version in the ways in which other programs are asked.
func TestVersionFlag(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	text, object := e.busline(0, "version").stdout, e.busline(0, "version", "--json").stdout
	e.says(text, "--version")
	e.says(text, "-version")
	e.says(object, "--version", "--json")
	e.says(object, "--json", "--version")
	e.refuses(2, "there is no flag --version", "ls", "--version")
}

func TestComplete(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	calculator := e.serveCalculator()
	e.serveProducts()
	e.bus.Connect("caller.example") // serves nothing, so that it gets no calls
	for _, row := range []struct{ words, want string }{
		{"", "asyncapi bench call client completion context describe docs events help key ls permissions tap token trace version"},
		{"d", "describe docs"},
		{"ls -o ", "json yaml wide name"},
		{"tap -o ", "json yaml"},
		{"token -o ", ""},
		{"ls --color ", "auto always never"},
		{"ls --jq ", ""},
		{"ls --context ", ""},
		{"context use ", ""},
		{"--js", "--json"},
		{"--plane x comp", "completion"},
		{"--nothing ", ""},
		{"help de", "describe"},
		{"nothing ", ""},
		{"__complete ", ""},
		{"ls --w", "--watch"},
		{"bench -", "--color --context --jq --json --output -o --plane --timeout --token --url --calls -n --concurrency -c --duration -d --header -H --help " +
			"-h --instance --method -X"},
		{"completion ", "bash fish powershell zsh"},
		{"completion bash ", ""},
		{"token x", ""},
		{"ls c", "calculator.example"},
		{"docs ", "calculator.example products.example"},
		{"docs calculator.example ", ""},
		{"describe calculator.example/a", "calculator.example/add calculator.example/arithmetic"},
		{"describe x ", ""},
		{"call ", "calculator.example/ products.example/"},
		{"call https://c", "https://calculator.example/ nospace"},
		{"call calculator.example/d", "calculator.example/distance"},
		{"call https://products.example:443/", "https://products.example:443/products " +
			"https://products.example:443/products/{id} https://products.example:443/watch"},
		{"call x.example/", ""},
		{"call a_b/", ""},
		{"call calculator.example/add ", "x= y="},
		{"bench -c 4 calculator.example/arithmetic x=1 o", "op= nospace"},
		{"call calculator.example/add x=", ""},
		{"call calculator.example/nothing ", ""},
		{"call products.example/products ", "sortBy= limit= offset= name= price= tags="},
		{"call a_b/c ", ""},
		{"call x.example/c ", ""},
		{"call calculator.example/add --instance ", calculator.ID()},
		{"call --instance ", ""},
	} {
		got := e.busline(0, append([]string{"__complete"}, strings.Split(row.words, " ")...)...)
		var candidates []string
		for line := range strings.Lines(got.stdout) {
			candidate, _, _ := strings.Cut(strings.TrimSpace(line), "\t") // a description follows
			directive, err := strconv.Atoi(strings.TrimPrefix(candidate, ":"))
			switch {
			case err != nil:
				candidates = append(candidates, candidate)
			case cobra.ShellCompDirective(directive)&cobra.ShellCompDirectiveNoSpace != 0:
				candidates = append(candidates, "nospace")
			}
		}
		if got := strings.Join(candidates, " "); got != row.want {
			t.Errorf("%q becomes %q, want %q", row.words, got, row.want)
		}
	}
}

// TestCompletion_Scripts holds that each script asks the program itself.
func TestCompletion_Scripts(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	for shell, want := range map[string]string{
		"bash": "complete -o default -F __start_busline busline", "zsh": "compdef _busline busline",
		"fish": "complete -c busline", "powershell": "Register-ArgumentCompleter -CommandName 'busline'",
	} {
		got := e.busline(0, "completion", shell).stdout
		assert.Contains(t, got, want, shell)
		assert.Contains(t, got, "__complete ", shell)
	}
}
