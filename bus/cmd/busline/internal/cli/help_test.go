package cli_test

import (
	"strings"
	"testing"
)

func TestHelp(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	overview := e.busline(0, "--help")
	golden(t, "help.txt", overview.stdout)
	for _, arguments := range [][]string{{"help"}, {"-h"}} {
		e.says(overview.stdout, arguments...)
	}
	if got := e.busline(2); got.stderr != overview.stdout || got.stdout != "" {
		t.Errorf("without arguments it says\n%s%s", got.stdout, got.stderr)
	}
	for _, name := range []string{"ls", "describe", "call", "docs", "tap", "parked", "bench", "token", "permissions", "completion", "version"} {
		if !strings.Contains(overview.stdout, "\n  "+name+" ") {
			t.Errorf("the overview does not have %s", name)
		}
		help := e.busline(0, name, "--help")
		golden(t, "help-"+name+".txt", help.stdout)
		e.says(help.stdout, "help", name)
		e.says(help.stdout, "--plane", "x", name, "-h")
	}
}
