package main_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/examples/calculator/calculatorsvc"
)

// TestMCP starts the program as the host of an agent does: nothing but the protocol is on standard output, and the
// end of standard input ends the program.
func TestMCP(t *testing.T) {
	t.Parallel()
	embedded, err := broker.Start(broker.Listen("127.0.0.1:0"))
	require.NoError(t, err)
	t.Cleanup(embedded.Close)
	var stderr bytes.Buffer
	busline := exec.CommandContext(t.Context(), program(t), "mcp", "--url", embedded.URL())
	busline.Env, busline.Stderr = append(os.Environ(), "BUS_PLANE=mcp"), &stderr
	client := sdk.NewClient(&sdk.Implementation{Name: "editor", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &sdk.CommandTransport{Command: busline}, nil)
	require.NoError(t, err)
	conn, err := bus.Connect(t.Context(), "calculator.example", bus.WithBroker(embedded), bus.WithPlane("mcp"))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, conn.Close(context.WithoutCancel(t.Context()))) })
	require.NoError(t, calculatorsvc.Serve(conn))
	result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "ls"})
	require.NoError(t, err)
	assert.Contains(t, result.Content[0].(*sdk.TextContent).Text, "calculator.example")
	require.NoError(t, session.Close())
	assert.Zero(t, busline.ProcessState.ExitCode())
	assert.Empty(t, stderr.String())
}
