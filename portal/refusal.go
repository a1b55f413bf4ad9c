package portal

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/busline/busline/bus"
)

// refuse answers with an error that arose on this side of the bus: the ingress's own, or a call that got no response.
func (i *Ingress) refuse(w http.ResponseWriter, r *http.Request, err error) {
	failed := &bus.Error{Status: bus.StatusOf(err), Detail: err.Error()}
	if known, ok := errors.AsType[*bus.Error](err); ok {
		copied := *known // errors may be shared
		failed = &copied
	}
	if failed.Host == "" {
		failed.Host, failed.ID = i.conn.Host(), i.conn.ID()
	}
	failed.Instance = requestPath(r)
	if failed.Status == http.StatusInternalServerError {
		logger := i.conn.Logger()
		logger.Error().Err(err).Str("method", r.Method).Str("path", failed.Instance).Msg("request failed")
		failed.Detail = withheld(failed.MsgID)
	}
	bus.ServeError(w, r, failed)
}

// withheld stands in the place of a detail that is not for the outside.
func withheld(msgID string) string {
	if msgID == "" {
		return "the reason is in the log"
	}
	return fmt.Sprintf("the reason is in the log of the service, at msgId %s", msgID)
}
