package portal

import (
	"encoding/json"
	"net/http"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/restmap/openapi"
)

// instanceList lists the running instances.
type instanceList struct {
	Plane string                `json:"plane"` // the first token of every subject
	Hosts map[string][]instance `json:"hosts"`
}

// describeInstances lists the instances of the hosts of which the caller may see something, and no others.
func (c *catalog) describeInstances(found *presence, members []openapi.Member) ([]byte, error) {
	list := instanceList{Plane: c.conn.Plane(), Hosts: make(map[string][]instance)}
	for _, member := range members {
		if len(member.Document.Paths) > 0 {
			list.Hosts[member.Host] = found.instances[member.Host]
		}
	}
	return json.Marshal(list)
}

// instancesHandler serves the list of running instances that the caller may see. The page offers them as targets of a
// call.
type instancesHandler struct{ catalogs *catalogs }

// ServeHTTP serves an [instanceList] as JSON. It is as recent as the document.
func (h *instancesHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	current, err := h.catalogs.of(bus.ActorOf(r.Context())).read(r.Context())
	if err != nil {
		bus.WriteError(w, r, err)
		return
	}
	serveJSON(w, current.instances)
}

// serveJSON serves JSON that must not be cached: the bus changes, and each caller sees something else.
func serveJSON(w http.ResponseWriter, text []byte) {
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Cache-Control", "private, no-store")
	_, _ = w.Write(text) // the ResponseWriter of a bus handler does not fail here
}
