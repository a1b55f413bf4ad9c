package portal

import (
	"net/http"

	"github.com/busline/busline/bus"
)

// documentHandler serves the aggregated document, with what the caller may see.
type documentHandler struct {
	conn     *bus.Conn
	catalogs *catalogs
}

// ServeHTTP serves the document as JSON. It must not be cached, because the bus changes.
func (h *documentHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	current, err := h.catalogs.of(bus.ActorOf(r.Context())).read(r.Context())
	if err != nil {
		bus.WriteError(w, r, err)
		return
	}
	serveJSON(w, current.json(h.conn.BaseURL(r)))
}
