package portal

import (
	"net/http"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/restmap/asyncapi"
	"github.com/busline/busline/restmap/openapi"
	"github.com/busline/busline/restmap/tsclient"
)

// clientHandler serves a TypeScript client of what the caller may call, and of the events that it may see.
type clientHandler struct {
	conn     *bus.Conn
	catalogs *catalogs
}

// ServeHTTP serves the client as text, which browsers show. The query may have int64, a [tsclient.Int64].
func (h *clientHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	source, err := h.generate(r)
	if err != nil {
		bus.WriteError(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Content-Disposition", `inline; filename="bus.ts"`)
	serveDocument(w, r, source)
}

func (h *clientHandler) generate(r *http.Request) ([]byte, error) {
	int64Type, err := tsclient.ParseInt64(r.URL.Query().Get("int64"))
	if err != nil {
		return nil, bus.Errorf(http.StatusBadRequest, "%w", err)
	}
	catalog := h.catalogs.of(bus.ActorOf(r.Context()))
	current, err := catalog.read(r.Context())
	if err != nil {
		return nil, err
	}
	events, err := catalog.events.Read(r.Context())
	if err != nil {
		return nil, err
	}
	info := openapi.Info{LeftOut: current.leftOut}
	return tsclient.Generate(openapi.Merge(info, h.conn.BaseURL(r), current.members),
		asyncapi.Merge(asyncapi.Info{LeftOut: events.leftOut}, events.members), tsclient.Options{Int64: int64Type})
}
