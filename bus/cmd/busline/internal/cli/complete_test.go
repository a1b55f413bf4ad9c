package cli_test

import (
	"os/exec"
	"strings"
	"testing"
)

func TestComplete(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	e.serveCalculator()
	e.serveProducts()
	e.bus.Connect("caller.example") // serves nothing, so that it gets no calls
	for _, row := range []struct{ words, want string }{
		{"", "ls describe call docs tap parked bench token permissions completion version help"},
		{"d", "describe docs"},
		{"--j", "--json"},
		{"--plane x comp", "completion"},
		{"--nothing ", ""},
		{"help de", "describe"},
		{"nothing ", ""},
		{"__complete ", ""},
		{"ls --w", "--watch"},
		{"bench -", "--instance --json --plane --timeout --token --url -H -X -c -d -n"},
		{"completion ", "bash fish zsh"},
		{"completion bash ", ""},
		{"token x", ""},
		{"ls c", "calculator.example"},
		{"docs ", "calculator.example products.example"},
		{"docs calculator.example ", ""},
		{"describe calculator.example/a", "calculator.example/add calculator.example/arithmetic"},
		{"describe x ", ""},
		{"call ", "calculator.example/ products.example/"},
		{"call https://c", "https://calculator.example/"},
		{"call calculator.example/d", "calculator.example/distance"},
		{"call https://products.example:443/", "https://products.example:443/products https://products.example:443/products/{id}"},
		{"call x.example/", ""},
		{"call a_b/", ""},
		{"call calculator.example/add ", "x= y="},
		{"bench -c 4 calculator.example/arithmetic x=1 o", "op="},
		{"call calculator.example/add x=", ""},
		{"call calculator.example/nothing ", ""},
		{"call products.example/products ", "sortBy= limit= offset= name= price= tags="},
		{"call a_b/c ", ""},
		{"call x.example/c ", ""},
	} {
		got := e.busline(0, append([]string{"__complete"}, strings.Split(row.words, " ")...)...)
		if strings.Join(strings.Fields(got.stdout), " ") != row.want || got.stderr != "" {
			t.Errorf("%q becomes %q, want %q; %s", row.words, strings.Fields(got.stdout), row.want, got.stderr)
		}
	}
	e.says("ls\ndescribe\ncall\ndocs\ntap\nparked\nbench\ntoken\npermissions\ncompletion\nversion\nhelp\n", "__complete")
}

// TestCompletionBash presses the tab key in bash, where a function stands for the program.
func TestCompletionBash(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	script := e.busline(0, "completion", "bash").stdout
	for _, row := range []struct{ line, asked, answers, want string }{
		{"busline d", "d", "describe docs", "describe docs"},
		{"busline call ", "call |", "a.example/ b.example/", "a.example/ b.example/"},
		{"busline call a", "call|a", "a.example/", "a.example/ nospace"},
		{"busline ls a", "ls|a", "a.example", "a.example"},
		{"busline call a.example:444/", "call|a.example:444/", "a.example:444/x a.example:444/y", "444/x 444/y"},
		{"busline call 'a b' x", "", "x=", "x= nospace"},
	} {
		test := script + `
busline() {
	local IFS="|"
	[[ -z $ASKED || "$*" == "__complete|${ASKED/ /}" ]] || { echo "asked $*" >&2; return; }
	IFS=" "
	printf '%s\n' $ANSWERS
}
compopt() { nospace=" nospace"; }
COMP_LINE=$LINE COMP_POINT=${#LINE}
_busline 2>/dev/null
echo "${COMPREPLY[*]}$nospace"
`
		bash := exec.CommandContext(t.Context(), "bash", "--norc", "-c", test)
		// of a locale that is not installed, bash would complain
		bash.Env = append(bash.Environ(), "LC_ALL=C", "LINE="+row.line, "ASKED="+row.asked, "ANSWERS="+row.answers)
		got, err := bash.CombinedOutput()
		if err != nil || strings.TrimSpace(string(got)) != row.want {
			t.Errorf("%q becomes %q, want %q; %v", row.line, got, row.want, err)
		}
	}
}

func TestCompletionScripts(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	for shell, want := range map[string]string{"bash": "complete -F _busline busline", "zsh": "compdef _busline busline", "fish": "complete -c busline -f"} {
		if got := e.busline(0, "completion", shell).stdout; !strings.Contains(got, want) || !strings.Contains(got, " __complete ") {
			t.Errorf("%s:\n%s", shell, got)
		}
	}
}
