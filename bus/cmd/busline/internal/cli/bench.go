package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
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
	c := &cobra.Command{
		Use:   "bench <address> [name=value …] [name:=json …] [@file | - | '{…}']",
		Short: "Make a call many times, and measure how long it takes",
		Long: `Makes the same call again and again, and shows how many there are in a second, how long they take, and which statuses come
back. Arguments are those of busline call. All calls go over one connection to the broker. Each call has its full effect:
be careful with one that creates something. After an interruption the results so far are shown.`,
		Example: examples(
			"busline bench calculator.example/add x=5 y=6",
			"busline bench -c 64 -n 100000 calculator.example/add x=5 y=6",
			"busline bench -d 10s --json products.example/products limit=10",
		),
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
	}
	set := c.Flags()
	f.register(set)
	set.IntVarP(&f.concurrency, "concurrency", "c", 1, "`number` of concurrent calls")
	set.IntVarP(&f.calls, "calls", "n", 1000, "`number` of calls; with -d as many as fit, unless given")
	set.DurationVarP(&f.duration, "duration", "d", 0, "`time` to run; with -n, whichever ends first")
	return c
}

// bench makes the calls and prints the result.
func (s *session) bench(ctx context.Context, f *benchFlags, operands []string) error {
	made, err := f.prepare(ctx, s, operands)
	if err != nil {
		return err
	}
	conn, err := s.join(ctx)
	if err != nil {
		return err
	}
	running := newBenchRun(f)
	quiet := s.showProgress(running)
	running.run(bus.WithActor(ctx, s.token()), func(ctx context.Context) (status int, detail string) {
		return callOnce(ctx, conn, made, s.settings.timeout)
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
func callOnce(ctx context.Context, conn *bus.Conn, made *prepared, timeout time.Duration) (status int, detail string) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	request, err := made.request(ctx)
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
	told, _ := problemIn(response, body)
	return response.StatusCode, fmt.Sprintf("%.300s", told.Detail)
}

// showProgress shows the progress of the bench on a terminal, until it is stopped.
func (s *session) showProgress(r *benchRun) (quiet func()) {
	if !s.StderrTerminal || s.settings.json {
		return func() {}
	}
	const every = 200 * time.Millisecond
	ticker, stop := time.NewTicker(every), make(chan struct{})
	var showing sync.WaitGroup
	showing.Go(func() {
		for began := time.Now(); ; {
			select {
			case <-ticker.C:
				fmt.Fprintf(s.Stderr, "\r%d calls in %s\x1b[K", r.done.Load(), time.Since(began).Truncate(time.Second/10))
			case <-stop:
				fmt.Fprint(s.Stderr, "\r\x1b[K")
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
