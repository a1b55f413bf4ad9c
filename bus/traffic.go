package bus

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/busline/busline/bus/metrics"
)

// Traffic is what an instance has served and called since it was opened, by its own count. An instance also answers it
// to GET :888/traffic; asked of all instances, that is the map of a plane.
type Traffic struct {
	// Started is when the instance was opened.
	Started time.Time `json:"started"`
	// Served are the requests of its endpoints, by caller; an endpoint that nobody has called is in it with no caller.
	Served []ServedCalls `json:"served"`
	// Made are its own calls, by callee.
	Made []MadeCalls `json:"made"`
}

// ServedCalls are the requests that one endpoint has served for one caller.
type ServedCalls struct {
	Endpoint string `json:"endpoint"` // its name, "Calculator.Add"
	Path     string `json:"path"`     // "/products/{id}"
	Port     int    `json:"port"`
	Caller   string `json:"caller"` // the hostname that it gives itself; "" for nobody yet, metrics.Others for those beyond 256
	metrics.Counts
}

// MadeCalls are the calls made to one host, unicast and multicast.
type MadeCalls struct {
	Callee string `json:"callee"`
	metrics.Counts
}

// Traffic returns what the connection has counted so far. Calls of the framework itself, and those to its port 888, are
// not counted.
func (c *Conn) Traffic() Traffic {
	traffic := Traffic{Started: c.opened, Served: []ServedCalls{}, Made: []MadeCalls{}}
	for _, e := range c.servedEndpoints() {
		counted := e.served.Counts()
		if len(counted) == 0 {
			counted = map[string]metrics.Counts{"": {Buckets: []int64{}}}
		}
		for _, caller := range slices.Sorted(maps.Keys(counted)) {
			traffic.Served = append(traffic.Served, ServedCalls{e.Name, e.Path, e.Port, caller, counted[caller]})
		}
	}
	called := c.called.Counts()
	for _, callee := range slices.Sorted(maps.Keys(called)) {
		traffic.Made = append(traffic.Made, MadeCalls{callee, called[callee]})
	}
	return traffic
}

// servedEndpoints returns the endpoints that were registered, sorted, without what the framework itself serves.
func (c *Conn) servedEndpoints() []*endpoint {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.SortedFunc(slices.Values(c.endpoints), func(a, b *endpoint) int {
		return cmp.Or(cmp.Compare(a.Port, b.Port), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Name, b.Name))
	})
}
