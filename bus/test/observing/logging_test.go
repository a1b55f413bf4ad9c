package observing_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/claims"
	"github.com/busline/busline/bus/test/kit"
)

// TestLogLines holds what a line tells of a call on either side, and that it tells no secret.
func TestLogLines(t *testing.T) {
	t.Parallel()
	const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		w.AllowUnknownFields()
		issuer := kit.NewIssuer(t)
		served, made := new(kit.Lines), new(kit.Lines)
		callee := w.Connect(kit.CalculatorHost, bus.WithLogger(zerolog.New(served).Level(zerolog.DebugLevel)), issuer.Trust())
		kit.Serve(t, callee, kit.Calculator{ID: callee.ID()})
		caller := w.Connect("caller.example", bus.WithLogger(zerolog.New(made).Level(zerolog.DebugLevel)))
		token := issuer.Token(claims.Claims{"sub": "secret-subject"})
		request, err := http.NewRequestWithContext(bus.WithActor(t.Context(), token), http.MethodPost,
			kit.CalculatorURL+"/add?secret-query=1", strings.NewReader(`{"x":1,"secret-body":2}`))
		require.NoError(t, err)
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Traceparent", parent)
		response, err := caller.Do(request)
		require.NoError(t, err)
		response.Body.Close()
		for message, line := range map[string]map[string]any{"request served": served.Line(t, "request served"),
			"call made": made.Line(t, "call made")} {
			assert.Equal(t, response.Header.Get("Bus-Msg-Id"), line["msgId"], message)
			assert.Equal(t, parent[3:35], line["traceId"], message)
			assert.Equal(t, 200.0, line["status"], message)
			assert.Equal(t, "POST", line["method"], message)
			assert.Equal(t, "/add", line["path"], message)
			assert.Equal(t, "debug", line["level"], message)
			assert.GreaterOrEqual(t, line["duration"].(float64), float64(0), message)
		}
		line := served.Line(t, "request served")
		assert.Equal(t, "caller.example", line["caller"], "served")
		assert.Equal(t, caller.ID(), line["callerId"], "served")
		assert.Equal(t, "Calculator.Add", line["endpoint"], "served")
		line = made.Line(t, "call made")
		assert.Equal(t, kit.CalculatorHost, line["callee"], "made")
		assert.Equal(t, 443.0, line["port"], "made")
		if err := caller.Call(t.Context(), kit.CalculatorURL+"/panic", nil, nil); bus.StatusOf(err) != 500 {
			t.Error(err)
		}
		line = served.Line(t, "handler panicked")
		assert.Equal(t, "error", line["level"], "panicked")
		assert.Equal(t, "boom", line["panic"], "panicked")
		assert.Equal(t, 500.0, line["status"], "panicked")
		assert.Contains(t, line["stack"].(string), "calculator", "panicked")
		if err := caller.Call(t.Context(), kit.CalculatorURL+"/exit", nil, nil); bus.StatusOf(err) != 500 {
			t.Error(err)
		}
		line = served.Line(t, "request failed")
		assert.Equal(t, "error", line["level"], "exited")
		assert.Equal(t, 500.0, line["status"], "exited")
		assert.Contains(t, line["stack"].(string), "Calculator.Exit", "exited")
		assert.Equal(t, "Calculator.Exit", line["endpoint"], "exited")
		assert.Equal(t, caller.ID(), line["callerId"], "exited")
		require.NotNil(t, line["duration"], "exited")
		assert.Equal(t, "/exit", line["path"], "exited")
		for name, log := range map[string]*kit.Lines{"served": served, "made": made} {
			t.Run(name, func(t *testing.T) {
				assert.NotContains(t, log.String(), "secret")
				assert.NotContains(t, log.String(), token)
			})
		}
	})
}

// TestConn_BlockedLog holds that a log writer that hangs holds up no answer, whatever level is logged.
func TestConn_BlockedLog(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		writer := &kit.BlockedWriter{Free: make(chan struct{})}
		logger := bus.WithLogger(zerolog.New(writer).Level(zerolog.DebugLevel))
		conn, caller := w.Connect(kit.CalculatorHost, logger), w.Connect("caller.example", logger)
		defer close(writer.Free)
		kit.Serve(t, conn, kit.Calculator{ID: conn.ID()})
		for path, status := range map[string]int{"/add?x=1&y=2": 200, "/panic": 500, "/exit": 500, "/nothing": 404} {
			if err := caller.Call(t.Context(), "GET "+kit.CalculatorURL+path, nil, nil); bus.StatusOf(err) != status {
				t.Errorf("%s: %v, want status %d", path, err, status)
			}
		}
	})
}

// TestWithSlog holds the lines that a connection writes to those that slog writes of them.
func TestWithSlog(t *testing.T) {
	t.Parallel()
	written := new(kit.Lines)
	logger := bustest.New(t).Connect("library.example", bus.WithSlog(kit.ToSlog(written, slog.LevelInfo))).Logger()
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

// TestWithLogger_LastOneCounts has both kinds of logger given, and none.
func TestWithLogger_LastOneCounts(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	first, second := new(kit.Lines), new(kit.Lines)
	one := b.Connect("one.example", bus.WithLogger(zerolog.New(first)), bus.WithSlog(kit.ToSlog(second, nil))).Logger()
	one.Warn().Msg("to slog")
	two := b.Connect("two.example", bus.WithSlog(kit.ToSlog(second, nil)), bus.WithLogger(zerolog.New(first))).Logger()
	two.Warn().Msg("to zerolog")
	assert.Equal(t, 1, first.Count("to zerolog"), "the last option does not count")
	assert.Equal(t, 1, second.Count("to slog"))
	assert.Zero(t, first.Count("to slog")+second.Count("to zerolog"))
	conn, err := bus.Connect(t.Context(), "three.example", append(b.Options(), bus.WithSlog(nil))...)
	assert.ErrorContains(t, err, "bus.WithSlog: the logger is nil", conn)
}

// passer passes on what has failed deeper in the chain, in words of its own.
type passer struct{ conn *bus.Conn }

func (p passer) Pass(ctx context.Context, depth int) error {
	if depth == 0 {
		return bus.Errorf(http.StatusNotFound, "no product 7")
	}
	return fmt.Errorf("at depth %d: %w", depth, p.conn.Call(ctx, "https://passer.example/pass",
		bus.Args{"depth": depth - 1}, nil))
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
		kit.OverBoth(t, func(t *testing.T, w *kit.World) {
			logged := new(kit.Lines)
			conn := w.Connect("passer.example", bus.WithLogger(zerolog.New(logged).Level(zerolog.DebugLevel)))
			kit.Serve(t, conn, passer{conn})
			err := w.Connect("caller.example").Call(t.Context(), "GET https://passer.example/"+path, nil, nil)
			if text, _, _ := strings.Cut(fmt.Sprint(err), " ("); text != want {
				t.Errorf("%s: %v, want %s", path, err, want)
			}
			kit.CloseConn(t, conn)
			if logged.Count("404 Not Found: no product 7 (passer.example/pass "+conn.ID()+")") == 0 {
				t.Errorf("%s: the log does not tell who failed", path)
			}
		})
	}
}
