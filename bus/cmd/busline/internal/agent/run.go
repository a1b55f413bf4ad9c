package agent

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/busline/busline/bus/cmd/busline/internal/cli"
)

// mostOutput is how much of standard output, and of standard error, a tool returns, in bytes.
const mostOutput = 256 << 10

// run runs a command line, and returns what it has printed.
func (s *server) run(ctx context.Context, of *tool, line *commandLine) *sdk.CallToolResult {
	call := ctx
	ctx, interrupt := context.WithCancel(ctx)
	defer interrupt()
	defer time.AfterFunc(line.limit, interrupt).Stop() // no deadline, which calls would take for theirs
	var stdout, stderr output
	environment := s.environment
	environment.Stdin, environment.Stdout, environment.Stderr = strings.NewReader(""), &stdout, &stderr
	environment.StdinTerminal, environment.StdoutTerminal, environment.StderrTerminal = false, false, false
	var ofCall []string
	if !of.endless { // the time of a call ends before that of the tool, so that the error tells who did not answer
		ofCall = []string{"--timeout=" + (line.limit * 9 / 10).String()}
	}
	status := cli.Run(ctx, environment, slices.Concat(ofCall, s.globalFlags, line.words))
	result := new(sdk.CallToolResult)
	say := func(text string) {
		if text != "" {
			result.Content = append(result.Content, &sdk.TextContent{Text: strings.ToValidUTF8(text, "\ufffd")})
		}
	}
	say(stdout.String())
	say(stderr.String())
	switch {
	case stdout.isCut() && (status == cli.PipeClosed || status == 0):
		say(fmt.Sprintf("The output is cut after %d bytes: ask for less, as with a host, a path or a limit.", mostOutput))
	case call.Err() != nil:
		result.IsError = true
		say("It was cancelled.")
	case status == cli.Interrupted && (of.endless || stdout.Len() > 0), status == cli.TimedOut && stdout.Len() > 0:
		say(fmt.Sprintf("It was ended after %s.", line.limit))
	case status == cli.Interrupted:
		result.IsError = true
		say(fmt.Sprintf("It had no result after %s: give it more seconds, at most %d.", line.limit, mostSeconds))
	case status != 0:
		result.IsError = true
		say(fmt.Sprintf("Exit status %d: %s", status, cli.Meaning(status)))
	case len(result.Content) == 0:
		say("It has printed nothing.")
	}
	return result
}

// refused is the result of a call whose arguments are invalid.
func refused(err error) *sdk.CallToolResult {
	return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: err.Error()}}}
}

// output keeps the beginning of what is written to it. Behind that it is a closed pipe, which ends the command.
type output struct {
	mu   sync.Mutex // protects all fields below
	text bytes.Buffer
	cut  bool
}

// Write implements io.Writer.
func (o *output) Write(piece []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if fits := mostOutput - o.text.Len(); len(piece) > fits {
		o.cut = true
		o.text.Write(piece[:fits])
		return fits, io.ErrClosedPipe
	}
	return o.text.Write(piece)
}

// String returns what is kept.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// Len returns how much is kept, in bytes.
func (o *output) Len() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Len()
}

// isCut reports whether more was written than is kept.
func (o *output) isCut() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.cut
}
