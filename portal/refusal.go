package portal

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/busline/busline/bus"
)

// turnAway responds with an error that keeps a request from being carried, so that no service has seen it.
func (i *Ingress) turnAway(w http.ResponseWriter, r *http.Request, err error) {
	if failed, ok := errors.AsType[*bus.Error](err); ok {
		unsent := *failed // errors may be shared
		unsent.Executed = bus.ExecutedNo
		err = &unsent
	}
	i.refuse(w, r, err)
}

// refuse responds with an error of the ingress itself, or of a call that got no response.
func (i *Ingress) refuse(w http.ResponseWriter, r *http.Request, err error) {
	failed := &bus.Error{Status: bus.StatusOf(err), Detail: err.Error()}
	if known, ok := errors.AsType[*bus.Error](err); ok {
		copied := *known // errors may be shared
		failed = &copied
	}
	if failed.Host == "" {
		failed.Host, failed.ID = i.conn.Host(), i.conn.ID()
	}
	failed.Path = requestPath(r)
	if errors.Is(failed, bus.ErrNoResponder) {
		inside := " in plane " + i.conn.Plane() // is of no use outside
		failed.Detail = strings.TrimSuffix(failed.Detail, inside) + unstripped(r)
	}
	if bus.IsInternal(err) {
		logger := i.conn.Logger()
		logger.Error().Err(err).Str("method", r.Method).Str("path", failed.Path).Msg("request failed")
		failed = outsideOf(failed)
	}
	bus.WriteError(w, r, failed)
}

// outsideOf returns the error that clients see instead of an internal one.
func outsideOf(failed *bus.Error) *bus.Error {
	return &bus.Error{
		Status: failed.Status, Detail: withheld(failed.Status, failed.MsgID), Host: failed.Host, ID: failed.ID, MsgID: failed.MsgID,
		TraceID: failed.TraceID, Path: failed.Path, Executed: failed.Executed, RetryAfter: failed.RetryAfter,
	}
}

// unstripped returns a hint for an application that mounts the ingress under a prefix without removing it from the
// path, so that the prefix is taken for a host; "" if that is not the case.
func unstripped(r *http.Request) string {
	_, mount, _ := strings.Cut(r.Pattern, "/")
	mount, _, _ = strings.Cut(mount, "{")
	if mount = cleanPrefix(mount); mount == "" || mountPrefix(r) != "" {
		return ""
	}
	return fmt.Sprintf("; the ingress is mounted under %s: remove that from the path with http.StripPrefix(%q, ingress)", mount, mount)
}

// withheld returns the text that replaces an internal detail.
func withheld(status int, msgID string) string {
	what := ""
	if status == http.StatusGatewayTimeout {
		what = "something took too long; "
	}
	if msgID == "" {
		return what + "the reason is in the log"
	}
	return fmt.Sprintf("%sthe reason is in the log of the service, at msgId %s", what, msgID)
}
