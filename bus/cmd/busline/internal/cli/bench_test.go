package cli_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/cmd/busline/internal/cli"
	"github.com/busline/busline/examples/trouble/troublesvc"
)

func TestBench(t *testing.T) {
	t.Parallel()
	e := newTerminal(t)
	e.serveCalculator()
	got := e.busline(0, "bench", "-c", "4", "-n", "200", "calculator.example/add", "x=5", "y=6")
	want := regexp.MustCompile(`^calls  200 in \d+\.\d\d s, 4 at a time
rate   \d+ per second
time   p50 \d+\.\d\d ms, p90 \d+\.\d\d ms, p99 \d+\.\d\d ms, max \d+\.\d\d ms
200    200
$`)
	assert.Regexp(t, want, got.stdout)
	assert.Empty(t, got.stderr)
	got = e.busline(1, "bench", "--json", "-n", "10", "calculator.example/arithmetic", "x=5", "op=/")
	var report struct {
		Calls, Failed, Concurrency int
		Statuses                   map[int]int
		Details                    map[int]string
		PerSecond                  float64
	}
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &report))
	assert.Equal(t, 10, report.Calls, "as JSON")
	assert.Equal(t, 10, report.Failed, "as JSON")
	assert.Equal(t, 10, report.Statuses[400], "as JSON")
	assert.Equal(t, 1, report.Concurrency, "as JSON")
	assert.Positive(t, report.PerSecond, "as JSON")
	assert.Equal(t, "5 cannot be divided by zero", report.Details[400], "as JSON")
}

func TestBench_Duration(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		e := &terminal{t, b, map[string]string{}}
		require.NoError(t, troublesvc.Serve(b.Connect("trouble.example")))
		watched := func(environment *cli.Environment) { environment.StderrTerminal = true }
		got := e.run(t.Context(), watched, "bench", "-d", "2s", "-c", "2", "trouble.example/sleep", "ms=300")
		assert.Zero(t, got.status)
		assert.True(t, strings.HasPrefix(got.stdout, "calls  14 in 2.10 s, 2 at a time\nrate   7 per second\ntime   p50 29"),
			got.stdout)
		assert.Contains(t, got.stderr, "\r4 calls in 800ms\x1b[K")
		assert.True(t, strings.HasSuffix(got.stderr, "\r\x1b[K"), got.stderr)
	})
}

func TestPercentile(t *testing.T) {
	t.Parallel()
	if got := cli.Percentile(0.5); got != 0 {
		t.Errorf("of nothing: %s", got)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		times := make([]time.Duration, 1+random.IntN(200))
		for i := range times {
			times[i] = time.Duration(math.Exp(random.Float64() * math.Log(math.MaxInt64)))
		}
		sorted := slices.Sorted(slices.Values(times))
		for _, share := range []float64{0, 0.5, 0.9, 0.99, 1} {
			exact := sorted[max(int(share*float64(len(times))+0.5), 1)-1]
			got := cli.Percentile(share, times...)
			require.LessOrEqual(t, got, exact, "%v, %v", share, sorted)
			require.GreaterOrEqual(t, float64(got), 0.99*float64(exact), "%v, %v", share, sorted)
		}
	}
	if got := cli.Percentile(1, math.MaxInt64, -1); got < math.MaxInt64/100*99 {
		t.Errorf("the longest time: %s", got)
	}
}
