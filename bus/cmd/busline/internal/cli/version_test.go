package cli_test

import "testing"

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
