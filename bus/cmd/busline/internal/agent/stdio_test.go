package agent_test

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/cmd/busline/internal/agent"
	"github.com/busline/busline/bus/cmd/busline/internal/cli"
)

// TestStdio_Lines pipes lines in, as a script does: each that is a request is answered although the input has ended,
// and one that is no message is refused and ends nothing.
func TestStdio_Lines(t *testing.T) {
	t.Parallel()
	input := strings.Join([]string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},` +
			`"clientInfo":{"name":"a","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		"oops", "", "{", "null", `{"jsonrpc":"2.0"}`, `{"jsonrpc":"1.0","id":7,"method":"ping"}`, "Content-Length: 5",
		"\xff\xfe", strings.Repeat("[", 20_000), `[{"jsonrpc":"2.0","id":8,"method":"ping"}]`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`,
		`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"version"}}`,
	}, "\n")
	var output bytes.Buffer
	status := cli.Run(t.Context(), cli.Environment{Stdin: strings.NewReader(input), Stdout: &output, Stderr: io.Discard,
		Getenv: func(string) string { return "" }, Connect: bustest.New(t).Options(), More: []cli.Subcommand{agent.Command}}, []string{"mcp"})
	assert.Zero(t, status)
	answered, refused := make(map[string]bool), make(map[int]int)
	for line := range strings.Lines(output.String()) {
		var answer struct {
			ID    json.RawMessage
			Error *struct{ Code int }
		}
		require.NoError(t, json.Unmarshal([]byte(line), &answer), line)
		if answer.Error == nil {
			answered[string(answer.ID)] = true
		} else {
			refused[answer.Error.Code]++
		}
	}
	assert.Equal(t, map[string]bool{"1": true, "2": true, "3": true}, answered)
	assert.Equal(t, map[int]int{-32700: 5, -32600: 4}, refused)
}

// TestFiles_WithoutEnd holds that a file which may have no end is not read.
func TestFiles_WithoutEnd(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	serveShop(t, b)
	e := on(t, b, "--write")
	for _, file := range []string{"/dev/zero", "/dev/stdin", t.TempDir()} {
		e.refuses(file+" is no regular file", "call", operands("products.example/products", "name=@"+file, "price=1"))
	}
}
