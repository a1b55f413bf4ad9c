package portal

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/subject"
)

// discoverTimeout leaves time to fetch documents, whatever happens before.
const discoverTimeout = 500 * time.Millisecond

// place is one port of a host.
type place struct {
	host string
	port int
}

// String returns "calculator.example:443".
func (p place) String() string { return p.host + ":" + strconv.Itoa(p.port) }

func (p place) compare(q place) int {
	return cmp.Or(cmp.Compare(p.host, q.host), cmp.Compare(p.port, q.port))
}

// discover asks every instance on the plane where it serves something, and returns the places that are public, sorted.
// An instance that gives no answer is missing: another one of its host answers, or it is not there for anybody. When
// not even the portal itself answers, the broker is away.
func (c *catalog) discover(ctx context.Context) ([]place, error) {
	ctx, cancel := context.WithTimeout(ctx, discoverTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://all:888/ping", http.NoBody)
	if err != nil {
		return nil, err
	}
	answered := false
	var places []place
	for response, err := range c.conn.Publish(request) {
		if err == nil {
			answered = true
			places = append(places, c.publicPlaces(response)...)
		} else if failed, ok := errors.AsType[*bus.Error](err); !ok || failed.Host == "" {
			return nil, err // it is no instance that failed, but the call
		}
	}
	if !answered {
		return nil, bus.Errorf(http.StatusServiceUnavailable, "nobody answers; the broker is out of reach")
	}
	slices.SortFunc(places, place.compare)
	return slices.Compact(places), nil
}

// publicPlaces reads the answer of one instance. The portal does not describe itself.
func (c *catalog) publicPlaces(response *http.Response) (places []place) {
	defer response.Body.Close()
	host := response.Header.Get("Bus-From-Host")
	var answer struct {
		Ports []int `json:"ports"`
	}
	if json.NewDecoder(response.Body).Decode(&answer) != nil || subject.ValidHost(host) != nil || host == c.conn.Host() {
		return nil
	}
	for _, port := range answer.Ports {
		if slices.Contains(c.ports, port) {
			places = append(places, place{host, port})
		}
	}
	return places
}
