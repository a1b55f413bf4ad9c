package portal

import (
	"time"

	"github.com/busline/busline/bus/metrics"
)

// Limits of what one reader is shown.
const (
	maxShownEdges      = 5_000
	maxShownOperations = 10_000
	maxShownCallers    = 256 // of one host; the rest are combined into one
)

// liveView is the traffic that a caller may see, the response of /live.json.
type liveView struct {
	Taken    time.Time     `json:"taken"`
	Window   float64       `json:"window"` // seconds that the recent figures cover; 0: there are none yet
	Services []liveService `json:"services"`
	Edges    []liveEdge    `json:"edges"`
	Lost     []liveLost    `json:"lost"`    // recent calls that never arrived because nobody serves their host
	LeftOut  []string      `json:"leftOut"` // sentences
}

// liveService is a service of which the caller may call at least one operation.
type liveService struct {
	Host        string         `json:"host"`
	Ports       []int          `json:"ports"`
	Instances   []liveInstance `json:"instances"`
	liveFigures                // of the operations that the caller may call
}

// liveInstance is a running instance. Its start time is absent if the instance does not report it.
type liveInstance struct {
	ID      string     `json:"id"`
	Version string     `json:"version,omitempty"`
	Started *time.Time `json:"started,omitempty"`
}

// liveEdge is one host that calls another.
type liveEdge struct {
	From       string          `json:"from"`
	To         string          `json:"to"`
	Operations []liveOperation `json:"operations"`
	liveFigures
}

// liveOperation is an operation that is called.
type liveOperation struct {
	Name string `json:"name"` // "Calculator.Add"
	Path string `json:"path"` // "/products/{id}"
	Port int    `json:"port"`
	liveFigures
}

// liveLost are the recent calls from one host to one that nobody serves; "" stands for hosts that the caller has never
// been shown.
type liveLost struct {
	From  string  `json:"from"`
	To    string  `json:"to"`
	Calls int64   `json:"calls"`
	Rate  float64 `json:"rate"` // per second
}

// liveFigures are the sums over all running instances, each since its start.
type liveFigures struct {
	Calls   int64      `json:"calls"`
	Refused int64      `json:"refused"` // status 400 to 499
	Failed  int64      `json:"failed"`  // status 500 and above
	Recent  liveRecent `json:"recent"`
}

// liveRecent are the figures of the window. Rates are per second, durations in seconds; without calls there are no
// durations.
type liveRecent struct {
	Calls       int64    `json:"calls"`
	Rate        float64  `json:"rate"`
	Refused     int64    `json:"refused"`
	RefusedRate float64  `json:"refusedRate"`
	Failed      int64    `json:"failed"`
	FailedRate  float64  `json:"failedRate"`
	P50         *float64 `json:"p50,omitempty"`
	P99         *float64 `json:"p99,omitempty"`
}

// calls are the counts of the calls that a caller may know of: since the start, and recent.
type calls struct{ total, recent metrics.Counts }

func (c calls) plus(total, recent metrics.Counts) calls {
	return calls{c.total.Plus(total), c.recent.Plus(recent)}
}

func (c calls) figures(window time.Duration) liveFigures {
	told := liveFigures{Calls: c.total.Total(), Refused: c.total.Refused, Failed: c.total.Failed}
	recent := liveRecent{Calls: c.recent.Total(), Refused: c.recent.Refused, Failed: c.recent.Failed}
	if seconds := window.Seconds(); seconds > 0 {
		recent.Rate = float64(recent.Calls) / seconds
		recent.RefusedRate = float64(recent.Refused) / seconds
		recent.FailedRate = float64(recent.Failed) / seconds
	}
	if recent.Calls > 0 {
		p50, p99 := c.recent.Quantile(0.5).Seconds(), c.recent.Quantile(0.99).Seconds() //nolint:mnd // as they are called
		recent.P50, recent.P99 = &p50, &p99
	}
	told.Recent = recent
	return told
}
