package cli_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/cmd/busline/internal/cli"
	"github.com/busline/busline/bus/trace"
	"github.com/busline/busline/examples/calculator/calculatorsvc"
	"github.com/busline/busline/examples/trouble/troublesvc"
)

const traceBar = `[·█]{24} +[0-9.]+ ms +[0-9.ms]+ left  `

// traceID returns the id of a trace in JSON.
func traceID(t *testing.T, output string) string {
	t.Helper()
	var gathered trace.Trace
	require.NoError(t, json.Unmarshal([]byte(output), &gathered), output)
	require.NotEmpty(t, gathered.Roots)
	return gathered.ID
}

func TestTrace(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	calculator := e.serve("calculator.example", calculatorsvc.Serve, trace.Record())
	e.serve("other.example", calculatorsvc.Serve)
	got := e.run(t.Context(), nil, "call", "--trace", "calculator.example/add", "x=5", "y=6")
	assert.Equal(t, `{"sum":11}`+"\n", got.stdout)
	assert.Regexp(t, "^busline: 1 of 3 instances does not use trace.Record\n"+
		traceBar+`busline-cli → calculator\.example  POST /add  200`+"\n"+
		traceBar+`  `+calculator.ID()+`\.calculator\.example  POST /add  200`+"\n$", got.stderr)

	got = e.run(t.Context(), nil, "call", "--trace", "--json", "calculator.example/add", "x=5", "y=6")
	id := traceID(t, got.stderr)
	got = e.busline(0, "trace", "00-"+id+"-00f067aa0ba902b7-01")
	assert.Regexp(t, "^"+traceBar+calculator.ID()+`\.calculator\.example  POST /add  200
 +busline-cli does not remember this call
$`, got.stdout)
	assert.Equal(t, id, traceID(t, e.busline(0, "trace", "--json", id).stdout))
}

// TestTrace_OfFailedCall has the error, and the trace of a call that no service takes.
func TestTrace_OfFailedCall(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	e.serve("trouble.example", troublesvc.Serve, trace.Record())
	got := e.run(t.Context(), nil, "call", "--trace", "trouble.example/panic")
	assert.Equal(t, 1, got.status)
	assert.Regexp(t, `(?s)^500 Internal Server Error: .+`+traceBar+`busline-cli → trouble\.example  POST /panic  500`+
		"\n +500 Internal Server Error: ", got.stderr)
	got = e.run(t.Context(), nil, "call", "--trace", "trouble.example/sleep", "ms=60000", "--timeout", "2s")
	assert.Equal(t, 4, got.status)
	assert.Regexp(t, `(?s)^504 Gateway Timeout: .+\n[·█]{24} +[0-9.]+ ms +over  busline-cli → trouble\.example  POST /sleep  504`,
		got.stderr)
	assert.Equal(t, 1, strings.Count("\n"+got.stderr, "\n504 "))
}

// TestTrace_YAML prints both results of a call as YAML.
func TestTrace_YAML(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	e.serve("calculator.example", calculatorsvc.Serve, trace.Record())
	got := e.run(t.Context(), nil, "call", "--trace", "-o", "yaml", "calculator.example/add", "x=5", "y=6")
	assert.Equal(t, "sum: 11\n", got.stdout)
	assert.Regexp(t, `^id: [0-9a-f"]+\nroots:\n  - side: client\n`, got.stderr)
}

// interrupter interrupts a command as soon as it prints.
type interrupter func()

func (i interrupter) Write(text []byte) (int, error) {
	i()
	return len(text), nil
}

// TestTrace_OfInterruptedStream has the trace of a stream without an end.
func TestTrace_OfInterruptedStream(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	e.serve("trouble.example", troublesvc.Serve, trace.Record())
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	onScreen := func(environment *cli.Environment) { environment.Stdout = interrupter(interrupt) }
	got := e.run(ctx, onScreen, "call", "--trace", "trouble.example/count", "n=1000000", "pauseMs=1")
	assert.Equal(t, 130, got.status)
	assert.Regexp(t, `busline-cli → trouble\.example  POST /count  200  stream, [0-9]+ bytes`, got.stderr)
}

// TestTrace_Colours colours errors and gaps, and nothing of them is replaced.
func TestTrace_Colours(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	e.serve("trouble.example", troublesvc.Serve, trace.Record())
	got := e.run(t.Context(), nil, "call", "--trace", "--color", "always", "trouble.example/panic")
	assert.Contains(t, got.stderr, " \x1b[31m500 Internal Server Error: ")
	assert.NotContains(t, got.stderr, "\ufffd")
	got = e.run(t.Context(), nil, "call", "--trace", "--json", "trouble.example/sleep", "ms=0")
	id := traceID(t, got.stderr)
	got = e.busline(0, "trace", "--color", "always", id)
	assert.Contains(t, got.stdout, " \x1b[2mbusline-cli does not remember this call\x1b[0m\n")
	assert.NotContains(t, got.stdout, "\ufffd")
}

// TestTrace_StillRunning says that the callee of a call which has timed out has no record yet.
func TestTrace_StillRunning(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		e := &terminal{t, b, map[string]string{}}
		release := make(chan struct{})
		defer close(release)
		e.serve("slow.example", func(conn *bus.Conn) error {
			slow := func(http.ResponseWriter, *http.Request) { <-release }
			return conn.Handle(http.MethodPost, "/slow", http.HandlerFunc(slow))
		}, trace.Record())
		got := e.run(t.Context(), nil, "call", "--trace", "--timeout", "100ms", "-X", "POST", "slow.example/slow")
		assert.Equal(t, 4, got.status)
		assert.Contains(t, got.stderr, "no record of the callee: it is still running")
	})
}

func TestTrace_Misuse(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	e.refuses(2, `"7" is not the id of a trace: pass 32 hexadecimal digits`, "trace", "7")
	e.refuses(2, "pass the id of one trace", "trace")
	e.refuses(3, "no instance remembers trace 4bf92f3577b34da6a3ce929d0e0e4736: its calls are still running or older than what "+
		"the memory of their instances holds, or the services do not use trace.Record", "trace", "4bf92f3577b34da6a3ce929d0e0e4736")
}

// TestTrace_Refused names the instances that show their calls to operators alone.
func TestTrace_Refused(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	conn := e.serve("calculator.example", calculatorsvc.Serve, trace.Record(trace.Operators(`sub == "ada"`)))
	got := e.busline(3, "trace", "4bf92f3577b34da6a3ce929d0e0e4736")
	assert.Contains(t, got.stderr, "busline: "+conn.ID()+".calculator.example: it answers 401: only operators "+
		"may see its calls: send a token that satisfies trace.Operators")
}
