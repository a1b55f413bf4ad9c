package bus

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/busline/busline/bus/internal/feature"
	"github.com/busline/busline/bus/internal/logqueue"
	"github.com/busline/busline/bus/metrics"
	"github.com/busline/busline/bus/subject"
)

// telemetry is what a connection counts and reports of its calls.
type telemetry struct {
	tap      *tap           // keeps the latest calls while a client asks for them
	called   metrics.Family // by host, the outcomes of our calls
	rejected rejectedRequests
	calls    atomic.Int64      // calls, events included
	dropped  atomic.Int64      // messages that could not be received
	throttle logqueue.Throttle // of the lines that others can cause as often as they like
}

// endedCall is an exchange that has ended. If the goroutine of its handler has exited, err is nil and the status is
// 500.
type endedCall struct {
	*Exchange

	err    error
	status int
	took   time.Duration
}

// isCancelled reports whether a handler has ended because its caller left.
func (x endedCall) isCancelled() bool {
	return x.in.Handler.CallerLeft() && (errors.Is(x.err, context.Canceled) || errors.Is(x.err, ErrCallerLeft) ||
		errors.Is(x.err, errAborted))
}

// ended returns the call as a recorder gets it.
func (x endedCall) ended() feature.Ended {
	call := feature.Ended{Err: x.err, Status: x.status, Began: x.began, Took: x.took}
	if x.out != nil {
		call.Attempts = x.out.attempts
	}
	if x.in != nil {
		call.Streamed = x.in.Streamed()
	}
	return call
}

// observe makes the [Interceptor] that reports ended calls: first to the metrics, then to the tap, the recorder and the
// log. A log writer that panics does not change how the call ends.
func (c *Conn) observe(measure func(endedCall), log func(context.Context, endedCall)) Interceptor {
	return func(next CallFunc) CallFunc {
		return func(ctx context.Context, x *Exchange) (err error) {
			recorder := c.recorder(x)
			defer func() {
				call := endedCall{x, err, x.Status(err), x.Elapsed()}
				measure(call)
				c.tapEnded(call)
				if recorder != nil {
					recorder.End(ctx, x, call.ended())
				}
				c.shared.lines.Protect(func() { log(ctx, call) })
			}()
			if recorder != nil {
				recorder.Begin(ctx, x)
			}
			return next(ctx, x)
		}
	}
}

// rejectedRequests counts rejected requests by status, 400 to 599. They reach no interceptor, so that no other metric
// of the server has them. The zero value is ready.
type rejectedRequests struct{ byStatus [200]atomic.Int64 }

func (t *rejectedRequests) of(status int) *atomic.Int64 {
	return &t.byStatus[failure(status)-http.StatusBadRequest]
}

// total returns the number of rejected requests of all statuses.
func (t *rejectedRequests) total() (total int64) {
	for i := range t.byStatus {
		total += t.byStatus[i].Load()
	}
	return total
}

// expose writes the counts as one metric. Two statuses are there before the first rejection: Prometheus cannot compute
// an increase for a series whose first sample is not zero.
func (t *rejectedRequests) expose(text *metrics.Text, with func(...metrics.Label) []metrics.Label) {
	for i := range t.byStatus {
		status, count := http.StatusBadRequest+i, t.byStatus[i].Load()
		if count == 0 && status != http.StatusServiceUnavailable && status != http.StatusGatewayTimeout {
			continue
		}
		text.Counter("busline_rejected_total", "Requests that were refused before they reached an endpoint.", float64(count),
			with(metrics.Label{Name: "status", Value: strconv.Itoa(status)})...)
	}
}

// measureServed returns a function that counts a request of an endpoint, by caller. One that was cancelled has neither
// failed nor been refused.
func (c *Conn) measureServed(e *endpoint) func(endedCall) {
	return func(x endedCall) {
		status := x.status
		if x.isCancelled() {
			status = 0
		}
		e.served.Of(x.Request.FromHost).Observe(x.took, status)
		if status >= http.StatusBadRequest {
			e.lastError.Store(int32(status))
		}
	}
}

// measureMade counts a call that was made, by callee. It leaves out calls to port 888, which their callees do not count
// either: otherwise each scrape would be counted.
func (c *Conn) measureMade(x endedCall) {
	if x.Port == subject.ControlPort {
		return
	}
	_, series := c.telemetry.called.Under(x.Callee(x.err))
	series.Observe(x.took, x.status)
}

// ServeMetrics is an http.HandlerFunc that writes the connection's metrics in the text format of Prometheus, as GET
// :888/metrics does on the bus. Durations are in seconds; requests and calls that are still under way are not counted
// yet. [MetricsHandler] is for several connections.
func (c *Conn) ServeMetrics(w http.ResponseWriter, r *http.Request) {
	MetricsHandler(c).ServeHTTP(w, r)
}

// expose adds the connection's metrics to a text.
func (c *Conn) expose(text *metrics.Text) {
	stats := c.Stats()
	instance := []metrics.Label{{Name: "host", Value: c.host}, {Name: "id", Value: c.id}}
	with := func(labels ...metrics.Label) []metrics.Label { return append(instance[:2:2], labels...) }
	text.Gauge("busline_info", "The instance, always 1.", 1,
		with(metrics.Label{Name: "version", Value: c.config.version}, metrics.Label{Name: "plane", Value: c.plane})...)
	text.Gauge("busline_started_seconds", "When the instance was opened, in seconds since 1970.",
		float64(c.opened.Unix()), instance...)
	text.Gauge("busline_connected", "Whether the broker can be reached.", truth(c.Connected()), instance...)
	text.Gauge("busline_healthy", "Whether the connection can do its work.", truth(c.Health() == nil), instance...)
	text.Gauge("busline_restrictions", "Optional functions that the broker's permissions turn off.",
		float64(len(c.Restrictions())), instance...)
	text.Gauge("busline_in_flight", "Requests that are handled now.", float64(stats.InFlight), instance...)
	c.telemetry.rejected.expose(text, with)
	text.Counter("busline_malformed_total", "Messages that were not understood.", float64(stats.Malformed), instance...)
	text.Counter("busline_unmatched_responses_total", "Acks and responses that no caller waited for.",
		float64(stats.UnmatchedResponses), instance...)
	text.Counter("busline_slow_consumer_dropped_total", "Messages that came faster than they were taken in.",
		float64(stats.SlowConsumerDropped), instance...)
	text.Counter("busline_reconnects_total", "How often the broker connection was made anew.",
		float64(stats.Reconnects), instance...)
	for _, each := range c.extensions.All() {
		each.Expose(text, with)
	}
	c.exposeTraffic(text, with)
}

// exposeTraffic adds the metrics of calls.
func (c *Conn) exposeTraffic(text *metrics.Text, with func(...metrics.Label) []metrics.Label) {
	add := func(name, what string, counts metrics.Counts, labels []metrics.Label) {
		text.Histogram(name+"_duration_seconds", "Duration of "+what+".", counts, labels...)
		text.Counter(name+"_refused_total", "Of "+what+", those with a status of 400 to 499.",
			float64(counts.Refused), labels...)
		text.Counter(name+"_failed_total", "Of "+what+", those with a status of 500 or above.",
			float64(counts.Failed), labels...)
	}
	traffic := c.reportTraffic()
	for _, each := range servedByName(traffic.Served) {
		add("busline_server", "requests served", each.Counts,
			with(metrics.Label{Name: "endpoint", Value: each.Endpoint}, metrics.Label{Name: "caller", Value: each.Caller}))
	}
	for _, each := range traffic.Made {
		add("busline_client", "calls made", each.Counts, with(metrics.Label{Name: "callee", Value: each.Callee}))
	}
}

// servedByName adds up the requests of endpoints that have the same name, by caller, and omits those without calls.
// Several endpoints have the same name if a method is served under two paths (see [RPCAndREST]), on two ports, or for
// the events of two publishers. The format permits a series only once.
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

// MetricsHandler returns an http.Handler that writes the metrics of several connections of a process as one page in the
// text format of Prometheus: the output of [Conn.ServeMetrics] of each. A duplicate connection counts once; without
// connections the page is empty. The handler is safe for concurrent use.
func MetricsHandler(conns ...*Conn) http.Handler {
	var once []*Conn
	for _, conn := range conns {
		if !slices.Contains(once, conn) {
			once = append(once, conn)
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		text := new(metrics.Text)
		for _, conn := range once {
			conn.expose(text)
		}
		w.Header().Set("Content-Type", metrics.ContentType)
		_, _ = io.WriteString(w, text.String()) // it fails when the client is gone
	})
}

// reportTraffic returns what the connection has counted so far. Calls of the framework itself, and those to its port
// 888, are not counted.
func (c *Conn) reportTraffic() metrics.Traffic {
	traffic := metrics.Traffic{Started: c.opened, Served: []metrics.ServedCalls{}, Made: []metrics.MadeCalls{}}
	for _, e := range c.registry.all() {
		counted := e.served.Counts()
		if len(counted) == 0 {
			counted = map[string]metrics.Counts{"": {Buckets: []int64{}}}
		}
		for _, caller := range slices.Sorted(maps.Keys(counted)) {
			traffic.Served = append(traffic.Served, metrics.ServedCalls{Endpoint: e.Name, Path: e.Path, Port: e.Port,
				Caller: caller, Counts: counted[caller]})
		}
	}
	called := c.telemetry.called.Counts()
	for _, callee := range slices.Sorted(maps.Keys(called)) {
		traffic.Made = append(traffic.Made, metrics.MadeCalls{Callee: callee, Counts: called[callee]})
	}
	return traffic
}

// Stats counts calls and messages of a connection since it was opened.
type Stats struct {
	// Calls are the unicast and multicast calls made, events included: each counts once, however often it was sent and
	// whatever came of it, also if an interceptor of the connection refused it, unless its address or its arguments were
	// refused before. What the framework itself asks does not count.
	Calls int64
	// Rejected are the requests that were refused before they reached an endpoint: 503 if too many handlers ran or the
	// instance was closing, 504 if their time was spent, 404 and 405 for what is not served, and others. What the
	// framework itself asks does not count.
	Rejected int64
	// Malformed are the messages that were not understood, or had no valid sender or message id. Each is logged.
	Malformed int64
	// UnmatchedResponses are the acks and responses that no caller waited for: they came after the caller gave up.
	UnmatchedResponses int64
	// SlowConsumerDropped are the messages that the broker client threw away because this process did not take them in
	// fast enough. While that goes on [Conn.Health] has an error.
	SlowConsumerDropped int64
	// Reconnects is how often the broker connection was replaced because the broker had closed it.
	Reconnects int64
	// InFlight is the number of requests that are being handled at this moment.
	InFlight int
}

// Stats returns the counters.
func (c *Conn) Stats() Stats {
	_, working := c.server.Handlers.Count()
	overflowed, _ := c.session.Dropped()
	return Stats{
		Calls: c.telemetry.calls.Load(), Rejected: c.telemetry.rejected.total(), Malformed: c.telemetry.dropped.Load(),
		UnmatchedResponses:  c.client.Unmatched(),
		SlowConsumerDropped: overflowed, Reconnects: c.broker.Reconnects(), InFlight: working,
	}
}
