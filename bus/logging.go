package bus

import (
	"context"
	"errors"
	"net/http"

	"github.com/rs/zerolog"
)

// logging is the [Interceptor] that writes a line for each call: at level error if nobody meant it to end so, else at level
// debug. No line has a body, a query or a token.
func (c *Conn) logging(next CallFunc) CallFunc {
	return func(ctx context.Context, x *Exchange) (err error) {
		defer func() {
			c.link.lines.protect(func() {
				if x.Side == ServerSide {
					c.logServed(x, err)
				} else {
					c.logMade(x, err)
				}
			})
		}()
		return next(ctx, x)
	}
}

// logServed logs a request that was served. One that was answered with a status of 400 or above has failed, whether its handler
// returned an error or wrote a response. If its goroutine has exited, whoever answers it logs it instead.
func (c *Conn) logServed(x *Exchange, err error) {
	if x.crashed && err == nil {
		return
	}
	failed, level := x.Failure(err), zerolog.DebugLevel
	if failed != nil {
		level = x.in.levelOf(failed)
	}
	if !c.logs(level) {
		return
	}
	line := c.logger.WithLevel(level).EmbedObject(requestFields{callFields{x, x.Status(err)}})
	switch crash, isCrash := errors.AsType[*crashed](err); {
	case isCrash:
		line.Str("panic", crash.reason).Bytes("stack", crash.stack).Msg("handler panicked")
	case failed != nil:
		line.EmbedObject(failureFields{failed.reason(), failed.Type}).Msg("request failed")
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
	if failed := x.Failure(err); failed != nil {
		line.EmbedObject(failureFields{failed.Detail, failed.Type}).Msg("call failed")
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

// requestFields are the fields of log lines of requests.
type requestFields struct{ callFields }

// MarshalZerologObject adds the fields.
func (f requestFields) MarshalZerologObject(line *zerolog.Event) {
	f.callFields.MarshalZerologObject(line)
	line.Str("caller", f.call.Request.FromHost).Str("callerId", f.call.Request.FromID)
	if f.call.Endpoint != nil { // it has reached one
		line.Str("endpoint", f.call.Endpoint.Name)
	}
}

// failureFields say why a call has failed, as far as that is known: a response may have a status alone.
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

// messageID is that of the request, as it was answered: one that was tried again had several.
func (x *Exchange) messageID() string {
	if x.Side == ClientSide && x.Response != nil {
		return x.Response.MsgID
	}
	return x.Request.MsgID
}
