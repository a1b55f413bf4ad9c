package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"math/bits"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/busline/busline/bus"
)

// benchFlags are the flags of bench.
type benchFlags struct {
	target
	concurrency int
	calls       int // 0: until the duration is over
	duration    time.Duration
}

func (s *session) newBench() *cobra.Command {
	var f benchFlags
	c := prints(&cobra.Command{
		Use:   "bench <address> [name=value …] [name:=json …] [@file | - | '{…}']",
		Short: "Make a call many times, and measure how long it takes",
		Long: `Makes the same call again and again, and shows how many there are in a second, how long they take, and
which statuses come back. Arguments are those of busline call. All calls go over one connection to the
broker. Each call has its full effect: be careful with one that creates something. After an interruption
the results so far are shown.`,
		Example: examples(
			"busline bench calculator.example/add x=5 y=6",
			"busline bench -c 64 -n 100000 calculator.example/add x=5 y=6",
			"busline bench -d 10s --json products.example/products limit=10",
		),
		Annotations: annotated(Changes),
		RunE: func(c *cobra.Command, operands []string) error {
			const most = 10_000
			switch {
			case f.concurrency < 1 || f.concurrency > most:
				return misuse("-c %d: choose 1 to %d", f.concurrency, most)
			case f.calls < 1:
				return misuse("-n %d: choose at least 1", f.calls)
			case f.duration < 0:
				return misuse("-d %s: choose a time such as 10s", f.duration)
			case f.duration > 0 && !c.Flags().Changed("calls"):
				f.calls = 0
			}
			return s.bench(c.Context(), &f, operands)
		},
		ValidArgsFunction: s.completing(s.completeCall),
	})
	set := c.Flags()
	f.register(set)
	_ = c.RegisterFlagCompletionFunc("instance", s.completing(s.completeInstance)) // it fails for an unknown flag
	set.IntVarP(&f.concurrency, "concurrency", "c", 1, "`number` of concurrent calls")
	set.IntVarP(&f.calls, "calls", "n", 1000, "`number` of calls; with -d as many as fit, unless given")
	set.DurationVarP(&f.duration, "duration", "d", 0, "`time` to run; with -n, whichever ends first")
	return c
}

// bench makes the calls and prints the result.
func (s *session) bench(ctx context.Context, f *benchFlags, operands []string) error {
	draft, err := f.prepare(ctx, s, operands)
	if err != nil {
		return err
	}
	conn, err := s.join(ctx)
	if err != nil {
		return err
	}
	running := newBenchRun(f)
	quiet := s.showBench(running)
	running.run(bus.WithActor(ctx, s.token()), func(ctx context.Context) (status int, detail string) {
		return callOnce(ctx, conn, draft, s.settings.timeout)
	})
	quiet()
	result := running.result()
	if err := s.printBench(result); err != nil {
		return err
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case result.Failed > 0:
		return &failure{status: failed}
	}
	return nil
}

// callOnce makes one call. detail is set if it failed.
func callOnce(ctx context.Context, conn *bus.Conn, draft *prepared, timeout time.Duration) (status int, detail string) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	request, err := draft.request(ctx)
	if err != nil {
		return http.StatusBadRequest, err.Error()
	}
	response, err := conn.Do(request)
	if err != nil {
		return bus.StatusOf(err), err.Error()
	}
	defer response.Body.Close()
	if response.StatusCode < http.StatusBadRequest {
		return response.StatusCode, ""
	}
	body, _ := io.ReadAll(response.Body) // it is in memory
	problem, _ := problemIn(response, body)
	return response.StatusCode, fmt.Sprintf("%.300s", problem.Detail)
}

// showBench shows the progress of the bench on a terminal, until it is stopped.
func (s *session) showBench(r *benchRun) (quiet func()) {
	ticker, stop := time.NewTicker(progressEvery), make(chan struct{})
	var showing sync.WaitGroup
	showing.Go(func() {
		for began := time.Now(); ; {
			select {
			case <-ticker.C:
				s.showProgress(fmt.Sprintf("%d calls in %s", r.done.Load(), time.Since(began).Truncate(time.Second/10)))
			case <-stop:
				s.showProgress("")
				return
			}
		}
	})
	return func() {
		ticker.Stop()
		close(stop)
		showing.Wait()
	}
}

// benchRun is a running bench.
type benchRun struct {
	concurrency int
	left        atomic.Int64 // calls that have not begun
	ends        time.Duration
	begun       time.Time
	took        time.Duration
	done        atomic.Int64

	mu        sync.Mutex // protects all fields below
	latencies histogram
	outcomes  map[int]*outcome // by status
}

// outcome are the calls with one status.
type outcome struct {
	count  int64
	detail string // of the first failed call
}

func newBenchRun(f *benchFlags) *benchRun {
	r := &benchRun{concurrency: f.concurrency, ends: f.duration, outcomes: make(map[int]*outcome)}
	r.left.Store(math.MaxInt64)
	if f.calls > 0 {
		r.left.Store(int64(f.calls))
	}
	return r
}

// run makes the calls, and returns when the last one has ended.
func (r *benchRun) run(ctx context.Context, call func(context.Context) (status int, detail string)) {
	r.begun = time.Now()
	var callers sync.WaitGroup
	for range r.concurrency {
		callers.Go(func() {
			for r.takeCall(ctx) {
				began := time.Now()
				status, detail := call(ctx)
				if ctx.Err() == nil || status < http.StatusBadRequest { // failures caused by the interruption do not count
					r.note(time.Since(began), status, detail)
				}
			}
		})
	}
	callers.Wait()
	r.took = time.Since(r.begun)
}

// takeCall takes one of the remaining calls, and returns false if there is none or the time is up.
func (r *benchRun) takeCall(ctx context.Context) bool {
	if ctx.Err() != nil || r.ends > 0 && time.Since(r.begun) >= r.ends {
		return false
	}
	return r.left.Add(-1) >= 0
}

func (r *benchRun) note(took time.Duration, status int, detail string) {
	r.done.Add(1)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.latencies.add(took)
	if r.outcomes[status] == nil {
		r.outcomes[status] = &outcome{detail: detail}
	}
	r.outcomes[status].count++
}

// benchResult is the result of a bench. Times are in milliseconds.
type benchResult struct {
	Calls       int64          `json:"calls"`
	Failed      int64          `json:"failed"`
	Seconds     float64        `json:"seconds"`
	PerSecond   float64        `json:"perSecond"`
	Concurrency int            `json:"concurrency"`
	P50         float64        `json:"p50Milliseconds"`
	P90         float64        `json:"p90Milliseconds"`
	P99         float64        `json:"p99Milliseconds"`
	Max         float64        `json:"maxMilliseconds"`
	Statuses    map[int]int64  `json:"statuses"` // number of calls by status
	Details     map[int]string `json:"details"`  // of the first failed call by status
}

// result summarises a bench.
func (r *benchRun) result() benchResult {
	r.mu.Lock()
	defer r.mu.Unlock()
	sum := benchResult{
		Calls: r.latencies.total, Seconds: r.took.Seconds(), Concurrency: r.concurrency,
		P50: milliseconds(r.latencies.percentile(0.5)), P90: milliseconds(r.latencies.percentile(0.9)),
		P99: milliseconds(r.latencies.percentile(0.99)), Max: milliseconds(r.latencies.max),
		Statuses: make(map[int]int64), Details: make(map[int]string),
	}
	if r.took > 0 {
		sum.PerSecond = float64(sum.Calls) / r.took.Seconds()
	}
	for status, came := range r.outcomes {
		sum.Statuses[status] = came.count
		if status >= http.StatusBadRequest {
			sum.Failed += came.count
			sum.Details[status] = cleanLine(came.detail)
		}
	}
	return sum
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// printBench prints the result.
func (s *session) printBench(sum benchResult) error {
	if s.settings.IsJSON() {
		return s.print("%s\n", jsonOf(sum))
	}
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "calls\t%d in %.2f s, %d at a time\n", sum.Calls, sum.Seconds, sum.Concurrency)
	fmt.Fprintf(table, "rate\t%.0f per second\n", sum.PerSecond)
	fmt.Fprintf(table, "time\tp50 %.2f ms, p90 %.2f ms, p99 %.2f ms, max %.2f ms\n", sum.P50, sum.P90, sum.P99, sum.Max)
	for _, status := range slices.Sorted(maps.Keys(sum.Statuses)) {
		fmt.Fprintf(table, "%d\t%d  %.160s\n", status, sum.Statuses[status], sum.Details[status])
	}
	if err := table.Flush(); err != nil {
		return err
	}
	var lines strings.Builder
	for line := range strings.Lines(text.String()) {
		lines.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return s.print("%s", lines.String())
}

// histogram counts durations in buckets that are less than 1 % wide, so that a bench of any length needs the same
// memory. The zero value is empty.
type histogram struct {
	counts [58 << subBits]int64
	total  int64
	max    time.Duration
}

// subBits is the number of bits after the highest one that determine the bucket.
const subBits = 7

// bucketOf returns the bucket of a duration in nanoseconds.
func bucketOf(nanoseconds uint64) int {
	if nanoseconds < 1<<subBits {
		return int(nanoseconds)
	}
	shift := bits.Len64(nanoseconds) - 1 - subBits
	return (shift+1)<<subBits + int(nanoseconds>>shift) - 1<<subBits
}

// lowest returns the shortest duration in a bucket.
func lowest(bucket int) time.Duration {
	if bucket < 1<<subBits {
		return time.Duration(bucket)
	}
	shift := bucket>>subBits - 1
	return time.Duration((bucket&(1<<subBits-1) + 1<<subBits) << shift)
}

func (h *histogram) add(took time.Duration) {
	took = max(took, 0)
	h.counts[bucketOf(uint64(took))]++
	h.total++
	h.max = max(h.max, took)
}

// percentile returns the duration that a share of all durations, such as 0.99, did not exceed, to within 1 %; 0 if
// there are none.
func (h *histogram) percentile(share float64) time.Duration {
	rank := int64(share*float64(h.total) + 0.5)
	var seen int64
	for bucket, count := range &h.counts {
		seen += count
		if count > 0 && seen >= max(rank, 1) {
			return min(lowest(bucket), h.max)
		}
	}
	return 0
}
