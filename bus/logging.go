package bus

import (
	"context"
	"errors"
	"net/http"

	"github.com/rs/zerolog"
)

// logging is the [Interceptor] that writes a line for each call: as an error what nobody meant to happen here, for
// debugging all else. No line has a body, a query or a token.
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

// logServed tells of a request that a handler has seen. Of one whose goroutine has exited tells who answers it.
func (c *Conn) logServed(x *Exchange, err error) {
	level := zerolog.DebugLevel
	if err != nil {
		level = x.in.levelOf(asError(err))
	}
	if x.crashed && err == nil || !c.logs(level) {
		return
	}
	line := c.logger.WithLevel(level).EmbedObject(told{x, x.Status(err)}).Str("caller", x.Request.FromHost).Str("callerId", x.Request.FromID).Str("endpoint", x.Endpoint.Name)
	switch failed, isCrash := errors.AsType[*crashed](err); {
	case isCrash:
		line.Str("panic", failed.reason).Bytes("stack", failed.stack).Msg("handler panicked")
	case err != nil:
		line.Str("detail", asError(err).reason()).Msg("request failed")
	default:
		line.Msg("request served")
	}
}

// levelOf returns how a request is logged that has failed.
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

// isFault says whether nobody meant a request to fail so. Then the log is where its reason is looked for.
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

// logMade tells of a call of our own. What has failed is for the caller to judge.
func (c *Conn) logMade(x *Exchange, err error) {
	if !c.logs(zerolog.DebugLevel) {
		return
	}
	line := c.logger.WithLevel(zerolog.DebugLevel).EmbedObject(told{x, x.Status(err)}).Str("callee", x.Host).Int("port", x.Port)
	if x.Multicast {
		line.Int("answers", x.Answers)
	}
	if err != nil {
		line.Str("detail", asError(err).Detail).Msg("call failed")
		return
	}
	line.Msg("call made")
}

// logs says whether there is anybody to read, so that nothing is put together in vain.
func (c *Conn) logs(level zerolog.Level) bool {
	return level >= c.logger.GetLevel() && level >= zerolog.GlobalLevel() && (c.slog == nil || c.slog.Enabled(context.Background(), slogLevel(level)))
}

// told is what is told of calls on both sides.
type told struct {
	call   *Exchange
	status int
}

// MarshalZerologObject adds the fields.
func (t told) MarshalZerologObject(line *zerolog.Event) {
	x := t.call
	line.Str("msgId", x.messageID()).Str("method", x.Method).Str("path", x.Path).Int("status", t.status).Dur("duration", x.Elapsed())
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
