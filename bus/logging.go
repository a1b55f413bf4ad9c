package bus

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/rs/zerolog"

	"github.com/busline/busline/bus/internal/callctx"
)

// logServed logs a request that was served. A request that was answered with a status of 400 or above has failed,
// whether the handler returned an error or wrote a response. No line of a call has a body, a query or a token.
func (c *Conn) logServed(ctx context.Context, x endedCall) {
	if x.crashed && x.err == nil {
		return // the goroutine exits, and handle logs the request
	}
	failed, level := x.Failure(x.err), zerolog.DebugLevel
	if failed != nil {
		level = x.in.levelOf(failed)
	}
	if !c.logs(ctx, level) {
		return
	}
	line := c.loggerIn(ctx).WithLevel(level)
	if level == zerolog.WarnLevel { // any client can publish an event that fails
		leftOut, ok := c.telemetry.throttle.Admit("event " + x.Endpoint.Name + " " + http.StatusText(x.status))
		if !ok {
			return
		}
		if leftOut > 0 {
			line.Int("leftOut", leftOut)
		}
	}
	line.EmbedObject(requestFields{callFields{x.Exchange, x.status}})
	switch crash, isCrash := errors.AsType[*crashed](x.err); {
	case isCrash:
		c.log(line.Str("panic", crash.reason).Bytes("stack", crash.stack), "handler panicked")
	case failed != nil:
		line.EmbedObject(failureFields{failed.reason(), failed.Type})
		c.log(line, "request failed")
	default:
		c.log(line, "request served")
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
func (c *Conn) logMade(ctx context.Context, x endedCall) {
	if !c.logs(ctx, zerolog.DebugLevel) {
		return
	}
	line := c.loggerIn(ctx).WithLevel(zerolog.DebugLevel).EmbedObject(callFields{x.Exchange, x.status}).Str("callee",
		x.Host).Int("port", x.Port)
	if x.Multicast {
		line.Int("answers", x.Answers)
	}
	if failed := x.Failure(x.err); failed != nil {
		line.EmbedObject(failureFields{failed.Detail, failed.Type})
		c.log(line, "call failed")
		return
	}
	c.log(line, "call made")
}

// logs reports whether lines of a level are written, so that no other line is built.
func (c *Conn) logs(ctx context.Context, level zerolog.Level) bool {
	return level >= c.logger.GetLevel() && level >= zerolog.GlobalLevel() &&
		(c.config.slog == nil || c.config.slog.Enabled(ctx, slogLevel(level)))
}

// loggerIn returns the logger for lines about ctx, so that a handler of log/slog can read the span in it.
func (c *Conn) loggerIn(ctx context.Context) *zerolog.Logger {
	if c.config.slog == nil {
		return &c.logger
	}
	bound := c.logger.Output(slogWriter{c.config.slog, ctx})
	return &bound
}

// Logger returns the logger for a handler: that of its connection, with the fields msgId, traceId if there is a trace,
// caller (a host), method and path, as the lines of calls have them. ctx is in its events, for hooks that read a span.
// Outside of a handler it returns the logger in ctx (see zerolog.Ctx), else the default of [WithLogger], so that
// methods can be tested by calling them. Each call makes a logger: use it for several lines.
func Logger(ctx context.Context) *zerolog.Logger {
	h := callctx.Of(ctx)
	if h == nil {
		return loggerOutside(ctx)
	}
	fields := servingConn(ctx).loggerIn(ctx).With().Ctx(ctx)
	for _, each := range handlerFields(h) {
		fields = fields.Str(each.Key, each.Value.String())
	}
	logger := fields.Logger()
	if h.Recorded {
		logger = logger.Hook(lineHook{h, common(&logger)})
	}
	return &logger
}

// lineHook keeps the lines of a logger with their handler.
type lineHook struct {
	handler *callctx.Handler
	common  []byte // the fields of all lines, which are not kept
}

// Run keeps a line that is about to be written: its level, its message and its own fields.
func (l lineHook) Run(line *zerolog.Event, level zerolog.Level, message string) {
	written, own := reflect.ValueOf(line).Elem().FieldByName("buf"), []byte(nil)
	if written.IsValid() {
		_, own, _ = bytes.Cut(written.Bytes(), l.common)
	}
	l.handler.AddLine(fmt.Sprintf("%s %s %s", level, message, bytes.TrimPrefix(own, []byte(","))))
}

// common returns the fields of all lines of a logger. zerolog shows them in no other way; without its field of that
// name, lines are kept without their own fields.
func common(logger *zerolog.Logger) []byte {
	context := reflect.ValueOf(logger).Elem().FieldByName("context")
	if !context.IsValid() || context.Len() == 0 {
		return nil
	}
	return slices.Clone(context.Bytes()[1:])
}

// loggerOutside returns the logger for a context that belongs to no handler.
func loggerOutside(ctx context.Context) *zerolog.Logger {
	if own := zerolog.Ctx(ctx); own.GetLevel() != zerolog.Disabled {
		return own
	}
	logger, err := environmentLogger()
	if err != nil { // Connect returns it
		logger = zerolog.New(os.Stderr).With().Timestamp().Logger()
	}
	return &logger
}

// Slog is [Logger] for log/slog: the logger of [WithSlog], else one that writes to that of [WithLogger]. Its handler
// gets ctx, unless the line is logged with the context of a handler itself. Outside of a handler it returns
// slog.Default.
func Slog(ctx context.Context) *slog.Logger {
	h := callctx.Of(ctx)
	if h == nil {
		return slog.Default()
	}
	conn := servingConn(ctx)
	if conn.config.slog == nil {
		return slog.New(contextHandler{zerolog.NewSlogHandler(*Logger(ctx)), ctx})
	}
	fields := append([]slog.Attr{slog.String("host", conn.host), slog.String("id", conn.id)}, handlerFields(h)...)
	to := conn.config.slog.Handler().WithAttrs(fields)
	if h.Recorded {
		to = lineHandler{to, h}
	}
	return slog.New(contextHandler{to, ctx})
}

// lineHandler keeps the lines that pass with the handler of a request.
type lineHandler struct {
	slog.Handler
	keeper *callctx.Handler
}

// Handle keeps a line, and passes it on.
func (l lineHandler) Handle(ctx context.Context, record slog.Record) error {
	text := strings.ToLower(record.Level.String()) + " " + record.Message
	record.Attrs(func(field slog.Attr) bool {
		text += " " + field.String()
		return len(text) < callctx.MaxLineBytes
	})
	l.keeper.AddLine(text)
	return l.Handler.Handle(ctx, record)
}

// WithAttrs returns a handler that adds fields, which are not kept.
func (l lineHandler) WithAttrs(fields []slog.Attr) slog.Handler {
	return lineHandler{l.Handler.WithAttrs(fields), l.keeper}
}

// WithGroup returns a handler that puts fields into a group.
func (l lineHandler) WithGroup(name string) slog.Handler {
	return lineHandler{l.Handler.WithGroup(name), l.keeper}
}

// handlerFields are the fields of every line of a handler.
func handlerFields(h *callctx.Handler) []slog.Attr {
	path, _, _ := strings.Cut(h.Request.Target, "?")
	fields := []slog.Attr{
		slog.String("msgId", h.Request.MsgID), slog.String("caller", h.Request.FromHost),
		slog.String("method", h.Request.Method), slog.String("path", path),
	}
	if trace := traceOf(h); trace != "" {
		fields = append(fields, slog.String("traceId", trace))
	}
	return fields
}

// contextHandler passes a context to a handler of log/slog: the methods of a logger that take none pass an empty one.
type contextHandler struct {
	slog.Handler
	ctx context.Context //nolint:containedctx // of the handler that logs
}

func (h contextHandler) in(ctx context.Context) context.Context {
	if callctx.Of(ctx) != nil {
		return ctx
	}
	return h.ctx
}

// Enabled reports whether lines of a level are logged.
func (h contextHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.Handler.Enabled(h.in(ctx), level)
}

// Handle logs a line.
func (h contextHandler) Handle(ctx context.Context, record slog.Record) error {
	return h.Handler.Handle(h.in(ctx), record)
}

// WithAttrs returns a handler that adds fields.
func (h contextHandler) WithAttrs(fields []slog.Attr) slog.Handler {
	return contextHandler{h.Handler.WithAttrs(fields), h.ctx}
}

// WithGroup returns a handler that puts fields into a group.
func (h contextHandler) WithGroup(name string) slog.Handler {
	return contextHandler{h.Handler.WithGroup(name), h.ctx}
}

// callFields are the fields of a log line of a call, on both sides.
type callFields struct {
	call   *Exchange
	status int
}

// MarshalZerologObject adds the fields.
func (f callFields) MarshalZerologObject(line *zerolog.Event) {
	x := f.call
	line.Str("msgId", x.messageID()).Str("method", x.Method).Str("path", x.Path).Int("status",
		f.status).Dur("duration", x.Elapsed())
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

// messageID returns the id of the request. A call that was tried again had several: messageID returns that of the
// answered attempt.
func (x *Exchange) messageID() string {
	if x.Side == ClientSide && x.Response != nil {
		return x.Response.MsgID
	}
	return x.Request.MsgID
}

// WithSlog sets a logger of log/slog, in place of one of [WithLogger]; the fields host and id are added to it. Its
// level may change while the connection is open. Default: none.
func WithSlog(logger *slog.Logger) ConnectOption {
	return func(c *connectConfig) {
		if logger == nil {
			c.errs = append(c.errs, errors.New("bus.WithSlog: the logger is nil"))
			return
		}
		to := zerolog.New(slogWriter{logger, context.Background()})
		c.logger, c.slog = &to, logger
	}
}

// slogLevel returns the slog level with the name of a zerolog level. Levels of slog are four apart, levels of zerolog
// one.
func slogLevel(level zerolog.Level) slog.Level {
	if level == zerolog.NoLevel {
		return slog.LevelInfo
	}
	return slog.Level(4 * (level - zerolog.InfoLevel))
}

// slogWriter passes the lines of a zerolog.Logger on to a slog.Logger.
type slogWriter struct {
	logger *slog.Logger
	ctx    context.Context //nolint:containedctx // of what the lines are about
}

// WriteLevel logs one line: {"level":"warn","host":"library.example","message":"message dropped"}.
func (s slogWriter) WriteLevel(level zerolog.Level, line []byte) (int, error) {
	if !s.logger.Enabled(s.ctx, slogLevel(level)) {
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
	s.logger.LogAttrs(s.ctx, slogLevel(level), message, attributes...)
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
