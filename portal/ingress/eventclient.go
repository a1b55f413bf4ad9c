package ingress

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/claims"
)

// clientShare is how many clients it takes to open all streams of events.
const clientShare = 4

// eventClient is whom a stream of events counts for: the subject of the token, else the address. Those that have
// neither, as on a Unix socket, count as one.
type eventClient struct {
	subject string
	address netip.Addr
}

// eventClientOf returns the client that asks for a stream with these claims.
func (c *config) eventClientOf(r *http.Request, verified claims.Claims) eventClient {
	if named, _ := verified["sub"].(string); named != "" {
		return eventClient{subject: named}
	}
	return eventClient{address: c.clientAddress(r)}
}

// clientAddress returns the last address on the way of a request that is not that of a trusted proxy: what is before it
// may be forged.
func (c *config) clientAddress(r *http.Request) netip.Addr {
	client := peerAddress(r)
	said := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, text := range slices.Backward(said) {
		before, err := netip.ParseAddr(strings.TrimSpace(text))
		if err != nil || !c.trusts(client) {
			break
		}
		client = before.Unmap().WithZone("")
	}
	return client
}

// eventClients counts the streams of events that are open. It is safe for concurrent use.
type eventClients struct {
	limit int

	mu   sync.Mutex // protects all below
	open int
	of   map[eventClient]int // has those with streams alone
}

// enter counts a stream, unless there are too many.
func (e *eventClients) enter(client eventClient) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	share := max(1, e.limit/clientShare)
	var detail string
	switch {
	case e.open >= e.limit:
		detail = "the ingress has as many streams of events as it may: try again later"
	case e.of[client] >= share:
		detail = fmt.Sprintf("this client has as many streams of events as one may, %d: close one, or try again later", share)
	default:
		e.open++
		e.of[client]++
		return nil
	}
	return &bus.Error{Status: http.StatusServiceUnavailable, Detail: detail, RetryAfter: time.Second}
}

// remove ends the count of a stream.
func (e *eventClients) remove(client eventClient) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.open--
	if e.of[client]--; e.of[client] == 0 {
		delete(e.of, client)
	}
}

// count returns how many streams are open.
func (e *eventClients) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.open
}
