package bus

import (
	"context"
	"errors"
	"net/http"

	"github.com/rs/zerolog"
)

// logging is the [Interceptor] that writes a line for each call: at level error if nobody meant it to end so, else at level
// debug. No line has a body, a query or a token.
func (c *Conn) logging(next Handler) Handler {
	return func(ctx context.Context, x *Exchange) (err error) {
		defer func() {
			if x.Side == ServerSide {
				c.logServed(x, err)
			} else {
				c.logMade(x, err)
			}
		}()
		return next(ctx, x)
	}
}

// logServed logs a request that was served. If its goroutine has exited, whoever answers it logs it instead.
func (c *Conn) logServed(x *Exchange, err error) {
	level := zerolog.DebugLevel
	if err != nil {
		level = x.in.levelOf(asError(err))
	}
	if x.crashed && err == nil || !c.logs(level) {
		return
	}
	line := c.logger.WithLevel(level).EmbedObject(callFields{x, x.Status(err)}).Str("caller", x.Request.FromHost).Str("callerId", x.Request.FromID).Str("endpoint", x.Endpoint.Name)
	switch failed, isCrash := errors.AsType[*crashed](err); {
	case isCrash:
		line.Str("panic", failed.reason).Bytes("stack", failed.stack).Msg("handler panicked")
	case err != nil:
		line.Str("detail", asError(err).reason()).Msg("request failed")
	default:
		line.Msg("request served")
	}
}

// levelOf returns the level at which a failed request is logged.
func (in *incoming) levelOf(failed *Error) zerolog.Level {
	switch {
	case in.isFault(failed):
		return zerolog.ErrorLevel
	case in.found() && in.endpoint.source != "":
		return zerolog.WarnLevel // an event, whose source does not hear of it
	default:
		return zerolog.DebugLevel
	}
}

// isFault says whether nobody meant a request to fail so, and its reason has to be in the log.
func (in *incoming) isFault(failed *Error) bool {
	switch {
	case !failed.isInternal(), errors.Is(failed, errAborted):
		return false
	case failed.Status == http.StatusInternalServerError:
		return true
	default:
		return !in.serving.left() // whoever has left is not answered, and does not ask for the reason
	}
}

// logMade logs a call of our own. Whether its failure is a fault is for the caller to judge.
func (c *Conn) logMade(x *Exchange, err error) {
	if !c.logs(zerolog.DebugLevel) {
		return
	}
	line := c.logger.WithLevel(zerolog.DebugLevel).EmbedObject(callFields{x, x.Status(err)}).Str("callee", x.Host).Int("port", x.Port)
	if x.Multicast {
		line.Int("answers", x.Answers)
	}
	if err != nil {
		line.Str("detail", asError(err).Detail).Msg("call failed")
		return
	}
	line.Msg("call made")
}

// logs says whether a line of this level is written at all, so that none is built in vain.
func (c *Conn) logs(level zerolog.Level) bool {
	return level >= c.logger.GetLevel() && level >= zerolog.GlobalLevel() && (c.slog == nil || c.slog.Enabled(context.Background(), slogLevel(level)))
}

// callFields are the fields of log lines of calls, on both sides.
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

// messageID is that of the request, as it was answered: one that was tried again had several.
func (x *Exchange) messageID() string {
	if x.Side == ClientSide && x.Response != nil {
		return x.Response.MsgID
	}
	return x.Request.MsgID
}
