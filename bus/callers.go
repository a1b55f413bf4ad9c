package bus

import (
	"strings"
	"sync"

	"github.com/busline/busline/bus/subject"
	"github.com/busline/busline/bus/wire"
)

// callers caches the response subjects of callers, so that they are not built for each request.
type callers struct {
	plane string

	mu       sync.RWMutex // protects subjects
	subjects map[peer]string
}

// maxCallers bounds the cache. When it is full it is emptied.
const maxCallers = 4096

func newCallers(plane string) *callers {
	return &callers{plane: plane, subjects: make(map[peer]string)}
}

// responseSubject returns where the sender of a request listens; false if the request does not name a valid one. A sender that
// only greets, as everybody does, is not cached.
func (c *callers) responseSubject(request *wire.Request, greets bool) (string, bool) {
	from := peer{request.FromHost, request.FromID}
	c.mu.RLock()
	to, known := c.subjects[from]
	c.mu.RUnlock()
	if known {
		return to, true
	}
	if subject.CheckHost(from.host) != nil || subject.CheckID(from.id) != nil {
		return "", false
	}
	to = subject.Response(c.plane, from.host, from.id)
	if greets {
		return to, true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.subjects) >= maxCallers {
		clear(c.subjects)
	}
	c.subjects[peer{strings.Clone(from.host), strings.Clone(from.id)}] = to // not a piece of a whole message
	return to, true
}
