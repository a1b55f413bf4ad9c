package observing_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"sync"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/test/kit"
)

// chatty logs what it does.
type chatty struct{}

// Chat logs a line with each logger.
func (chatty) Chat(ctx context.Context, name string) {
	bus.Logger(ctx).Info().Str("name", name).Msg("by zerolog")
	bus.Slog(ctx).Info("by slog", "name", name)                                        //nolint:sloglint // as users may
	bus.Slog(ctx).With("a", 1).WithGroup("g").InfoContext(ctx, "in a group", "b", 2)   //nolint:sloglint // as users may
	bus.Slog(ctx).DebugContext(context.Background(), "below the level", "name", "any") //nolint:sloglint // as users may
}

func chat(t *testing.T, w *kit.World) (msgID, caller string) {
	t.Helper()
	conn := w.Connect("caller.example")
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
		"https://chatty.example/chat?name=secret", http.NoBody)
	require.NoError(t, err)
	request.Header.Set("Traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	response, err := conn.Do(request)
	require.NoError(t, err)
	response.Body.Close()
	require.Equal(t, 200, response.StatusCode)
	return response.Header.Get("Bus-Msg-Id"), conn.Host()
}

// TestLogger_InHandler holds which fields the lines of a handler have, whichever logger the connection has.
func TestLogger_InHandler(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"zerolog", "slog"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			kit.OverBoth(t, func(t *testing.T, w *kit.World) {
				log := new(kit.Lines)
				option := bus.WithLogger(zerolog.New(log).Level(zerolog.InfoLevel))
				if kind == "slog" {
					option = bus.WithSlog(slog.New(slog.NewJSONHandler(log,
						&slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
							if a.Key == slog.MessageKey {
								a.Key = zerolog.MessageFieldName
							}
							return a
						}})))
				}
				conn := w.Connect("chatty.example", option)
				kit.Serve(t, conn, chatty{})
				msgID, caller := chat(t, w)
				for _, message := range []string{"by zerolog", "by slog", "in a group"} {
					line := log.Line(t, message)
					assert.Equal(t, msgID, line["msgId"], message)
					assert.Equal(t, "4bf92f3577b34da6a3ce929d0e0e4736", line["traceId"], message)
					assert.Equal(t, caller, line["caller"], message)
					assert.Equal(t, "GET", line["method"], message)
					assert.Equal(t, "/chat", line["path"], message)
					assert.Equal(t, "chatty.example", line["host"], message)
					assert.Equal(t, conn.ID(), line["id"], message)
				}
				assert.Equal(t, "secret", log.Line(t, "by slog")["name"])
				assert.Zero(t, log.Count("below the level"))
				assert.Equal(t, 1, log.Count(`"g"`)+log.Count(`"g.b"`))
			})
		})
	}
}

type spanKey struct{}

// spanHandler notes in which context lines are logged.
type spanHandler struct {
	slog.Handler
	note func(ctx context.Context, message string)
}

func (s spanHandler) Handle(ctx context.Context, record slog.Record) error {
	s.note(ctx, record.Message)
	return s.Handler.Handle(ctx, record)
}

func (s spanHandler) WithAttrs(fields []slog.Attr) slog.Handler {
	return spanHandler{s.Handler.WithAttrs(fields), s.note}
}

func (s spanHandler) WithGroup(name string) slog.Handler {
	return spanHandler{s.Handler.WithGroup(name), s.note}
}

// TestLogger_SlogHandlerGetsContext holds that a handler of log/slog sees what an observer has put into the context:
// the span of the call, in lines of the handler and in those of Busline.
func TestLogger_SlogHandlerGetsContext(t *testing.T) {
	t.Parallel()
	kit.OverBoth(t, func(t *testing.T, w *kit.World) {
		var mu sync.Mutex // protects spans
		spans := make(map[string]any)
		handler := spanHandler{slog.NewTextHandler(new(bytes.Buffer), &slog.HandlerOptions{Level: slog.LevelDebug}),
			func(ctx context.Context, message string) {
				mu.Lock()
				defer mu.Unlock()
				spans[message] = ctx.Value(spanKey{})
			}}
		traced := bus.WithObservers(func(next bus.CallFunc) bus.CallFunc {
			return func(ctx context.Context, call *bus.Exchange) error {
				return next(context.WithValue(ctx, spanKey{}, "span of the "+call.Side.String()), call)
			}
		})
		conn := w.Connect("chatty.example", traced, bus.WithSlog(slog.New(handler)))
		kit.Serve(t, conn, chatty{})
		require.NoError(t, conn.Call(t.Context(), "https://chatty.example/chat", nil, nil))
		kit.CloseConn(t, conn)
		mu.Lock()
		defer mu.Unlock()
		for _, message := range []string{"by zerolog", "by slog", "in a group", "request served"} {
			assert.Equal(t, "span of the server", spans[message], message)
		}
		assert.Equal(t, "span of the client", spans["call made"])
	})
}

// TestLogger_Outside holds what a method logs to that is called without a bus.
func TestLogger_Outside(t *testing.T) {
	log := new(kit.Lines)
	own := zerolog.New(log)
	bus.Logger(own.WithContext(t.Context())).Info().Msg("own")
	assert.Equal(t, 1, log.Count("own"))
	assert.Same(t, slog.Default(), bus.Slog(t.Context()))
	for _, test := range []struct {
		level string
		want  zerolog.Level
	}{
		{"", zerolog.InfoLevel},
		{"warn", zerolog.WarnLevel},
		{"nonsense", zerolog.TraceLevel},
	} {
		t.Setenv("BUS_LOG_LEVEL", test.level)
		assert.Equal(t, test.want, bus.Logger(t.Context()).GetLevel(), test.level)
	}
}
