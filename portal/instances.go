package portal

import (
	"encoding/json"
	"net/http"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/restmap/openapi"
)

// instanceList is which instances run.
type instanceList struct {
	Plane string                `json:"plane"` // the first word of every subject
	Hosts map[string][]instance `json:"hosts"`
}

// describeInstances lists the instances of the hosts of which the caller sees something, and of no others.
func (c *catalog) describeInstances(found *presence, members []openapi.Member) ([]byte, error) {
	list := instanceList{Plane: c.conn.Plane(), Hosts: make(map[string][]instance)}
	for _, member := range members {
		if len(member.Document.Paths) > 0 {
			list.Hosts[member.Host] = found.instances[member.Host]
		}
	}
	return json.Marshal(list)
}

// instancesHandler serves which instances run, to each caller as it may see it. The page offers them to be called.
type instancesHandler struct{ catalogs *catalogs }

// ServeHTTP serves an [instanceList] as JSON, as recent as the document is.
func (h *instancesHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	current, err := h.catalogs.of(bus.ActorOf(r.Context())).read(r.Context())
	if err != nil {
		bus.ServeError(w, r, err)
		return
	}
	serveJSON(w, current.instances)
}

// serveJSON serves what is not to be kept by anybody: the bus changes, and shows to each caller what is its own.
func serveJSON(w http.ResponseWriter, text []byte) {
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Cache-Control", "private, no-store")
	_, _ = w.Write(text) // a handler of the bus cannot fail here
}
