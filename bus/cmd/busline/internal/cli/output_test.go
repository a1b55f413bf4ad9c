package cli_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/cmd/busline/internal/cli"
	"github.com/busline/busline/examples/trouble/troublesvc"
)

func TestOutput(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	id := e.serveCalculator().ID()
	e.serveProducts()
	e.says(id+".calculator.example\n", "ls", "-o", "name", "calc*")
	e.says("sum: 11\n", "call", "calculator.example/add", "x=5", "y=6", "-o", "yaml")
	e.says("11\n", "call", "calculator.example/add", "x=5", "y=6", "--jq", ".sum")
	e.says("calculator.example\nproducts.example\n", "ls", "--jq", ".[].host")
	e.says("POST calculator.example/add\n", "describe", "calculator.example/add", "-o", "name")
	e.says(e.busline(0, "ls", "--json").stdout, "ls", "-o", "json")
	e.says(e.busline(0, "ls").stdout, "ls", "--json", "--json=false")
	assert.Regexp(t, `^HOST +INSTANCE +VERSION +PORTS +READY +DIGEST\ncalculator\.example +\w+ +1 +443 +yes +[0-9a-f]+\n$`,
		e.busline(0, "ls", "-o", "wide", "calc*").stdout)
	assert.Contains(t, e.busline(0, "docs", "calculator.example", "-o", "yaml").stdout, "openapi: 3.0.0\n")
	e.refuses(2, "-o name is not for this command; it takes json, yaml\n", "tap", "-o", "name")
	e.refuses(2, "-o wide is not for this command; it takes json, for errors\n", "token", "-o", "wide")
	e.refuses(2, "--jq is not for this command, which prints no JSON", "token", "--jq", ".")
	e.refuses(2, `-o: "xml" is not valid; write json, yaml, wide, name`, "ls", "-o", "xml")
	e.refuses(2, `--color: "red" is not valid; write auto, always, never`, "ls", "--color", "red")
	e.refuses(2, `{"error":"--jq: \".[\" is no expression of jq: unexpected EOF","exit":2}`, "ls", "--jq", ".[")
	e.refuses(2, "function not defined: hosts/0", "ls", "--jq", "hosts")
	e.refuses(2, "--jq does not go with -o wide", "ls", "--jq", ".", "-o", "wide")
	e.refuses(2, "-i and --raw do not go with --jq", "call", "-i", "calculator.example/add", "x=5", "y=6", "--jq", ".")
	e.refuses(1, `--jq .sum.x: expected an object but got: number (11)`, "call", "calculator.example/add", "x=5", "y=6",
		"--jq", ".sum.x")
	e.refuses(1, `"status":404,"detail":"no product has the id 7`, "call", "products.example/products/7", "-o", "yaml")
}

// TestOutput_NoJSON calls what answers with a text.
func TestOutput_NoJSON(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	e.serveMessaging()
	e.refuses(1, "-o yaml needs JSON, and this is none: invalid character 'D'", "call", "messaging.example/default-queue",
		"-o", "yaml")
}

// TestOutput_Colours holds that colours are where the flag wants them, also beside what a converter prints.
func TestOutput_Colours(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	e.serveCalculator()
	terminal := func(environment *cli.Environment) { environment.StdoutTerminal = true }
	assert.Contains(t, e.busline(0, "ls", "--color", "always").stdout, "\x1b[")
	assert.NotContains(t, e.run(t.Context(), terminal, "ls", "--color", "never").stdout, "\x1b[")
	e.env["NO_COLOR"] = "1"
	assert.NotContains(t, e.run(t.Context(), terminal, "ls").stdout, "\x1b[")
	assert.Contains(t, e.run(t.Context(), terminal, "ls", "--color", "always").stdout, "\x1b[")
}

// TestTimeout_Follow holds that --timeout ends a stream if it is given, and otherwise is for its beginning.
func TestTimeout_Follow(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		e := &terminal{t, b, map[string]string{}}
		require.NoError(t, troublesvc.Serve(b.Connect("trouble.example")))
		began := time.Now()
		got := e.busline(4, "call", "--follow", "--timeout", "3s", "trouble.example/count", "n=30", "pauseMs=1000")
		assert.Contains(t, got.stderr, "ended after 3s, as --timeout says")
		assert.Equal(t, 3*time.Second, time.Since(began).Truncate(time.Millisecond))
		assert.Contains(t, got.stdout, "1\n2\n")
		all := e.busline(0, "call", "trouble.example/count", "n=30", "pauseMs=1000").stdout
		assert.Equal(t, 30, strings.Count(all, "\n"))
		time.Sleep(10 * time.Second) // the handler ends
	})
}

func TestContext(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	e.env["BUS_NATS_CREDS"], e.env["BUS_TOKEN"] = "user.creds", "secret"
	e.busline(0, "--url", "nats://u:secret@a,nats://secret@b", "--plane", "far", "context", "save", "staging")
	delete(e.env, "BUS_NATS_CREDS")
	delete(e.env, "BUS_TOKEN")
	e.busline(0, "--plane", "other", "context", "save", "prod")
	e.busline(0, "context", "use", "staging")
	e.says("prod\nstaging\n", "context", "ls", "-o", "name")
	e.says("   NAME     URL                          PLANE  TOKEN\n   prod     -                            other  -\n"+
		"*  staging  nats://u:***@a,nats://***@b  far    yes\n", "context", "ls")
	shown := e.busline(0, "context", "show", "--json").stdout
	assert.NotContains(t, shown, "secret")
	assert.Contains(t, shown, `{"variable":"BUS_PLANE","value":"far","from":"context staging, in use"}`)
	assert.Regexp(t, `"BUS_NATS_CREDS","value":"[^"]+[/\\]user.creds"`, shown)
	assert.NotContains(t, e.busline(0, "context", "show", "staging").stdout, "secret")
	e.refuses(2, "there is no context stagin; there are prod, staging; did you mean staging?", "context", "use", "stagin")
	e.refuses(2, "there is no context stagin; ", "--context", "stagin", "ls")
	e.refuses(2, "there is nothing to keep", "context", "save", "x")
	e.refuses(2, "there is no command sho, see busline context --help; did you mean show?", "context", "sho")
	e.refuses(2, "name one context", "context", "use")
	e.refuses(2, "name the context", "context", "save")
	e.refuses(2, "name one context", "context", "show", "a", "b")
	e.refuses(2, "name the contexts", "context", "rm")
	e.refuses(2, "ls takes no arguments", "context", "ls", "x")
	assert.Contains(t, e.busline(0, "__complete", "context", "use", "").stdout, "prod\nstaging\n")
	assert.Contains(t, e.busline(0, "__complete", "ls", "--context", "").stdout, "prod\nstaging\n")
	e.busline(0, "context", "rm", "staging")
	e.says("VARIABLE      VALUE                  FROM\nBUS_NATS_URL  nats://127.0.0.1:4222  default\n"+
		"BUS_PLANE     bus                    default\n", "context", "show")
	e.busline(0, "context", "use", "prod")
	e.busline(0, "context", "use", "--none")
	assert.NotContains(t, e.busline(0, "context", "show").stdout, "other")
}
