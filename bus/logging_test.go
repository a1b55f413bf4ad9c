package bus_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/bus/test/kit"
)

// TestConn_JunkWithBlockedLog holds that messages that are not understood stop neither calls nor Close, however slowly
// their lines are written, and that few lines are written of them, with a count.
func TestConn_JunkWithBlockedLog(t *testing.T) {
	t.Parallel()
	w := &kit.World{Bus: kit.NewBus(t), Transport: bus.WithoutShortCircuit()}
	log := &kit.BlockedWriter{Free: make(chan struct{})}
	conn := w.Connect(kit.CalculatorHost, bus.WithLogger(zerolog.New(log).Level(zerolog.InfoLevel)))
	kit.Serve(t, conn, kit.Calculator{ID: conn.ID()})
	raw := kit.RawClient(t, w)
	const junk = 2000
	for number := range junk {
		require.NoError(t, raw.Publish(w.Plane()+"."+kit.AddSubject, fmt.Appendf(nil, "junk %d\r\n\r\n", number)))
	}
	require.NoError(t, raw.Flush())
	if err := w.Connect("caller.example").Call(t.Context(), kit.CalculatorURL+"/add", bus.Args{"x": 1, "y": 2},
		nil); err != nil {
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
	close(log.Free)
	bus.FlushLog(conn)
	if got := log.Count("message dropped"); got != 10 {
		t.Errorf("%d lines of dropped messages, want 10:\n%s", got, log)
	}
}

// panickyWriter is a log writer that panics.
type panickyWriter struct{}

func (panickyWriter) Write([]byte) (int, error) { panic("the log writer is broken") }

// TestConn_PanickyLog holds that a log writer that panics ends neither a call nor the process.
func TestConn_PanickyLog(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		logger := zerolog.New(panickyWriter{}).Level(zerolog.DebugLevel)
		conn := w.Connect(kit.CalculatorHost, bus.WithLogger(logger))
		kit.Serve(t, conn, kit.Calculator{ID: conn.ID()})
		caller := w.Connect("caller.example", bus.WithLogger(logger))
		var out struct{ Sum int }
		err := caller.Call(t.Context(), kit.CalculatorURL+"/add", bus.Args{"x": 1, "y": 2}, &out)
		require.NoError(t, err)
		assert.Equal(t, 3, out.Sum)
		for path, status := range map[string]int{"/panic": 500, "/exit": 500, "/nothing": 404} {
			if err := caller.Call(t.Context(), kit.CalculatorURL+path, nil, nil); bus.StatusOf(err) != status {
				t.Errorf("%s: %v, want status %d", path, err, status)
			}
		}
		bus.Drop(conn, bytes.ErrTooLarge)
		kit.CloseConn(t, conn)
	})
}

// TestWithSlog_AtItsLevel has the level of a logger change while the connection is open.
func TestWithSlog_AtItsLevel(t *testing.T) {
	t.Parallel()
	written, level := new(kit.Lines), new(slog.LevelVar)
	b := bustest.New(t)
	conn := b.Connect("wrapper.example", bus.WithSlog(kit.ToSlog(written, level)))
	kit.Serve(t, conn, kit.Wrapper{})
	call := func() {
		_ = conn.Call(t.Context(), "https://wrapper.example/wrapped", nil, nil)
		bus.FlushLog(conn)
	}
	call()
	if lines := written.Count("request failed"); lines != 0 {
		t.Errorf("%d lines at level info", lines)
	}
	level.Set(slog.LevelDebug)
	call()
	served, made := written.Count(`level=DEBUG msg="request failed"`), written.Count(`level=DEBUG msg="call failed"`)
	assert.Equal(t, 1, served)
	assert.Equal(t, 1, made)
}

// An event by hand whose name resembles one of the publisher is refused in tests, and logged elsewhere.
func TestMisspelt_Event(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	publish := func(log *kit.Lines, event string) error {
		conn := b.Connect(kit.OrdersHost, bus.WithLogger(zerolog.New(log)))
		publisher, err := events.NewPublisher(conn, kit.OrdersHost)
		require.NoError(t, err)
		events.NewEvent[kit.Ordered](publisher, "/on-ordered")
		defer bus.FlushLog(conn)
		return events.Publish(t.Context(), conn, "https://"+kit.OrdersHost+":417/"+event, nil)
	}
	log := new(kit.Lines)
	require.ErrorContains(t, publish(log, "on-orderd"),
		"400 Bad Request: orders.example publishes no event at /on-orderd; did you mean on-ordered?")
	require.NoError(t, publish(log, "on-ordered"))
	require.NoError(t, publish(log, "on-something-else"))
	b.AllowUnknownFields()
	require.NoError(t, publish(log, "on-orderd"))
	assert.Equal(t, 1, log.Count("did you mean on-ordered?"), log)
}

// On a bus of bustest an event with a misspelt argument reaches no handler.
func TestMisspelt_ArgumentOfEvent(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	sink := kit.NewSink()
	kit.Subscribe(t, b.Connect("mailer.example"), sink)
	publisher, err := events.NewPublisher(b.Connect(kit.OrdersHost), kit.OrdersHost)
	require.NoError(t, err)
	for outcome, err := range events.NewEvent[bus.Args](publisher, "/on-ordered").Outcomes(t.Context(),
		bus.Args{"numbr": 1}) {
		require.ErrorContains(t, err, `numbr`, outcome)
		return
	}
	t.Error("no outcome")
}
