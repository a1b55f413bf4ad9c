package bus

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"slices"

	"github.com/mattn/go-isatty"
	"github.com/rs/zerolog"
)

// logServed logs a request that was served. A request that was answered with a status of 400 or above has failed, whether the
// handler returned an error or wrote a response. No line of a call has a body, a query or a token.
func (c *Conn) logServed(x endedCall) {
	if x.crashed && x.err == nil {
		return // the goroutine exits, and handle logs the request
	}
	failed, level := x.Failure(x.err), zerolog.DebugLevel
	if failed != nil {
		level = x.in.levelOf(failed)
	}
	if !c.logs(level) {
		return
	}
	line := c.logger.WithLevel(level).EmbedObject(requestFields{callFields{x.Exchange, x.status}})
	switch crash, isCrash := errors.AsType[*crashed](x.err); {
	case isCrash:
		line.Str("panic", crash.reason).Bytes("stack", crash.stack).Msg("handler panicked")
	case failed != nil:
		line.EmbedObject(failureFields{failed.reason(), failed.Type}).Msg("request failed")
	default:
		line.Msg("request served")
	}
}

// levelOf returns the level at which a failed request is logged.
func (in *serverCall) levelOf(failed *Error) zerolog.Level {
	switch {
	case in.isUnexpected(failed):
		return zerolog.ErrorLevel
	case in.IsFound() && in.Endpoint.Source != "":
		return zerolog.WarnLevel // an event: its publisher does not get the error
	default:
		return zerolog.DebugLevel
	}
}

// isUnexpected reports whether a failure is unexpected, so that the log has to have its reason.
func (in *serverCall) isUnexpected(failed *Error) bool {
	switch {
	case !failed.isInternal(), errors.Is(failed, errAborted):
		return false
	case failed.Status == http.StatusInternalServerError:
		return true
	default:
		return !in.Handler.CallerLeft() // a caller that has left gets no answer
	}
}

// logMade logs a call that was made, at level debug: the caller decides whether a failure is an error.
func (c *Conn) logMade(x endedCall) {
	if !c.logs(zerolog.DebugLevel) {
		return
	}
	line := c.logger.WithLevel(zerolog.DebugLevel).EmbedObject(callFields{x.Exchange, x.status}).Str("callee", x.Host).Int("port", x.Port)
	if x.Multicast {
		line.Int("answers", x.Answers)
	}
	if failed := x.Failure(x.err); failed != nil {
		line.EmbedObject(failureFields{failed.Detail, failed.Type}).Msg("call failed")
		return
	}
	line.Msg("call made")
}

// logs reports whether lines of a level are written, so that no other line is built.
func (c *Conn) logs(level zerolog.Level) bool {
	return level >= c.logger.GetLevel() && level >= zerolog.GlobalLevel() && (c.config.slog == nil || c.config.slog.Enabled(context.Background(), slogLevel(level)))
}

// callFields are the fields of a log line of a call, on both sides.
type callFields struct {
	call   *Exchange
	status int
}

// MarshalZerologObject adds the fields.
func (f callFields) MarshalZerologObject(line *zerolog.Event) {
	x := f.call
	line.Str("msgId", x.messageID()).Str("method", x.Method).Str("path", x.Path).Int("status", f.status).Dur("duration", x.Elapsed())
	if trace := x.TraceID(); trace != "" {
		line.Str("traceId", trace)
	}
}

// requestFields are the fields of a log line of a request.
type requestFields struct{ callFields }

// MarshalZerologObject adds the fields.
func (f requestFields) MarshalZerologObject(line *zerolog.Event) {
	f.callFields.MarshalZerologObject(line)
	line.Str("caller", f.call.Request.FromHost).Str("callerId", f.call.Request.FromID)
	if f.call.Endpoint != nil { // the request has reached one
		line.Str("endpoint", f.call.Endpoint.Name)
	}
}

// failureFields are the fields of a failure. Both may be empty: a response may have only a status.
type failureFields struct{ detail, kind string }

// MarshalZerologObject adds the fields.
func (f failureFields) MarshalZerologObject(line *zerolog.Event) {
	if f.detail != "" {
		line.Str("detail", f.detail)
	}
	if f.kind != "" {
		line.Str("type", f.kind)
	}
}

// messageID returns the id of the request. A call that was tried again had several: messageID returns that of the answered attempt.
func (x *Exchange) messageID() string {
	if x.Side == ClientSide && x.Response != nil {
		return x.Response.MsgID
	}
	return x.Request.MsgID
}

// environmentLogger returns the logger that BUS_LOG_LEVEL and BUS_LOG_FORMAT configure.
func environmentLogger() (zerolog.Logger, error) {
	level, err := zerolog.ParseLevel(cmp.Or(os.Getenv("BUS_LOG_LEVEL"), "info"))
	if err != nil {
		return zerolog.Nop(), fmt.Errorf("BUS_LOG_LEVEL %q: use trace, debug, info, warn, error or disabled", os.Getenv("BUS_LOG_LEVEL"))
	}
	terminal := isatty.IsTerminal(os.Stderr.Fd())
	console := terminal
	switch format := os.Getenv("BUS_LOG_FORMAT"); format {
	case "":
	case "json":
		console = false
	case "console":
		console = true
	default:
		return zerolog.Nop(), fmt.Errorf("BUS_LOG_FORMAT %q: use json or console", format)
	}
	logger := zerolog.New(os.Stderr)
	if console {
		logger = zerolog.New(zerolog.ConsoleWriter{Out: os.Stderr, NoColor: !terminal})
	}
	return logger.Level(level).With().Timestamp().Logger(), nil
}

// loggerOf returns the logger of an instance.
func (c *connectConfig) loggerOf(host, id string) zerolog.Logger {
	return c.logger.With().Str("host", host).Str("id", id).Logger()
}

// WithSlog sets a logger of log/slog, in place of one of [WithLogger]; the fields host and id are added to it. Its level may change
// while the connection is open. Default: none.
func WithSlog(logger *slog.Logger) ConnectOption {
	return func(c *connectConfig) {
		if logger == nil {
			c.errs = append(c.errs, errors.New("bus.WithSlog: the logger is nil"))
			return
		}
		to := zerolog.New(slogWriter{logger})
		c.logger, c.slog = &to, logger
	}
}

// slogLevel returns the slog level with the name of a zerolog level. Levels of slog are four apart, levels of zerolog one.
func slogLevel(level zerolog.Level) slog.Level {
	if level == zerolog.NoLevel {
		return slog.LevelInfo
	}
	return slog.Level(4 * (level - zerolog.InfoLevel))
}

// slogWriter passes the lines of a zerolog.Logger on to a slog.Logger.
type slogWriter struct{ logger *slog.Logger }

// WriteLevel logs one line: {"level":"warn","host":"library.example","message":"message dropped"}.
func (s slogWriter) WriteLevel(level zerolog.Level, line []byte) (int, error) {
	ctx := context.Background()
	if !s.logger.Enabled(ctx, slogLevel(level)) {
		return len(line), nil
	}
	var fields map[string]any
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.UseNumber()
	if err := decoder.Decode(&fields); err != nil {
		return 0, err
	}
	message, _ := fields[zerolog.MessageFieldName].(string)
	delete(fields, zerolog.MessageFieldName)
	delete(fields, zerolog.LevelFieldName)
	attributes := make([]slog.Attr, 0, len(fields))
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		attributes = append(attributes, slogAttribute(name, fields[name]))
	}
	s.logger.LogAttrs(ctx, slogLevel(level), message, attributes...)
	return len(line), nil
}

// Write logs a line without a level, at level info.
func (s slogWriter) Write(line []byte) (int, error) { return s.WriteLevel(zerolog.InfoLevel, line) }

// slogAttribute returns a field as an attribute. Integers stay integers: a float64 would print 1000000 as 1e+06.
func slogAttribute(name string, value any) slog.Attr {
	number, ok := value.(json.Number)
	if !ok {
		return slog.Any(name, value)
	}
	if integer, err := number.Int64(); err == nil {
		return slog.Int64(name, integer)
	}
	float, _ := number.Float64() // zerolog writes valid numbers only
	return slog.Float64(name, float)
}
