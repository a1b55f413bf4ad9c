package cli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/cmd/busline/internal/cli"
)

// tapped runs tap until it ends, while calls are made.
func (e *terminal) tapped(call func(), arguments ...string) result {
	ended := make(chan result)
	go func() { ended <- e.run(e.t.Context(), nil, append([]string{"tap"}, arguments...)...) }()
	for {
		select {
		case got := <-ended:
			return got
		default:
			call()
		}
	}
}

func TestTap(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	e.bus.AllowUnknownFields()
	calculator, caller := e.serveCalculator(), e.bus.Connect("caller.example")
	address := "https://calculator.example/"
	add := func() {
		_ = caller.Call(t.Context(), address+"add?secret=1", bus.Args{"x": 5, "y": 6}, nil)
	}
	call := func() {
		add()
		_ = caller.Call(t.Context(), address+"arithmetic", bus.Args{"x": 5, "op": "?"}, nil)
		_ = caller.Call(t.Context(), "https://calculator.example:445/nothing", nil, nil)
	}
	const clock, tail = `^\d\d:\d\d:\d\d\.\d{3}  `, `  [0-9.]+ ms `
	form := regexp.MustCompile(`(?m)` + clock + `caller\.example → calculator\.example  POST /add  200` + tail +
		calculator.ID() + `$`)
	got := e.tapped(add, "--count", "10") // one instance reports all, so that the order is known
	assert.Zero(t, got.status, "tap")
	assert.Regexp(t, form, got.stdout, "tap")
	assert.Equal(t, 10, strings.Count(got.stdout, "\n"), "tap")
	assert.NotContains(t, got.stdout, "secret", "tap")
	got = e.tapped(call, "--count", "4", "--failed", "calc*")
	assert.Zero(t, got.status, "tap of what fails")
	assert.NotContains(t, got.stdout, "  200  ", "tap of what fails")
	assert.Equal(t, 4, strings.Count(got.stdout, "\n"), "tap of what fails")
	got = e.tapped(call, "--count", "3", "--failed", "--json")
	for line := range strings.Lines(got.stdout) {
		var record struct {
			From, MsgID string
			Status      int
		}
		err := json.Unmarshal([]byte(line), &record)
		require.NoError(t, err, line)
		assert.Equal(t, "caller.example", record.From, line)
		assert.GreaterOrEqual(t, record.Status, 400, line)
		assert.NotEmpty(t, record.MsgID, line)
	}
	e.refuses(2, `"[" is not a host pattern`, "tap", "[")
	e.refuses(2, "--count -1: choose a number of calls, or 0 for no limit", "tap", "--count", "-1")
}

// lineWriter hands over what is written.
type lineWriter chan string

func (w lineWriter) Write(text []byte) (int, error) {
	w <- string(text)
	return len(text), nil
}

// TestTap_FindsNewcomers taps a service that was not there at the start.
func TestTap_FindsNewcomers(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	caller := e.bus.Connect("caller.example")
	lines, ended := make(lineWriter, 16), make(chan result, 1)
	go func() {
		ended <- e.run(t.Context(), func(environment *cli.Environment) { environment.Stderr = lines }, "tap", "--count", "1",
			"calculator.example")
	}()
	assert.Contains(t, <-lines, "no host is called calculator.example yet; waiting for one")
	e.serveCalculator()
	for {
		select {
		case got := <-ended:
			assert.Zero(t, got.status, fmt.Sprint(got))
			assert.Contains(t, got.stdout, "calculator.example", fmt.Sprint(got))
			return
		default:
			// until the tap finds the service
			_ = caller.Call(t.Context(), "https://calculator.example/add", bus.Args{"x": 1}, nil)
		}
	}
}

// TestTap_Refused taps an instance that does not let itself be asked, and says so once.
func TestTap_Refused(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		e := &terminal{t, b, map[string]string{}}
		answerForeign(t, b, "ping", "200 OK", "{}")
		answerForeign(t, b, "tap", "403 Forbidden", "not you")
		ctx, interrupt := context.WithCancel(t.Context())
		time.AfterFunc(10*time.Second, interrupt) // after some searches for newcomers
		got := e.run(ctx, nil, "tap")
		assert.Equal(t, 130, got.status, "tap")
		assert.Equal(t, 1, strings.Count(got.stderr, "busline: f1aaaaaaaa.foreign.example: 403 Forbidden"), "tap")
	})
}

// TestTap_OfItself taps a foreign instance that also reports the questions of the tap.
func TestTap_OfItself(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		e := &terminal{t, b, map[string]string{}}
		answerForeign(t, b, "ping", "200 OK", "{}")
		answerForeign(t, b, "tap", "200 OK",
			`{"next":2,"calls":[{"from":"busline","fromId":"{caller}","to":"foreign.example","port":888,"path":"/tap"},`+
				`{"from":"caller.example","fromId":"c1aaaaaaaa","to":"foreign.example","port":443,"path":"/add"}]}`)
		got := e.run(t.Context(), nil, "tap", "--count", "1")
		assert.Zero(t, got.status, "tap")
		assert.NotContains(t, got.stdout, "/tap", "tap")
		assert.Contains(t, got.stdout, "caller.example", "tap")
	})
}

// TestTap_Timeout ends a tap without calls.
func TestTap_Timeout(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		e := &terminal{t, b, map[string]string{}}
		got := e.busline(4, "tap", "--count", "1", "--timeout", "7s")
		assert.Contains(t, got.stderr, "ended after 7s, as --timeout says")
	})
}
