package cli_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/cmd/busline/internal/cli"
)

func TestTerminal(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	e.serveCalculator()
	e.serveProducts()
	onTerminal := func(environment *cli.Environment) {
		environment.StdoutTerminal, environment.StderrTerminal = true, true
	}
	see := func(arguments ...string) result { return e.run(t.Context(), onTerminal, arguments...) }
	if got := see("call", "calculator.example/add", "x=5"); got.stdout != "{\n  \"sum\": 5\n}\n" {
		t.Errorf("JSON: %q", got.stdout)
	}
	if got := see("--json", "call", "calculator.example/add", "x=5"); got.stdout != "{\"sum\":5}\n" {
		t.Errorf("JSON for programs: %q", got.stdout)
	}
	if got := see("docs", "calculator.example"); !strings.HasPrefix(got.stdout, "{\n  \"openapi\": \"3.0.0\",\n") {
		t.Errorf("a document: %.60q", got.stdout)
	}
	for _, plain := range []map[string]string{{}, {"NO_COLOR": "1"}, {"TERM": "dumb"}} {
		e.env = plain
		all := see("ls").stdout + see("describe", "calculator.example").stdout + see("call", "products.example/products/7").stderr + see("lss").stderr
		if coloured := strings.Count(all, "\x1b["); (coloured > 0) != (len(plain) == 0) {
			t.Errorf("with %v there are %d colours: %q", plain, coloured, all)
		}
	}
}

// Wily writes what steers a terminal.
type Wily struct{}

// Steer fails.
func (Wily) Steer() error {
	return &bus.Error{Status: 400, Type: "urn:\x1b[2Jx", Detail: "\x1b[2Jgone\u009b2J"}
}

// Text is no JSON.
func (Wily) Text(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("\x1b[2J\xff\n")) }

func TestClean(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	e.serve("wily.example", func(conn *bus.Conn) error { return bus.Serve(conn, Wily{}) },
		bus.WithVersion("1\x1b[2J"), bus.WithDescription("\x1b]0;owned\a"))
	e.env["NO_COLOR"] = "1"
	all := e.busline(0, "ls").stdout + e.busline(0, "describe", "wily.example").stdout + e.busline(1, "call", "wily.example/steer").stderr +
		e.busline(1, "call", "--all", "wily.example/steer").stdout
	if !strings.Contains(all, "\n  type     urn:") {
		t.Errorf("the type is not shown: %q", all)
	}
	onTerminal := func(environment *cli.Environment) { environment.StdoutTerminal = true }
	all += e.run(t.Context(), onTerminal, "call", "wily.example/text").stdout
	if strings.ContainsAny(all, "\x1b\a\u009b") {
		t.Errorf("control characters reach the terminal: %q", all)
	}
	for _, unchanged := range []result{e.busline(0, "call", "wily.example/text"), e.run(t.Context(), onTerminal, "call", "--raw", "wily.example/text")} {
		if unchanged.stdout != "\x1b[2J\xff\n" {
			t.Errorf("the text of a service is %q", unchanged.stdout)
		}
	}
}
