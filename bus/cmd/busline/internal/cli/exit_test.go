package cli_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/cmd/busline/internal/cli"
	"github.com/busline/busline/examples/calculator/calculatorsvc"
	"github.com/busline/busline/examples/trouble/troublesvc"
)

func TestExit_HostNotFound(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	e.refuses(3, "busline call: no instance serves calculator.example in plane "+e.bus.Plane()+
		"; there are no other hosts either", "call", "calculator.example/add")
	e.refuses(3, "; there are no other hosts either", "docs")
	e.serveCalculator()
	e.serveTrouble()
	for _, arguments := range [][]string{{"call", "calculatr.example/add"}, {"describe", "calculatr.example"},
		{"docs", "calculatr.example"}, {"bench", "calculatr.example/add"}} {
		e.refuses(3, "no instance serves calculatr.example in plane "+e.bus.Plane()+"; did you mean calculator.example?",
			arguments...)
	}
	e.refuses(3, "; there are calculator.example, trouble.example", "call", "x/y")
	e.refuses(3, `{"error":"no instance serves x in plane `+e.bus.Plane()+
		`; there are calculator.example, trouble.example","exit":3}`, "call", "--json", "x/y")
	e.refuses(3, "no instance answers at calculator.example:888/nothing", "call", "--all",
		"calculator.example:888/nothing")
}

// TestHostNotFound_ManyHosts holds that an error names at most 20 hosts.
func TestHostNotFound_ManyHosts(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	for i := range 22 {
		e.serve(fmt.Sprintf("host%02d.example", i), calculatorsvc.Serve)
	}
	e.refuses(3, ", host18.example, host19.example and 2 more\n", "call", "x/y")
}

// TestHostNotFound_OtherPort calls a host on a port that it does not serve.
func TestHostNotFound_OtherPort(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	e.serveCalculator()
	e.serveMessaging()
	for _, operand := range []string{"calculator.example:444", "calculator.example:444/ad"} {
		e.refuses(3, "no instance serves calculator.example on port 444; it is on 443\n", "describe", operand)
		e.refuses(3, "no instance serves calculator.example on port 444; it is on 443\n", "call", operand, "x=5")
	}
	e.refuses(3, "no instance serves calculator.example on port 444; it is on 443\n", "docs", "calculator.example:444")
	e.refuses(3, "no instance serves messaging.example on port 445; it is on 443, 444\n", "docs", "messaging.example:445")
	e.refuses(3, "calculator.example serves /add on port 443, not on 444: write calculator.example/add\n", "call",
		"calculator.example:444/add")
	e.refuses(1, "calculator.example:888 has no document", "describe", "calculator.example:888")
	e.serve("secret.example", func(conn *bus.Conn) error { return bus.Serve(conn, Wily{}, bus.Undocumented()) })
	e.refuses(1, "secret.example has no document (seen without a token)", "docs", "secret.example:443")
	e.refuses(2, "secret.example serves nothing at /steal, and shows no other paths (seen without a token)", "call",
		"secret.example/steal")
}

// TestNoAck asks for a host that the broker knows, and of which nothing comes.
func TestNoAck(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	e.serveCalculator()
	stopped := e.bus.Connect("stopped.example").NATS()
	for _, subject := range []string{".*.example.hello.>", ".*.example.calculatr.>"} { // of all ports and instances
		_, err := stopped.SubscribeSync(e.bus.Plane() + subject)
		require.NoError(t, err)
	}
	require.NoError(t, stopped.Flush())
	impatient := func(environment *cli.Environment) {
		environment.Connect = append(environment.Connect, bus.WithAckWait(50*time.Millisecond))
	}
	for _, arguments := range [][]string{
		{"call", "hello.example/greet"}, {"call", "hello.example:888/ping"}, {"describe", "hello.example"},
		{"docs", "hello.example:444"}, {"bench", "hello.example/greet"},
		{"call", "hello.example/greet", "--instance", "x1k0hello"},
	} {
		got := e.run(t.Context(), impatient, arguments...)
		assert.Equal(t, 3, got.status, "busline %v", arguments)
		assert.Contains(t, got.stderr,
			"hello.example within 50ms: a subscriber hangs, has lost the connection, or only listens\n", "busline %v", arguments)
	}
	got := e.run(t.Context(), impatient, "call", "calculatr.example/add")
	assert.Equal(t, 3, got.status, "a misspelt host with a subscriber")
	assert.Contains(t, got.stderr, "only listens; did you mean calculator.example?", "a misspelt host with a subscriber")
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		e := &terminal{t, b, map[string]string{}}
		require.NoError(t, troublesvc.Serve(b.Connect("trouble.example")))
		began := time.Now()
		e.refuses(4, "504 Gateway Timeout: trouble.example took the call, and did not answer within the time budget", "call",
			"--timeout", "3s", "trouble.example/hang", "ms=9000")
		if took := time.Since(began).Truncate(time.Millisecond); took != 3*time.Second {
			t.Errorf("the call took %s", took)
		}
		got := e.busline(1, "bench", "-n", "2", "--timeout", "1s", "trouble.example/hang", "ms=9000")
		if !strings.Contains(got.stdout, "504    2  504 Gateway Timeout: trouble.example took the call") {
			t.Errorf("the bench prints\n%s", got.stdout)
		}
		time.Sleep(10 * time.Second) // the handlers end
	})
}

// Late gives up before its callers do.
type Late struct{}

// Answer is out of time.
func (Late) Answer() error { return bus.Errorf(http.StatusGatewayTimeout, "no time is left") }

// TestTimeout_OfCallee holds that it does not matter who says that the time is over, the caller or the callee.
func TestTimeout_OfCallee(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	e.serve("late.example", func(conn *bus.Conn) error { return bus.Serve(conn, Late{}) })
	for _, flag := range []string{"--trace", "--raw", "--include", "--json"} {
		e.busline(cli.TimedOut, "call", flag, "late.example/answer")
	}
}

func TestInterrupted(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		e := &terminal{t, b, map[string]string{}}
		require.NoError(t, troublesvc.Serve(b.Connect("trouble.example")))
		for _, arguments := range [][]string{
			{"call", "trouble.example/sleep", "ms=9000"},
			{"call", "--all", "trouble.example/sleep", "ms=9000"},
			{"bench", "trouble.example/sleep", "ms=400"},
		} {
			ctx, interrupt := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, interrupt)
			got := e.run(ctx, nil, arguments...)
			assert.Equal(t, 130, got.status, "busline %v", arguments)
			assert.Empty(t, got.stderr, "busline %v", arguments)
			if arguments[0] == "bench" && !strings.Contains(got.stdout, "2 in 1.00 s, 1 at a time\n") {
				t.Errorf("an interrupted bench prints\n%s", got.stdout)
			}
		}
		if got := e.busline(0, "call", "trouble.example/cancelled"); got.stdout != `{"count":3}`+"\n" {
			t.Errorf("it says of how many calls it has cancelled: %s", got.stdout)
		}
	})
}

// typist calls begins when its text is first read.
type typist struct {
	io.Reader
	begins func()
}

func (t typist) Read(into []byte) (int, error) {
	t.begins()
	return t.Reader.Read(into)
}

// TestExit_InterruptedWhileReading waits for a body, or a value, that is never typed to the end.
func TestExit_InterruptedWhileReading(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	for _, operand := range []string{"-", "x=@-", "@-"} {
		typed, typing := io.Pipe()
		ctx, interrupt := context.WithCancel(t.Context())
		got := e.run(ctx, func(environment *cli.Environment) { environment.Stdin = typist{typed, interrupt} }, "call",
			"calculator.example/add", operand)
		if got != (result{status: 130}) {
			t.Errorf("busline call … %s: %+v", operand, got)
		}
		assert.NoError(t, typing.Close())
	}
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	elsewhere := func(environment *cli.Environment) { environment.Connect = nil }
	e := newTerminal(t)
	for _, arguments := range [][]string{
		{"ls"}, {"describe", "x"}, {"docs"}, {"call", "x/y"}, {"bench", "x/y"}, {"permissions"},
		{"events", "dead-letters", "x"}, {"events", "ls"}, {"ls", "--watch"},
	} {
		got := e.run(t.Context(), elsewhere, append([]string{"--url", "nats://127.0.0.1:1", "--timeout", "10ms"},
			arguments...)...)
		assert.Equal(t, 5, got.status, "busline %v", arguments)
		assert.Empty(t, got.stdout, "busline %v", arguments)
		assert.Contains(t, got.stderr, "no broker at nats://127.0.0.1:1", "busline %v", arguments)
	}
	got := e.run(t.Context(), elsewhere, "--url", "nats://127.0.0.1:1", "--timeout", "10ms", "__complete", "call", "")
	assert.Zero(t, got.status, "completion")
	assert.Equal(t, ":36\n", got.stdout, "completion")
	got = e.run(t.Context(), elsewhere, "--url", "nats://127.0.0.1:1", "--timeout", "10ms", "--json", "ls")
	var report struct {
		Error string
		Exit  int
	}
	err := json.Unmarshal([]byte(got.stderr), &report)
	require.NoError(t, err, "as JSON")
	assert.Equal(t, 5, report.Exit, "as JSON")
	assert.Equal(t, 5, got.status, "as JSON")
}

// refusing is an address that refuses connections. A second attempt shows that the command has waited.
type refusing struct {
	tries  atomic.Int64
	waited func()
}

func (r *refusing) InProcessConn() (net.Conn, error) {
	if r.tries.Add(1) == 2 {
		r.waited()
	}
	return nil, errors.New("connection refused")
}

// TestExit_WaitsForNoBroker holds that a command without --timeout fails at once if no broker listens.
func TestExit_WaitsForNoBroker(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	for _, test := range []struct {
		arguments []string
		waits     bool
	}{
		{[]string{"call", "x/y"}, false},
		{[]string{"--json", "ls"}, false},
		{[]string{"--timeout", "600s", "call", "x/y"}, true},
		{[]string{"call", "x/y", "--timeout=20s"}, true},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		broker := &refusing{waited: cancel}
		got := e.run(ctx, func(environment *cli.Environment) {
			environment.Connect = []bus.ConnectOption{bus.WithBroker(broker)}
		}, test.arguments...)
		cancel()
		if tries := broker.tries.Load(); (tries > 1) != test.waits {
			t.Errorf("busline %v: %+v after %d tries", test.arguments, got, tries)
		}
		if !test.waits && (got.status != 5 || !strings.Contains(got.stderr, "no broker at the broker of this process: ")) {
			t.Errorf("busline %v: %+v", test.arguments, got)
		}
	}
}

func TestLeavesNothing(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) { // which fails when a connection is left open
		e := &terminal{t, b, map[string]string{}}
		e.busline(3, "ls")
		e.busline(3, "call", "x/y")
		e.busline(0, "permissions")
	})
}

// brokenWriter fails like a closed pipe, or like a full disk.
type brokenWriter struct{ err error }

func (b brokenWriter) Write([]byte) (int, error) { return 0, b.err }

func TestClosedPipe(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	e.serveCalculator()
	for _, arguments := range [][]string{
		{"ls"}, {"ls", "--watch"}, {"docs", "calculator.example"}, {"describe", "calculator.example"},
		{"call", "calculator.example/add"},
		{"call", "--all", "calculator.example/add"}, {"bench", "-n", "1", "calculator.example/add"}, {"help"}, {"version"},
		{"--version"}, {"completion", "bash"}, {"permissions"},
	} {
		for _, err := range []error{syscall.EPIPE, io.ErrClosedPipe, errors.New("disk full")} {
			got := e.run(t.Context(), func(environment *cli.Environment) {
				environment.Stdout = brokenWriter{fmt.Errorf("write: %w", err)}
			}, arguments...)
			if isPipe := err.Error() != "disk full"; isPipe && (got.status != 141 || got.stderr != "") || !isPipe &&
				(got.status != 1 || !strings.Contains(got.stderr, "disk full")) {
				t.Errorf("busline %v, %v: %+v", arguments, err, got)
			}
		}
	}
}
