package metrics_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/busline/busline/bus/metrics"
)

func TestCounts(t *testing.T) {
	t.Parallel()
	series := new(metrics.Series)
	for _, observed := range []struct {
		took   time.Duration
		status int
	}{{0, 200}, {50 * time.Microsecond, 201}, {51 * time.Microsecond, 404}, {time.Hour, 500}, {time.Second, 504}} {
		series.Observe(observed.took, observed.status)
	}
	counts := series.Counts()
	assert.Equal(t, int64(5), counts.Total())
	assert.Equal(t, int64(1), counts.Refused)
	assert.Equal(t, int64(2), counts.Failed)
	assert.Equal(t, time.Hour+time.Second+101*time.Microsecond, counts.Took)
	first, last := counts.Buckets[0], counts.Buckets[len(counts.Buckets)-1]
	assert.Equal(t, int64(2), first)
	assert.Equal(t, int64(1), last)
	assert.Len(t, counts.Buckets, len(metrics.Bounds())+1)
	sum := counts.Plus(counts)
	assert.Equal(t, int64(10), sum.Total(), "twice")
	assert.Equal(t, int64(2), sum.Refused, "twice")
	assert.Equal(t, int64(4), sum.Failed, "twice")
	assert.Equal(t, 2*counts.Took, sum.Took, "twice")
	earlier := counts
	series.Observe(2*time.Millisecond, 200)
	since := series.Counts().Since(earlier)
	assert.Equal(t, int64(1), since.Total(), "since")
	assert.Equal(t, 2*time.Millisecond, since.Took, "since")
	assert.Zero(t, since.Refused, "since")
	assert.Zero(t, since.Failed, "since")
	if begunAnew := earlier.Since(series.Counts()); begunAnew.Total() != 5 {
		t.Errorf("begun anew: %+v", begunAnew)
	}
}

func TestQuantile(t *testing.T) {
	t.Parallel()
	none := metrics.Counts{}
	if got := none.Quantile(0.5); got != 0 {
		t.Errorf("of no calls: %s", got)
	}
	even := metrics.Counts{Buckets: []int64{0, 0, 0, 0, 0, 100}} // 1 ms to 2.5 ms
	for share, want := range map[float64]time.Duration{0.5: 1750 * time.Microsecond, 1: 2500 * time.Microsecond,
		0.01: 1015 * time.Microsecond} {
		if got := even.Quantile(share); got != want {
			t.Errorf("%v: %s, want %s", share, got, want)
		}
	}
	series := new(metrics.Series)
	series.Observe(time.Hour, 200)
	if got := series.Counts().Quantile(0.5); got != 20*time.Second {
		t.Errorf("beyond the last bound: %s", got)
	}
}

func TestFamily_IsBounded(t *testing.T) {
	t.Parallel()
	family := new(metrics.Family)
	for i := range 1000 {
		family.Of(fmt.Sprint("caller", i)).Observe(time.Millisecond, 200)
	}
	counts := family.Counts()
	assert.LessOrEqual(t, len(counts), 257)
	assert.Equal(t, int64(1000-256), counts[metrics.Others].Total())
	assert.Equal(t, int64(1), counts["caller0"].Total())
	if first := family.Of("caller0"); first != family.Of("caller0") {
		t.Error("a label has several series")
	}
	if got := new(metrics.Family).Counts(); got != nil {
		t.Errorf("an empty family has %v", got)
	}
}

func TestUnder(t *testing.T) {
	t.Parallel()
	family := new(metrics.Family)
	labelOf := func(label string, certain bool) string {
		counted, series := family.Under(label, certain)
		if series == nil || series != family.Of(counted) {
			t.Errorf("%s has no series of %s", label, counted)
		}
		return counted
	}
	var counting sync.WaitGroup
	for i := range 1000 { // at once, so that many find room before one has taken it
		counting.Go(func() { labelOf(fmt.Sprint("made up ", i), false) })
	}
	counting.Wait()
	if got := len(family.Counts()); got > 129 {
		t.Errorf("%d labels of what is made up", got)
	}
	if got := labelOf("one more", false); got != metrics.Others {
		t.Errorf("what is made up is counted as %s", got)
	}
	for _, label := range []string{"real", "one more"} {
		if got := labelOf(label, true); got != label {
			t.Errorf("%s is counted as %s", label, got)
		}
	}
	for i := range 1000 {
		labelOf(fmt.Sprint("real ", i), true)
	}
	got := len(family.Counts())
	assert.LessOrEqual(t, got, 257)
	assert.Equal(t, metrics.Others, labelOf("more", true))
}

func TestObserve_AllocatesNothing(t *testing.T) { //nolint:paralleltest // testing.AllocsPerRun cannot run beside others
	family := new(metrics.Family)
	family.Of("caller")
	if got := testing.AllocsPerRun(100, func() { family.Of("caller").Observe(time.Millisecond, 200) }); got > 0 {
		t.Errorf("allocates %v times", got)
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	text := new(metrics.Text)
	text.Gauge("up", "Whether\nit is \\ up.", 1)
	text.Counter("calls_total", "Calls.", 3, metrics.Label{Name: "from", Value: "a \"b\"\n\\c\xff"})
	text.Counter("calls_total", "Calls.", 1e21, metrics.Label{Name: "from", Value: "d"},
		metrics.Label{Name: "to", Value: "e"})
	text.Histogram("took_seconds", "Time.", metrics.Counts{Buckets: []int64{1, 2}, Took: time.Second},
		metrics.Label{Name: "to", Value: "e"})
	for _, want := range []string{
		"# HELP up Whether\\nit is \\\\ up.\n# TYPE up gauge\nup 1\n",
		"# TYPE calls_total counter\ncalls_total{from=\"a \\\"b\\\"\\n\\\\c�\"} 3\ncalls_total{from=\"d\",to=\"e\"} 1e+21\n",
		"# TYPE took_seconds histogram\ntook_seconds_bucket{to=\"e\",le=\"5e-05\"} " +
			"1\ntook_seconds_bucket{to=\"e\",le=\"0.0001\"} 3\n",
		"took_seconds_bucket{to=\"e\",le=\"+Inf\"} 3\ntook_seconds_sum{to=\"e\"} 1\ntook_seconds_count{to=\"e\"} 3\n",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no\n%s\nin\n%s", want, text)
		}
	}
}
