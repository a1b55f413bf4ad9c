package bus

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/micro"

	"github.com/busline/busline/bus/metrics"
	"github.com/busline/busline/restmap"
)

// serviceAnswer is what the instance says of itself in the service protocol of NATS. The types are those of package micro;
// nothing else of it is used.
func (c *Conn) serviceAnswer(verb string) any {
	identity := micro.ServiceIdentity{
		Name: serviceName(c.host), ID: c.id, Version: semanticVersion(c.version),
		Metadata: map[string]string{"host": c.host, "plane": c.plane, "version": c.version},
	}
	switch verb {
	case verbInfo:
		return micro.Info{
			ServiceIdentity: identity, Type: micro.InfoResponseType,
			Description: c.serviceDescription(), Endpoints: c.endpointInfos(),
		}
	case verbStats:
		return micro.Stats{
			ServiceIdentity: identity, Type: micro.StatsResponseType,
			Started: c.opened.UTC(), Endpoints: c.endpointStats(),
		}
	default:
		return micro.Ping{ServiceIdentity: identity, Type: micro.PingResponseType}
	}
}

// serviceDescription is what the documents say to a caller without a token.
func (c *Conn) serviceDescription() string {
	return cmp.Or(c.description, c.documents.descriptionOfAll())
}

// listedEndpoints are those that are not hidden.
func (c *Conn) listedEndpoints() []*endpoint {
	return slices.DeleteFunc(c.servedEndpoints(), func(e *endpoint) bool { return e.hidden })
}

func (c *Conn) endpointInfos() []micro.EndpointInfo {
	infos := []micro.EndpointInfo{} // not nil, which would be null
	for _, e := range c.listedEndpoints() {
		infos = append(infos, micro.EndpointInfo{
			Name: endpointName(e.Name), Subject: c.listedSubject(e), QueueGroup: e.brokerQueue(c),
			Metadata: map[string]string{"method": e.methods(), "path": e.Path, "port": strconv.Itoa(e.Port)},
		})
	}
	return infos
}

func (c *Conn) endpointStats() []*micro.EndpointStats {
	stats := []*micro.EndpointStats{}
	for _, e := range c.listedEndpoints() {
		var counts metrics.Counts
		for _, of := range e.served.Counts() {
			counts = counts.Plus(of)
		}
		one := &micro.EndpointStats{
			Name: endpointName(e.Name), Subject: c.listedSubject(e), QueueGroup: e.brokerQueue(c),
			NumRequests: int(counts.Total()), NumErrors: int(counts.Refused + counts.Failed), LastError: e.lastErrorText(),
			ProcessingTime: counts.Took,
		}
		if one.NumRequests > 0 {
			one.AverageProcessingTime = one.ProcessingTime / time.Duration(one.NumRequests)
		}
		if one.NumErrors > 0 { // not always: "nats micro info" takes five lines for it
			one.Data = json.RawMessage(fmt.Sprintf(`{"refused":%d,"failed":%d}`, counts.Refused, counts.Failed))
		}
		stats = append(stats, one)
	}
	return stats
}

// listedSubject is the subject of an endpoint, with a wildcard when it has several methods.
func (c *Conn) listedSubject(e *endpoint) string {
	route := e.mapped.Routes[0]
	if len(e.mapped.Routes) > 1 {
		route.Method = restmap.AnyMethod
	}
	return e.subject(c.plane, c.host, route)
}

// methods returns the methods of an endpoint, "GET,POST"; "*" is any.
func (e *endpoint) methods() string {
	var methods []string
	for _, route := range e.mapped.Routes {
		methods = append(methods, route.Method)
	}
	return strings.Join(methods, ",")
}

// lastErrorText is the status of the last request that was answered with an error, "404 Not Found"; "" for none.
func (e *endpoint) lastErrorText() string {
	status := int(e.lastError.Load())
	if status == 0 {
		return ""
	}
	return strings.TrimSpace(strconv.Itoa(status) + " " + http.StatusText(status))
}
