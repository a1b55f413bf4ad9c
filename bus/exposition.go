package bus

import (
	"io"
	"net/http"

	"github.com/busline/busline/bus/metrics"
)

// ServeMetrics is an http.HandlerFunc that writes the connection's metrics in the text format of Prometheus, as GET
// :888/metrics does on the bus. Durations are in seconds; requests and calls that are still under way are not counted
// yet. [MetricsHandler] is for several connections.
func (c *Conn) ServeMetrics(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", metrics.ContentType)
	_, _ = io.WriteString(w, c.exposition()) // it fails when the client is gone
}

func (c *Conn) exposition() string {
	text, stats := new(metrics.Text), c.Stats()
	instance := []metrics.Label{{Name: "host", Value: c.host}, {Name: "id", Value: c.id}}
	with := func(labels ...metrics.Label) []metrics.Label { return append(instance[:2:2], labels...) }
	text.Gauge("busline_info", "The instance, always 1.", 1,
		with(metrics.Label{Name: "version", Value: c.version}, metrics.Label{Name: "plane", Value: c.plane})...)
	text.Gauge("busline_started_seconds", "When the instance was opened, in seconds since 1970.", float64(c.opened.Unix()), instance...)
	text.Gauge("busline_connected", "Whether the broker can be reached.", truth(c.Connected()), instance...)
	text.Gauge("busline_healthy", "Whether the connection can do its work.", truth(c.Healthy()), instance...)
	text.Gauge("busline_in_flight", "Requests that are handled now.", float64(stats.InFlight), instance...)
	c.turnedAway.expose(text, with)
	text.Counter("busline_malformed_total", "Messages that were not understood.", float64(stats.Malformed), instance...)
	text.Counter("busline_unmatched_responses_total", "Acks and responses that nobody waited for.", float64(stats.UnmatchedResponses), instance...)
	text.Counter("busline_slow_consumer_dropped_total", "Messages that came faster than they were taken in.", float64(stats.SlowConsumerDropped), instance...)
	text.Counter("busline_reconnects_total", "How often the broker connection was made anew.", float64(stats.Reconnects), instance...)
	c.events.expose(text, with)
	c.exposeTraffic(text, with)
	return text.String()
}

// exposeTraffic writes one metric after the other, as the format asks.
func (c *Conn) exposeTraffic(text *metrics.Text, with func(...metrics.Label) []metrics.Label) {
	traffic := c.reportTraffic()
	byName := servedByName(traffic.Served)
	served := func(add func([]metrics.Label, metrics.Counts)) {
		for _, each := range byName {
			add(with(metrics.Label{Name: "endpoint", Value: each.Endpoint}, metrics.Label{Name: "caller", Value: each.Caller}), each.Counts)
		}
	}
	made := func(add func([]metrics.Label, metrics.Counts)) {
		for _, each := range traffic.Made {
			add(with(metrics.Label{Name: "callee", Value: each.Callee}), each.Counts)
		}
	}
	for _, side := range []struct {
		name, what string
		each       func(func([]metrics.Label, metrics.Counts))
	}{{"busline_server", "requests served", served}, {"busline_client", "calls made", made}} {
		side.each(func(labels []metrics.Label, counts metrics.Counts) {
			text.Histogram(side.name+"_duration_seconds", "Duration of "+side.what+".", counts, labels...)
		})
		side.each(func(labels []metrics.Label, counts metrics.Counts) {
			text.Counter(side.name+"_refused_total", "Of "+side.what+", those with a status of 400 to 499.", float64(counts.Refused), labels...)
		})
		side.each(func(labels []metrics.Label, counts metrics.Counts) {
			text.Counter(side.name+"_failed_total", "Of "+side.what+", those with a status of 500 or above.", float64(counts.Failed), labels...)
		})
	}
}

// servedByName adds up the requests of endpoints that have the same name, caller by caller, and leaves out those that nobody
// has called. A name is that of several endpoints if a method is served under two paths (see [RPCAndREST]), on two ports, or for
// the events of two sources; and the format permits a series only once.
func servedByName(served []metrics.ServedCalls) (sums []metrics.ServedCalls) {
	places := make(map[[2]string]int) // by endpoint and caller
	for _, each := range served {
		key := [2]string{each.Endpoint, each.Caller}
		at, known := places[key]
		switch {
		case each.Caller == "":
		case known:
			sums[at].Counts = sums[at].Plus(each.Counts)
		default:
			places[key], sums = len(sums), append(sums, each)
		}
	}
	return sums
}

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
