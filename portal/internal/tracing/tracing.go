// Package tracing serves traces to the portal's page, and says where else they are shown.
package tracing

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/trace"
	"github.com/busline/busline/portal/internal/answer"
)

// inLink is what stands for the id in a [Link].
const inLink = "{traceId}"

// Link is the address of a trace in another program, with {traceId} in place of its id; "" for none.
type Link string

// LinkFromEnvironment returns the link in BUS_TRACE_LINK.
func LinkFromEnvironment() Link { return Link(strings.TrimSpace(os.Getenv("BUS_TRACE_LINK"))) }

// Check returns an error for a link that cannot work.
func (l Link) Check() error {
	if l == "" {
		return nil
	}
	to, err := url.Parse(strings.ReplaceAll(string(l), inLink, strings.Repeat("0", 32))) //nolint:mnd // digits of an id
	if err != nil || to.Host == "" || to.User != nil || to.Scheme != "https" && to.Scheme != "http" ||
		!strings.Contains(string(l), inLink) {
		return fmt.Errorf("portal.WithTraceLink or BUS_TRACE_LINK is %.200q: give an https or http address with %s, such as "+
			"https://grafana.example/trace/%[2]s", string(l), inLink)
	}
	return nil
}

// Gather returns a handler that serves the [trace.Trace] whose id the query has. It asks on conn, with the token of the
// request.
func Gather(conn *bus.Conn) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		id, err := trace.ParseID(r.URL.Query().Get("id"))
		if err != nil {
			return bus.Errorf(http.StatusBadRequest, "%w", err)
		}
		ctx, cancel := answer.InTime(r.Context())
		defer cancel()
		gathered, err := trace.Gather(ctx, conn, id)
		if err != nil {
			return err
		}
		if len(gathered.Roots) == 0 {
			return unknown(gathered)
		}
		return answer.WriteJSON(w, gathered)
	}
}

// unknown says why there may be nothing of a trace.
func unknown(of *trace.Trace) error {
	text := fmt.Sprintf("no instance remembers trace %s: it is still running or older than what their memory holds, or the "+
		"services do not use trace.Record", of.ID)
	if of.Without > 0 {
		text += fmt.Sprintf("; of %d that have answered %d do not", of.Instances, of.Without)
	}
	if len(of.Failed) > 0 {
		text += fmt.Sprintf("; %d have not answered, the first of them %s.%s: %s", len(of.Failed), of.Failed[0].ID,
			of.Failed[0].Host, of.Failed[0].Why)
	}
	return bus.Errorf(http.StatusNotFound, "%s", text)
}
