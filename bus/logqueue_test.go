package bus_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/busline/busline/bus"
)

// blockedWriter is a log writer that blocks until it is closed, and then keeps what it was given.
type blockedWriter struct {
	free chan struct{}
	lines
}

func (w *blockedWriter) Write(line []byte) (int, error) {
	<-w.free
	return w.lines.Write(line)
}

// TestConn_JunkWithBlockedLog holds that messages that are not understood stop neither calls nor Close, however slowly their lines
// are written, and that few lines are written of them, with a count.
func TestConn_JunkWithBlockedLog(t *testing.T) {
	t.Parallel()
	w := &world{Bus: newBus(t), transport: bus.WithoutShortCircuit()}
	log := &blockedWriter{free: make(chan struct{})}
	conn := w.connect(calculatorHost, bus.WithLogger(zerolog.New(log).Level(zerolog.InfoLevel)))
	serve(t, conn, calculator{conn.ID()})
	raw := rawClient(t, w)
	const junk = 2000
	for number := range junk {
		if err := raw.Publish(w.Plane()+"."+addSubject, fmt.Appendf(nil, "junk %d\r\n\r\n", number)); err != nil {
			t.Fatal(err)
		}
	}
	if err := raw.Flush(); err != nil {
		t.Fatal(err)
	}
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
	overBoth(t, func(t *testing.T, w *world) {
		logger := zerolog.New(panickyWriter{}).Level(zerolog.DebugLevel)
		conn := w.connect(calculatorHost, bus.WithLogger(logger))
		serve(t, conn, calculator{conn.ID()})
		caller := w.connect("caller.example", bus.WithLogger(logger))
		var out struct{ Sum int }
		if err := caller.Call(t.Context(), calculatorURL+"/add", bus.Args{"x": 1, "y": 2}, &out); err != nil || out.Sum != 3 {
			t.Errorf("%d, %v", out.Sum, err)
		}
		for path, status := range map[string]int{"/panic": 500, "/exit": 500, "/nothing": 404} {
			if err := caller.Call(t.Context(), calculatorURL+path, nil, nil); bus.StatusOf(err) != status {
				t.Errorf("%s: %v, want status %d", path, err, status)
			}
		}
		bus.Drop(conn, bytes.ErrTooLarge)
		closeConn(t, conn)
	})
}
