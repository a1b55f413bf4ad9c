package bus_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/claims"
)

// lines is what is logged, perhaps by many goroutines.
type lines struct {
	mu   sync.Mutex // protects text
	text bytes.Buffer
}

func (l *lines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *lines) count(part string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), part)
}

// line returns the only line with a message, which may be yet to come.
func (l *lines) line(t *testing.T, message string) map[string]any {
	t.Helper()
	eventually(t, func() bool { return l.count(`"message":"`+message+`"`) > 0 })
	l.mu.Lock()
	defer l.mu.Unlock()
	var found map[string]any
	for line := range strings.Lines(l.text.String()) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if fields["message"] == message {
			if found != nil {
				t.Errorf("%q is logged twice", message)
			}
			found = fields
		}
	}
	if found == nil {
		t.Fatalf("%q is not logged:\n%s", message, l.text.String())
	}
	return found
}

// TestLogLines holds what a line tells of a call on either side, and that it tells no secret.
func TestLogLines(t *testing.T) {
	t.Parallel()
	const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	overBoth(t, func(t *testing.T, w *testBus) {
		w.AllowUnknownFields()
		issuer := newIssuer(t)
		served, made := new(lines), new(lines)
		callee := w.connect(calculatorHost, bus.WithLogger(zerolog.New(served).Level(zerolog.DebugLevel)), issuer.trust())
		serve(t, callee, calculator{callee.ID()})
		caller := w.connect("caller.example", bus.WithLogger(zerolog.New(made).Level(zerolog.DebugLevel)))
		token := issuer.token(claims.Claims{"sub": "secret-subject"})
		request, err := http.NewRequestWithContext(bus.WithActor(t.Context(), token), http.MethodPost,
			calculatorURL+"/add?secret-query=1", strings.NewReader(`{"x":1,"secret-body":2}`))
		require.NoError(t, err)
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Traceparent", parent)
		response, err := caller.Do(request)
		require.NoError(t, err)
		response.Body.Close()
		for message, line := range map[string]map[string]any{"request served": served.line(t, "request served"), "call made": made.line(t, "call made")} {
			assert.Equal(t, response.Header.Get("Bus-Msg-Id"), line["msgId"], message)
			assert.Equal(t, parent[3:35], line["traceId"], message)
			assert.Equal(t, 200.0, line["status"], message)
			assert.Equal(t, "POST", line["method"], message)
			assert.Equal(t, "/add", line["path"], message)
			assert.Equal(t, "debug", line["level"], message)
			assert.GreaterOrEqual(t, line["duration"].(float64), float64(0), message)
		}
		line := served.line(t, "request served")
		assert.Equal(t, "caller.example", line["caller"], "served")
		assert.Equal(t, caller.ID(), line["callerId"], "served")
		assert.Equal(t, "calculator.Add", line["endpoint"], "served")
		line = made.line(t, "call made")
		assert.Equal(t, calculatorHost, line["callee"], "made")
		assert.Equal(t, 443.0, line["port"], "made")
		if err := caller.Call(t.Context(), calculatorURL+"/panic", nil, nil); bus.StatusOf(err) != 500 {
			t.Error(err)
		}
		line = served.line(t, "handler panicked")
		assert.Equal(t, "error", line["level"], "panicked")
		assert.Equal(t, "boom", line["panic"], "panicked")
		assert.Equal(t, 500.0, line["status"], "panicked")
		assert.Contains(t, line["stack"].(string), "calculator", "panicked")
		if err := caller.Call(t.Context(), calculatorURL+"/exit", nil, nil); bus.StatusOf(err) != 500 {
			t.Error(err)
		}
		line = served.line(t, "request failed")
		assert.Equal(t, "error", line["level"], "exited")
		assert.Equal(t, 500.0, line["status"], "exited")
		assert.Contains(t, line["stack"].(string), "calculator.Exit", "exited")
		assert.Equal(t, "calculator.Exit", line["endpoint"], "exited")
		assert.Equal(t, caller.ID(), line["callerId"], "exited")
		require.NotNil(t, line["duration"], "exited")
		assert.Equal(t, "/exit", line["path"], "exited")
		for name, log := range map[string]*lines{"served": served, "made": made} {
			t.Run(name, func(t *testing.T) {
				log.mu.Lock()
				text := log.text.String()
				assert.NotContains(t, text, "secret")
				assert.NotContains(t, text, token)
				log.mu.Unlock()
			})
		}
	})
}

// blockedWriter is a log writer that blocks until it is closed, and then keeps what it was given.
type blockedWriter struct {
	free chan struct{}
	lines
}

func (w *blockedWriter) Write(line []byte) (int, error) {
	<-w.free
	return w.lines.Write(line)
}

// TestConn_JunkWithBlockedLog holds that messages that are not understood stop neither calls nor Close, however slowly
// their lines are written, and that few lines are written of them, with a count.
func TestConn_JunkWithBlockedLog(t *testing.T) {
	t.Parallel()
	w := &testBus{Bus: newBus(t), transport: bus.WithoutShortCircuit()}
	log := &blockedWriter{free: make(chan struct{})}
	conn := w.connect(calculatorHost, bus.WithLogger(zerolog.New(log).Level(zerolog.InfoLevel)))
	serve(t, conn, calculator{conn.ID()})
	raw := rawClient(t, w)
	const junk = 2000
	for number := range junk {
		require.NoError(t, raw.Publish(w.Plane()+"."+addSubject, fmt.Appendf(nil, "junk %d\r\n\r\n", number)))
	}
	require.NoError(t, raw.Flush())
	if err := w.connect("caller.example").Call(t.Context(), calculatorURL+"/add", bus.Args{"x": 1, "y": 2}, nil); err != nil {
		t.Errorf("a call behind %d messages: %v", junk, err)
	}
	if dropped := conn.Stats().Malformed; dropped != junk {
		t.Errorf("%d messages were dropped, want %d", dropped, junk)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := conn.Close(ctx); err != nil {
		t.Errorf("Close: %v", err)
	}
	close(log.free)
	bus.FlushLog(conn)
	if got := log.count("message dropped"); got != 10 {
		t.Errorf("%d lines of dropped messages, want 10:\n%s", got, log)
	}
}

// panickyWriter is a log writer that panics.
type panickyWriter struct{}

func (panickyWriter) Write([]byte) (int, error) { panic("the log writer is broken") }

// TestConn_PanickyLog holds that a log writer that panics ends neither a call nor the process.
func TestConn_PanickyLog(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *testBus) {
		logger := zerolog.New(panickyWriter{}).Level(zerolog.DebugLevel)
		conn := w.connect(calculatorHost, bus.WithLogger(logger))
		serve(t, conn, calculator{conn.ID()})
		caller := w.connect("caller.example", bus.WithLogger(logger))
		var out struct{ Sum int }
		err := caller.Call(t.Context(), calculatorURL+"/add", bus.Args{"x": 1, "y": 2}, &out)
		require.NoError(t, err)
		assert.Equal(t, 3, out.Sum)
		for path, status := range map[string]int{"/panic": 500, "/exit": 500, "/nothing": 404} {
			if err := caller.Call(t.Context(), calculatorURL+path, nil, nil); bus.StatusOf(err) != status {
				t.Errorf("%s: %v, want status %d", path, err, status)
			}
		}
		bus.Drop(conn, bytes.ErrTooLarge)
		closeConn(t, conn)
	})
}

// TestConn_BlockedLog holds that a log writer that hangs holds up no answer, whatever level is logged.
func TestConn_BlockedLog(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, w *testBus) {
		writer := &blockedWriter{free: make(chan struct{})}
		logger := bus.WithLogger(zerolog.New(writer).Level(zerolog.DebugLevel))
		conn, caller := w.connect(calculatorHost, logger), w.connect("caller.example", logger)
		defer close(writer.free)
		serve(t, conn, calculator{conn.ID()})
		for path, status := range map[string]int{"/add?x=1&y=2": 200, "/panic": 500, "/exit": 500, "/nothing": 404} {
			if err := caller.Call(t.Context(), "GET "+calculatorURL+path, nil, nil); bus.StatusOf(err) != status {
				t.Errorf("%s: %v, want status %d", path, err, status)
			}
		}
	})
}

// toSlog returns a logger that writes into lines, without the time and the id of an instance.
func toSlog(to io.Writer, level slog.Leveler) *slog.Logger {
	return slog.New(slog.NewTextHandler(to, &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == "id" {
			return slog.Attr{}
		}
		return a
	}}))
}

// TestWithSlog holds the lines that a connection writes to those that slog writes of them.
func TestWithSlog(t *testing.T) {
	t.Parallel()
	written := new(lines)
	logger := bustest.New(t).Connect("library.example", bus.WithSlog(toSlog(written, slog.LevelInfo))).Logger()
	logger.Debug().Msg("below the level of the app")
	logger.Info().Int("n", 3_000_000).Float64("x", 0.5).Bool("a", true).Msg("info")
	logger.Warn().Err(errors.New("it is late")).Msg("warn")
	logger.Error().Str("message", "field").Msg("error")
	logger.Log().Msg("no level")
	want := `level=INFO msg=info a=true host=library.example n=3000000 x=0.5
level=WARN msg=warn error="it is late" host=library.example
level=ERROR msg=error host=library.example
level=INFO msg="no level" host=library.example
`
	got := written.String()
	assert.Contains(t, got, want)
	assert.NotContains(t, got, "below")
}

// TestWithSlog_AtItsLevel has the level of a logger change while the connection is open.
func TestWithSlog_AtItsLevel(t *testing.T) {
	t.Parallel()
	written, level := new(lines), new(slog.LevelVar)
	b := bustest.New(t)
	conn := b.Connect("wrapper.example", bus.WithSlog(toSlog(written, level)))
	serve(t, conn, wrapper{})
	call := func() {
		_ = conn.Call(t.Context(), "https://wrapper.example/wrapped", nil, nil)
		bus.FlushLog(conn)
	}
	call()
	if lines := written.count("request failed"); lines != 0 {
		t.Errorf("%d lines at level info", lines)
	}
	level.Set(slog.LevelDebug)
	call()
	served, made := written.count(`level=DEBUG msg="request failed"`), written.count(`level=DEBUG msg="call failed"`)
	assert.Equal(t, 1, served)
	assert.Equal(t, 1, made)
}

// TestWithLogger_LastOneCounts has both kinds of logger given, and none.
func TestWithLogger_LastOneCounts(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	first, second := new(lines), new(lines)
	one := b.Connect("one.example", bus.WithLogger(zerolog.New(first)), bus.WithSlog(toSlog(second, nil))).Logger()
	one.Warn().Msg("to slog")
	two := b.Connect("two.example", bus.WithSlog(toSlog(second, nil)), bus.WithLogger(zerolog.New(first))).Logger()
	two.Warn().Msg("to zerolog")
	assert.Equal(t, 1, first.count("to zerolog"), "the last option does not count")
	assert.Equal(t, 1, second.count("to slog"))
	assert.Zero(t, first.count("to slog")+second.count("to zerolog"))
	conn, err := bus.Connect(t.Context(), "three.example", append(b.Options(), bus.WithSlog(nil))...)
	assert.ErrorContains(t, err, "bus.WithSlog: the logger is nil", conn)
}

// passer passes on what has failed deeper in the chain, in words of its own.
type passer struct{ conn *bus.Conn }

func (p passer) Pass(ctx context.Context, depth int) error {
	if depth == 0 {
		return bus.Errorf(http.StatusNotFound, "no product 7")
	}
	return fmt.Errorf("at depth %d: %w", depth, p.conn.Call(ctx, "https://passer.example/pass", bus.Args{"depth": depth - 1}, nil))
}

func (p passer) Explain(ctx context.Context) error {
	return bus.Errorf(http.StatusBadGateway, "asked: %w", p.Pass(ctx, 1))
}

// TestLog_WrappedErrorIsOneSentence holds that no status and no sender turns up in a text that is shown to people,
// however long the chain is, and that the log tells all of it.
func TestLog_WrappedErrorIsOneSentence(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"pass?depth=3": "404 Not Found: at depth 3: at depth 2: at depth 1: no product 7",
		"explain":      "502 Bad Gateway: asked: at depth 1: no product 7",
	} {
		overBoth(t, func(t *testing.T, w *testBus) {
			logged := new(lines)
			conn := w.connect("passer.example", bus.WithLogger(zerolog.New(logged).Level(zerolog.DebugLevel)))
			serve(t, conn, passer{conn})
			err := w.connect("caller.example").Call(t.Context(), "GET https://passer.example/"+path, nil, nil)
			if text, _, _ := strings.Cut(fmt.Sprint(err), " ("); text != want {
				t.Errorf("%s: %v, want %s", path, err, want)
			}
			closeConn(t, conn)
			if logged.count("404 Not Found: no product 7 (passer.example/pass "+conn.ID()+")") == 0 {
				t.Errorf("%s: the log does not tell who failed", path)
			}
		})
	}
}
