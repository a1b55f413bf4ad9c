package outside

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/subject"
)

// AskEvent asks the publisher of an event about it for the caller of the context, who may have the event if there is no
// error, and returns whether it is stored. An error names other events only if all of the publisher are open.
func AskEvent(ctx context.Context, conn *bus.Conn, open Chosen, publisher, event string) (stored bool, err error) {
	address := "GET https://" + publisher + ":" + strconv.Itoa(subject.ControlPort) + "/publish/" + url.PathEscape(event)
	var head struct {
		Publisher string `json:"publisher"`
		Event     string `json:"event"`
		Durable   bool   `json:"durable"`
	}
	err = conn.Call(ctx, address, nil, &head)
	switch {
	case errors.Is(err, bus.ErrNoResponder):
		return false, bus.Errorf(http.StatusServiceUnavailable, "no instance of %s publishes events now", publisher)
	case bus.StatusOf(err) == http.StatusMethodNotAllowed:
		return false, bus.Errorf(http.StatusNotFound, "%s does not say who may listen to its events", publisher)
	// it names the events that there are
	case bus.StatusOf(err) == http.StatusNotFound && !open.HasAllOf(publisher):
		return false, ErrNotOpen(publisher, event)
	case err != nil:
		return false, err
	case head.Publisher != publisher || head.Event != event: // it cannot speak for another host
		return false, bus.Errorf(http.StatusNotFound, "%s publishes no event %.80s of its own", publisher, event)
	}
	return head.Durable, nil
}

// ErrNotOpen is the error for an event that clients outside may not have. It does not say whether there is such an
// event.
func ErrNotOpen(publisher, event string) error {
	return bus.Errorf(http.StatusNotFound, "the event %.80s of %s is not open to the outside", event, publisher)
}
