package portal

import (
	"time"

	"github.com/busline/busline/bus/metrics"
)

// Limits of what one reader is shown.
const (
	maxShownEdges      = 5_000
	maxShownOperations = 10_000
	maxShownCallers    = 256 // of one host; the others are one
)

// liveView is the traffic as a caller is shown it, the answer at /live.json.
type liveView struct {
	Taken    time.Time     `json:"taken"`
	Window   float64       `json:"window"` // seconds that the recent figures are of; 0: there are none yet
	Services []liveService `json:"services"`
	Edges    []liveEdge    `json:"edges"`
	Lost     []liveLost    `json:"lost"`    // recent calls that never arrived: nobody serves their host
	LeftOut  []string      `json:"leftOut"` // sentences
}

// liveService is a service of which the caller may call something.
type liveService struct {
	Host        string         `json:"host"`
	Ports       []int          `json:"ports"`
	Instances   []liveInstance `json:"instances"`
	liveFigures                // of what the caller may call
}

// liveInstance is one that runs. It was started at some time that is missing when it does not tell.
type liveInstance struct {
	ID      string     `json:"id"`
	Version string     `json:"version,omitempty"`
	Started *time.Time `json:"started,omitempty"`
}

// liveEdge is who calls whom.
type liveEdge struct {
	From       string          `json:"from"`
	To         string          `json:"to"`
	Operations []liveOperation `json:"operations"`
	liveFigures
}

// liveOperation is what is called.
type liveOperation struct {
	Name string `json:"name"` // "Calculator.Add"
	Path string `json:"path"` // "/products/{id}"
	Port int    `json:"port"`
	liveFigures
}

// liveLost are the recent calls from one host to one that nobody serves; "" for hosts that the caller has never been shown.
type liveLost struct {
	From  string  `json:"from"`
	To    string  `json:"to"`
	Calls int64   `json:"calls"`
	Rate  float64 `json:"rate"` // per second
}

// liveFigures are those of all instances that run, since each was started.
type liveFigures struct {
	Calls   int64      `json:"calls"`
	Refused int64      `json:"refused"` // status 400 to 499
	Failed  int64      `json:"failed"`  // status 500 and above
	Recent  liveRecent `json:"recent"`
}

// liveRecent are the figures of the window. Rates are per second, durations in seconds; there are none of no calls.
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

// calls are counts of what somebody may know, since the start and recent.
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
