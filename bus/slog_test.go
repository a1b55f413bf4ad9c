package bus_test

import (
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
)

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
	if got := written.String(); !strings.Contains(got, want) || strings.Contains(got, "below") {
		t.Errorf("slog writes\n%s\nwant\n%s", got, want)
	}
}

// TestWithSlogAtItsLevel has the level of a logger change while the connection is open.
func TestWithSlogAtItsLevel(t *testing.T) {
	t.Parallel()
	written, level := new(lines), new(slog.LevelVar)
	b := bustest.New(t)
	conn := b.Connect("wrapper.example", bus.WithSlog(toSlog(written, level)))
	serve(t, conn, wrapper{})
	call := func() { _ = conn.Call(t.Context(), "https://wrapper.example/wrapped", nil, nil) }
	call()
	if lines := written.count("request failed"); lines != 0 {
		t.Errorf("%d lines at level info", lines)
	}
	level.Set(slog.LevelDebug)
	call()
	if served, made := written.count(`level=DEBUG msg="request failed"`), written.count(`level=DEBUG msg="call failed"`); served != 1 || made != 1 {
		t.Errorf("%d and %d lines of a call at level debug, want one each", served, made)
	}
}

// TestTheLastLoggerCounts has both kinds of logger given, and none.
func TestTheLastLoggerCounts(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	first, second := new(lines), new(lines)
	one := b.Connect("one.example", bus.WithLogger(zerolog.New(first)), bus.WithSlog(toSlog(second, nil))).Logger()
	one.Warn().Msg("to slog")
	two := b.Connect("two.example", bus.WithSlog(toSlog(second, nil)), bus.WithLogger(zerolog.New(first))).Logger()
	two.Warn().Msg("to zerolog")
	if first.count("to zerolog") != 1 || second.count("to slog") != 1 || first.count("to slog")+second.count("to zerolog") != 0 {
		t.Error("the last option does not count")
	}
	if conn, err := bus.Connect(t.Context(), "three.example", append(b.Options(), bus.WithSlog(nil))...); err == nil || !strings.Contains(err.Error(), "bus.WithSlog: the logger is nil") {
		t.Errorf("connected %v, %v", conn, err)
	}
}
