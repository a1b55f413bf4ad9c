package agent_test

import (
	"context"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/cmd/busline/internal/agent"
	"github.com/busline/busline/bus/cmd/busline/internal/cli"
	"github.com/busline/busline/examples/payments/paymentssvc"
	"github.com/busline/busline/examples/products/productsvc"
	"github.com/busline/busline/examples/trouble/troublesvc"
)

var update = flag.Bool("update", false, "write golden files")

// editor is a host of an agent that has started busline mcp.
type editor struct {
	*sdk.ClientSession

	t         *testing.T
	requests  io.Closer          // standard input of busline mcp
	interrupt context.CancelFunc // is Ctrl-C
	status    chan int           // of busline mcp, when it has ended
	ends      int                // with this status
}

// start starts busline mcp as it is in an environment.
func start(t *testing.T, connect []bus.ConnectOption, arguments ...string) *editor {
	t.Helper()
	stdin, requests := io.Pipe()
	responses, stdout := io.Pipe()
	ctx, interrupt := context.WithCancel(context.WithoutCancel(t.Context()))
	e := &editor{t: t, requests: requests, interrupt: interrupt, status: make(chan int, 1)}
	go func() {
		defer func() { _ = stdout.Close() }() // as the end of a process does
		e.status <- cli.Run(ctx, cli.Environment{
			Stdin: stdin, Stdout: stdout, Stderr: io.Discard, Getenv: func(string) string { return "" }, Connect: connect,
			More: []cli.Subcommand{agent.Command},
		}, append([]string{"mcp"}, arguments...))
	}()
	client := sdk.NewClient(&sdk.Implementation{Name: "editor", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &sdk.IOTransport{Reader: responses, Writer: requests}, nil)
	require.NoError(t, err)
	e.ClientSession = session
	t.Cleanup(func() {
		_ = session.Close() // which is the end of standard input
		assert.Equal(t, e.ends, <-e.status)
		interrupt()
	})
	return e
}

// on starts busline mcp on a bus.
func on(t *testing.T, b *bustest.Bus, arguments ...string) *editor {
	t.Helper()
	return start(t, b.Options(), arguments...)
}

// arguments are those of a tool.
type arguments = map[string]any

// operands are arguments without flags.
func operands(words ...string) arguments { return arguments{"operands": words} }

// call calls a tool, and returns what it says.
func (e *editor) call(name string, args arguments) (text string, failed bool) {
	e.t.Helper()
	result, err := e.CallTool(e.t.Context(), &sdk.CallToolParams{Name: name, Arguments: args})
	require.NoError(e.t, err)
	var said []string
	for _, each := range result.Content {
		said = append(said, each.(*sdk.TextContent).Text)
	}
	return strings.Join(said, "\n"), result.IsError
}

// says calls a tool, and fails the test unless it succeeds and says this.
func (e *editor) says(want, name string, args arguments) {
	e.t.Helper()
	text, failed := e.call(name, args)
	assert.False(e.t, failed, text)
	assert.Contains(e.t, text, want, name)
}

// refuses calls a tool, and fails the test unless it fails with this.
func (e *editor) refuses(want, name string, args arguments) {
	e.t.Helper()
	text, failed := e.call(name, args)
	assert.True(e.t, failed, text)
	assert.Contains(e.t, text, want, name)
}

// tools returns the tools by name.
func (e *editor) tools() map[string]*sdk.Tool {
	e.t.Helper()
	tools := make(map[string]*sdk.Tool)
	for each, err := range e.Tools(e.t.Context(), nil) {
		require.NoError(e.t, err)
		tools[each.Name] = each
	}
	return tools
}

// serveShop serves products, payments and trouble.
func serveShop(t *testing.T, b *bustest.Bus) {
	t.Helper()
	conn := b.Connect("products.example")
	store, err := productsvc.OpenStore(t.Context(), conn)
	require.NoError(t, err)
	require.NoError(t, productsvc.Serve(conn, store))
	require.NoError(t, paymentssvc.Serve(b.Connect("payments.example")))
	require.NoError(t, troublesvc.Serve(b.Connect("trouble.example")))
}

// golden compares a text with a file, or writes that with -update.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o750))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(want), got, "go test -update writes it anew")
}
