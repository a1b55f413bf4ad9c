package portal_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/portal"
	"github.com/busline/busline/portal/internal/portaltest"
)

// chartAnswer is the response of /chart.json.
type chartAnswer struct {
	Taken  time.Time
	Points []struct {
		From, To         time.Time
		Calls            int64
		Rate, FailedRate float64
		P50, P99         *float64
	}
}

// calls returns the sum of the calls in all points.
func (c chartAnswer) calls() (sum int64) {
	for _, point := range c.Points {
		sum += point.Calls
	}
	return sum
}

// chart requests the chart of a service as a caller, "" for an anonymous one.
func (w *watched) chart(header, service string) (got chartAnswer) {
	w.t.Helper()
	status, body := w.getPath("/chart.json?service="+service, header)
	require.Equal(w.t, http.StatusOK, status, body)
	require.NoError(w.t, json.Unmarshal([]byte(body), &got), body)
	return got
}

// TestChart watches a service for a minute, after ten minutes again, and after an hour.
func TestChart(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		caller := b.Connect("caller.example")
		serveCounter(t, b.Connect("counter.example"))
		serveCounter(t, b.Connect("quiet.example"))
		w := watch(t, b)
		watchFor := func(span time.Duration) {
			for range span / (2 * time.Second) {
				w.look("")
				call(t, caller, 3, "https://counter.example/slow")
				call(t, caller, 1, "https://counter.example/failed")
				time.Sleep(2*time.Second - 90*time.Millisecond)
			}
		}
		assert.Empty(t, w.chart("", "counter.example").Points, "before the first point is complete")
		watchFor(56 * time.Second) // the last point is not complete
		got := w.chart("", "counter.example")
		require.Len(t, got.Points, 5)
		for at, point := range got.Points {
			assert.False(t, point.To.After(got.Taken), "it ends at %s, and the chart at %s", point.To, got.Taken)
			length := point.To.Sub(point.From).Seconds() // a look may take half a second
			assert.GreaterOrEqual(t, length, 10.0)
			assert.Less(t, length, 11.0)
			assert.Equal(t, int64(20), point.Calls)
			assert.InDelta(t, 20/length, point.Rate, 1e-9)
			assert.InDelta(t, 5/length, point.FailedRate, 1e-9)
			require.NotNil(t, point.P99)
			assert.InDelta(t, 0.05, *point.P99, 0.001)
			assert.LessOrEqual(t, *point.P50, *point.P99)
			if at > 0 {
				assert.Equal(t, got.Points[at-1].To, point.From, "there is no gap")
			}
		}
		quiet := w.chart("", "quiet.example")
		require.Len(t, quiet.Points, 5)
		assert.Zero(t, quiet.calls())
		assert.Nil(t, quiet.Points[0].P50)

		call(t, caller, 100, "https://counter.example/failed")
		time.Sleep(10 * time.Minute)
		assert.Len(t, w.chart("", "counter.example").Points, 5, "what no page has watched has no points")
		watchFor(30 * time.Second)
		got = w.chart("", "counter.example")
		require.Len(t, got.Points, 8, "the last one before the gap is complete, too")
		assert.GreaterOrEqual(t, got.Points[6].From.Sub(got.Points[5].To), 10*time.Minute)
		assert.Less(t, got.calls(), int64(8*20+1))

		time.Sleep(time.Hour - 5*time.Minute)
		got = w.chart("", "counter.example")
		assert.Len(t, got.Points, 2, "the points of the first minute are older than an hour")
		time.Sleep(time.Hour)
		assert.Empty(t, w.chart("", "counter.example").Points)
	})
}

// TestChart_IsFiltered charts the operations that the caller may call, and no others.
func TestChart_IsFiltered(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		i := portaltest.NewIssuer(t)
		w := watch(t, b, i.Trust())
		mixed, hidden := b.Connect("mixed.example", i.Trust()), b.Connect("hidden.example", i.Trust())
		require.NoError(t, mixed.Handle(http.MethodGet, "/open", http.HandlerFunc(portaltest.Echo)))
		require.NoError(t, mixed.Handle(http.MethodGet, "/kept", http.HandlerFunc(portaltest.Echo),
			bus.RequireClaims(`"keeper" in roles`)))
		serveCounter(t, hidden, bus.RequireClaims(`"keeper" in roles`))
		caller := b.Connect("caller.example")
		for range 10 {
			w.look("")
			call(t, caller, 1, "GET https://mixed.example/open")
			call(t, caller, 2, "GET https://mixed.example/kept") // 401, which counts
			time.Sleep(2 * time.Second)
		}
		all, some := w.chart(i.In("keeper"), "mixed.example"), w.chart("", "mixed.example")
		require.NotZero(t, some.calls())
		assert.Equal(t, 3*some.calls(), all.calls())
		w.chart(i.In("keeper"), "hidden.example")
		for _, host := range []string{"hidden.example", "absent.example"} {
			status, body := w.getPath("/chart.json?service="+host, "")
			assert.Equal(t, http.StatusNotFound, status, body)
			assert.Contains(t, body, "is not on the bus, or not for this caller")
		}
		status, body := w.getPath("/chart.json?service=mixed.example", "Authorization: Bearer x")
		assert.Equal(t, http.StatusUnauthorized, status, body)
	})
}

// TestChart_OfTheAbsent asks for the chart of a service that is gone for a while: this measures the others, and what
// was before is there again with it.
func TestChart_OfTheAbsent(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		gone := b.Connect("gone.example")
		serveCounter(t, gone)
		serveCounter(t, b.Connect("counter.example"))
		w := watch(t, b)
		watchFor := func(looks, status int) {
			for range looks {
				got, body := w.getPath("/chart.json?service=gone.example", "")
				require.Equal(t, status, got, body)
				time.Sleep(2 * time.Second)
			}
		}
		watchFor(15, http.StatusOK)
		require.NoError(t, gone.Close(t.Context()))
		time.Sleep(2 * time.Second)
		watchFor(30, http.StatusNotFound)
		serveCounter(t, b.Connect("gone.example"))
		time.Sleep(2 * time.Second)
		watchFor(15, http.StatusOK)
		for host, gaps := range map[string]int{"counter.example": 0, "gone.example": 1} {
			points, found := w.chart("", host).Points, 0
			for at := range points[1:] {
				if between := points[at+1].From.Sub(points[at].To); between > 0 {
					found++
					assert.Greater(t, between, 35*time.Second)
					assert.Less(t, between, 65*time.Second)
				}
			}
			assert.Equal(t, gaps, found, host)
		}
	})
}

// TestChart_WrongQuery says how to ask.
func TestChart_WrongQuery(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		w := watch(t, b)
		const remedy = "give one service by its host, as in service=orders.example"
		for query, want := range map[string]string{
			"": remedy, "?service=": remedy, "?host=a.example": remedy, "?service=a.example&service=b.example": remedy,
			"?%zz": "the query cannot be read: invalid URL escape", "?;": "the query cannot be read: invalid semicolon",
		} {
			status, body := w.getPath("/chart.json"+query, "")
			assert.Equal(t, http.StatusBadRequest, status, query)
			assert.Contains(t, body, want, query)
		}
	})
}

// TestChart_IsBounded has more operations than a chart keeps.
func TestChart_IsBounded(t *testing.T) {
	t.Parallel()
	total, points := portal.ChartSizes(400, 2, 3)
	assert.Equal(t, 360*6, total)
	assert.Len(t, points, 359, "an hour, less the point that is not complete")
	total, points = portal.ChartSizes(3, 2, 300)
	assert.Equal(t, 3*2*256, total, "one host displaces no other")
	assert.Len(t, points, 2)
	total, points = portal.ChartSizes(20, 10, 40)
	assert.LessOrEqual(t, total, portal.ChartLimit)
	assert.Len(t, points, portal.ChartLimit/400-1, "the oldest points are dropped")
	total, points = portal.ChartSizes(2, 40, 200)
	assert.Equal(t, portal.ChartLimit, total, "even one point is bounded")
	assert.Empty(t, points)
}
