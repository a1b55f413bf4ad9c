package agent_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/cmd/busline/internal/agent"
	"github.com/busline/busline/bus/cmd/busline/internal/cli"
)

func TestCommand_Help(t *testing.T) {
	t.Parallel()
	var help strings.Builder
	status := cli.Run(t.Context(), cli.Environment{Stdout: &help, More: []cli.Subcommand{agent.Command}}, []string{"help", "mcp"})
	assert.Zero(t, status)
	golden(t, "help-mcp.txt", help.String())
	help.Reset()
	refused := cli.Run(t.Context(), cli.Environment{Stderr: &help, More: []cli.Subcommand{agent.Command},
		Getenv: func(string) string { return "" }}, []string{"mcp", "now"})
	assert.Equal(t, 2, refused)
	assert.Equal(t, "busline mcp: mcp takes no arguments\n", help.String())
}

// namesOf returns the names of tools, those that only read first.
func namesOf(tools map[string]*sdk.Tool) (read, change []string) {
	for _, name := range slices.Sorted(maps.Keys(tools)) {
		if tools[name].Annotations.ReadOnlyHint {
			read = append(read, name)
		} else {
			change = append(change, name)
		}
	}
	return read, change
}

// TestTools_Listed holds which subcommands are tools, and which of them only read.
func TestTools_Listed(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	read, change := namesOf(on(t, b).tools())
	assert.Equal(t, "asyncapi call client_ts describe docs events_dead_letters events_describe events_ls events_tail ls "+
		"permissions tap trace version", strings.Join(read, " "))
	assert.Empty(t, change)
	writing := on(t, b, "--write").tools()
	read, change = namesOf(writing)
	assert.Equal(t, "asyncapi client_ts describe docs events_describe events_ls events_tail ls permissions tap trace version",
		strings.Join(read, " "))
	assert.Equal(t, "bench call events_dead_letters events_forget events_publish events_replay", strings.Join(change, " "))
	for _, name := range change {
		assert.True(t, *writing[name].Annotations.DestructiveHint, name)
	}
}

// TestTools_Described holds that a tool has the help of its subcommand, and its flags without those that hold for all.
func TestTools_Described(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	reading, writing := on(t, b).tools(), on(t, b, "--write").tools()
	golden(t, "events_dead_letters.json", described(t, reading["events_dead_letters"]))
	golden(t, "events_dead_letters-write.json", described(t, writing["events_dead_letters"]))
	golden(t, "call.json", described(t, reading["call"]))
	golden(t, "docs.json", described(t, reading["docs"]))
	for name, each := range writing {
		for _, flag := range []string{"url", "plane", "token", "timeout", "help"} {
			assert.NotContains(t, each.InputSchema.(map[string]any)["properties"], flag, name)
		}
	}
}

func described(t *testing.T, tool *sdk.Tool) string {
	t.Helper()
	text, err := json.MarshalIndent(tool, "", "  ")
	require.NoError(t, err)
	return string(text) + "\n"
}

// TestTools_Unknown calls what is no tool, or gives what is no argument of one.
func TestTools_Unknown(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	e := on(t, b)
	for name, want := range map[string]string{
		"describ":        "there is no tool describ; did you mean describe?",
		"token":          "there is no tool token",
		"mcp":            "there is no tool mcp",
		"__complete":     "there is no tool __complete",
		"events publish": "there is no tool events publish",
		"events_publish": "events_publish changes something: start busline mcp with --write to allow it",
		"bench":          "bench changes something: start busline mcp with --write to allow it",
	} {
		_, err := e.CallTool(t.Context(), &sdk.CallToolParams{Name: name})
		assert.ErrorContains(t, err, want)
	}
	for _, row := range []struct {
		tool string
		args arguments
		want string
	}{
		{"ls", arguments{"wach": true}, `ls has no argument "wach", it takes every, jq, json, watch, seconds, operands; ` +
			"did you mean watch?"},
		{"ls", arguments{"url": "nats://other.example"}, `ls has no argument "url"`},
		{"ls", arguments{"watch=true --url": true}, `ls has no argument "watch=true --url"`},
		{"version", operands("x"), `version has no argument "operands", it takes jq, json, seconds`},
		{"ls", arguments{"watch": "yes"}, `watch: "yes" is not valid; write true or false`},
		{"tap", arguments{"count": 1.5}, "count: 1.5 is not valid; write an integer"},
		{"tap", arguments{"count": -1}, "--count -1: choose a number of calls"},
		{"ls", arguments{"every": 2}, "every: 2 is not valid; write a text"},
		{"ls", arguments{"every": "soon"}, `--every: "soon" is not valid; write a time such as 500ms, 20s or 2m`},
		{"call", arguments{"header": "A: b"}, `header: "A: b" is not valid; write an array of texts`},
		{"ls", arguments{"operands": "a.example"}, `operands: "a.example" is not valid; write an array of texts`},
		{"ls", arguments{"seconds": 61}, "seconds: 61 is not valid; write a number from 1 to 60"},
		{"ls", arguments{"seconds": 0}, "seconds: 0 is not valid"},
		{"ls", arguments{"seconds": nil, "watch": nil, "operands": nil}, "no instance is on plane"},
		{"describe", nil, "name a host, as in: busline describe calculator.example"},
	} {
		e.refuses(row.want, row.tool, row.args)
	}
}
