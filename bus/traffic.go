package bus

import (
	"cmp"
	"maps"
	"slices"

	"github.com/busline/busline/bus/metrics"
)

// reportTraffic returns what the connection has counted so far. Calls of the framework itself, and those to its port 888, are
// not counted.
func (c *Conn) reportTraffic() metrics.Traffic {
	traffic := metrics.Traffic{Started: c.opened, Served: []metrics.ServedCalls{}, Made: []metrics.MadeCalls{}}
	for _, e := range c.servedEndpoints() {
		counted := e.served.Counts()
		if len(counted) == 0 {
			counted = map[string]metrics.Counts{"": {Buckets: []int64{}}}
		}
		for _, caller := range slices.Sorted(maps.Keys(counted)) {
			traffic.Served = append(traffic.Served, metrics.ServedCalls{Endpoint: e.Name, Path: e.Path, Port: e.Port, Caller: caller, Counts: counted[caller]})
		}
	}
	called := c.called.Counts()
	for _, callee := range slices.Sorted(maps.Keys(called)) {
		traffic.Made = append(traffic.Made, metrics.MadeCalls{Callee: callee, Counts: called[callee]})
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
