package ingress_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/metrics"
	"github.com/busline/busline/portal/ingress"
	"github.com/busline/busline/portal/internal/portaltest"
)

// checkText fails the test unless Prometheus can parse the text, and no series is in it twice.
func checkText(t *testing.T, text string) {
	t.Helper()
	parsed, err := ingress.ParseExposition(text)
	if err != nil {
		t.Errorf("%v in\n%s", err, text)
	}
	for name, family := range parsed {
		seen := make(map[string]bool)
		for _, metric := range family.GetMetric() {
			labels := fmt.Sprint(metric.GetLabel())
			if seen[labels] {
				t.Errorf("%s%s is given twice in\n%s", name, labels, text)
			}
			seen[labels] = true
		}
	}
}

// checkExposition fails the test unless Prometheus can parse the text.
func checkExposition(t *testing.T, got portaltest.Answer) {
	t.Helper()
	assert.Equal(t, http.StatusOK, got.StatusCode)
	assert.Equal(t, metrics.ContentType, got.Header.Get("Content-Type"))
	assert.Equal(t, "no-store", got.Header.Get("Cache-Control"))
	checkText(t, got.Text)
}

func TestMetrics_OfTheIngress(t *testing.T) {
	t.Parallel()
	entrance := portaltest.Open(t, ingress.WithInFlightLimit(1<<26))
	entrance.Serve("echo.example", 443, portaltest.Echo)
	entrance.Get("/echo.example/")
	got := entrance.Get("/-/metrics")
	checkExposition(t, got)
	for _, want := range []string{
		`busline_client_duration_seconds_count{host="ingress",id="`, `callee="echo.example"} 1`,
		"# TYPE busline_ingress_body_bytes gauge\n", `busline_ingress_body_limit_bytes{host="ingress",id="`, "6.7108864e+07",
	} {
		if !strings.Contains(got.Text, want) {
			t.Errorf("no %s in\n%s", want, got.Text)
		}
	}
	for _, path := range []string{"/-/metrics", "/-/metrics/all"} {
		head := entrance.Send("HEAD "+path+" HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", http.MethodHead)
		assert.Equal(t, 200, head.StatusCode, "HEAD %s", path)
		assert.Empty(t, head.Text, "HEAD %s", path)
		compressed := entrance.Get(path, "Accept-Encoding: gzip")
		compressed.Text = decompress(t, compressed)
		assert.Equal(t, "gzip", compressed.Header.Get("Content-Encoding"), path)
		assert.Equal(t, "Accept-Encoding", compressed.Header.Get("Vary"), path)
		checkExposition(t, compressed)
		if post := post(entrance, path, 1, false); post.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("POST %s: %d", path, post.StatusCode)
		}
	}
	const known = "no such page; the ingress itself serves /-/healthy, /-/ready, /-/metrics and /-/metrics/all"
	problem := entrance.Get("/-/metrics/").Problem(t)
	assert.Equal(t, http.StatusNotFound, problem.Status)
	assert.Equal(t, known, problem.Detail)
}

func TestMetrics_OfAll(t *testing.T) {
	t.Parallel()
	entrance := portaltest.Open(t)
	entrance.Serve("echo.example", 443, portaltest.Echo)
	entrance.Serve("echo.example", 443, portaltest.Echo)
	for range 10 {
		entrance.Get("/echo.example/")
	}
	got := entrance.Get("/-/metrics/all")
	checkExposition(t, got)
	if count := strings.Count(got.Text, "\nbusline_info{"); count != 3 {
		t.Errorf("%d instances in\n%s", count, got.Text)
	}
	for _, want := range []string{`busline_scrape_instances{host="ingress",id="`, `"} 3`, `reason="broken"} 0`} {
		if !strings.Contains(got.Text, want) {
			t.Errorf("no %s in\n%s", want, got.Text)
		}
	}
	// a metric of the framework has another type than its name implies
	if strings.Contains(got.Text, "busline_scrape_cut_bytes") {
		t.Error(got.Text)
	}
	entrance.Bus.Broker().Close()
	healthy := entrance.Get("/-/metrics")
	assert.Equal(t, http.StatusOK, healthy.StatusCode, "without a broker")
	assert.Contains(t, healthy.Text, "busline_connected", "without a broker")
}

// TestMetrics_OfUnknownHosts leaves out what cannot be read, and instances that speak for another one.
func TestMetrics_OfUnknownHosts(t *testing.T) {
	t.Parallel()
	const own = `host="foreign.example",id="s1aaaaaaaa"`
	for _, test := range []struct {
		name         string
		text, reason string
	}{
		{"fine", "# TYPE busline_up gauge\nbusline_up{" + own + "} 1\n", ""},
		{"nothing", "", ""},
		{"HTML", "<script>alert(1)</script>", "broken"},
		{"cut", "busline_up{" + own, "broken"},
		{"somebody else", `busline_up{host="ingress",id="s1aaaaaaaa"} 1`, "broken"},
		{"anonymous", "busline_up 1", "broken"},
		{"many metrics", manyMetrics(own), "broken"},
		{"twice", "x{" + own + "} 1\nx{" + own + "} 2", "broken"},
		{"host twice", `x{host="ingress",` + own + "} 1", "broken"},
		{"silence", "hang", "silent"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
				portaltest.NewForeignInstance(t, b, "foreign.example").Tells("/metrics", test.text)
				got := scrapeAll(t, b)
				for _, reason := range []string{"broken", "failed", "silent", "too_much"} {
					want := 0
					if reason == test.reason {
						want = 1
					}
					if !strings.Contains(got, fmt.Sprintf("reason=%q} %d\n", reason, want)) {
						t.Errorf("%s: not %d in\n%s", reason, want, got)
					}
				}
				assert.Equal(t, test.name == "fine", strings.Contains(got, "busline_up"))
				assert.Contains(t, got, `busline_info{host="ingress"`)
			}, broker.MaxPayload(8<<20))
		})
	}
}

// TestMetricsOfAll_Conflict: an instance that comes first and gives metrics other types, or takes the names of their
// samples, loses these metrics, and no other does.
func TestMetricsOfAll_Conflict(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		const own = `{host="a.example",id="s1aaaaaaaa"} `
		portaltest.NewForeignInstance(t, b, "a.example").Tells("/metrics",
			"# HELP busline_connected Lies.\n# TYPE busline_connected counter\nbusline_connected"+own+"1\n"+
				"# TYPE busline_server_duration_seconds gauge\nbusline_server_duration_seconds"+own+"1\n"+
				"# TYPE busline_client_duration_seconds_count counter\nbusline_client_duration_seconds_count"+own+"1\n"+
				"# TYPE busline_scrape_instances gauge\nbusline_scrape_instances"+own+"9\n"+
				"# TYPE jobs histogram\njobs_count"+own+"1\n# TYPE fine counter\nfine"+own+"1\n")
		for _, host := range []string{"b.example", "c.example"} {
			portaltest.NewForeignInstance(t, b, host).Tells("/metrics",
				fmt.Sprintf("# TYPE jobs_count counter\njobs_count{host=%q,id=\"s1aaaaaaaa\"} 1\n"+
					"# TYPE busline_server_duration_seconds "+
					"histogram\nbusline_server_duration_seconds_count{host=%[1]q,id=\"s1aaaaaaaa\"} 1\n", host))
		}
		got := scrapeAll(t, b)
		for _, want := range []string{
			"# HELP busline_connected Whether the broker can be reached.\n# TYPE busline_connected " +
				"gauge\nbusline_connected{host=\"ingress\",",
			"# TYPE busline_server_duration_seconds " +
				"histogram\nbusline_server_duration_seconds_bucket{host=\"b.example\",id=\"s1aaaaaaaa\",le=\"+Inf\"} 1\n",
			"# TYPE jobs_count counter\njobs_count{host=\"b.example\",id=\"s1aaaaaaaa\"} " +
				"1\njobs_count{host=\"c.example\",id=\"s1aaaaaaaa\"} 1\n",
			"# TYPE fine counter\nfine" + own, `of_host="a.example",of_id="s1aaaaaaaa",reason="conflict"} 407` + "\n",
			`"} 4` + "\n", `reason="broken"} 0`,
		} {
			if !strings.Contains(got, want) {
				t.Errorf("no %s in\n%s", want, got)
			}
		}
		assert.Equal(t, 1, strings.Count(got, `{host="a.example"`))
		assert.NotContains(t, got, "Lies")
	})
}

// TestMetricsOfAll_Large has room for 1500 pairs of endpoint and caller, and cuts larger answers at the end of a line.
func TestMetricsOfAll_Large(t *testing.T) {
	t.Parallel()
	pairs, lines := new(metrics.Text), new(metrics.Text)
	for at := range 1500 {
		pairs.Histogram("busline_server_duration_seconds", "Duration of requests served.",
			metrics.Counts{Buckets: []int64{1}},
			metrics.Label{Name: "host", Value: "pairs.example"}, metrics.Label{Name: "id", Value: "s1aaaaaaaa"},
			metrics.Label{Name: "endpoint", Value: fmt.Sprintf("GET /customers/{id}/orders/{order}/%04d", at)},
			metrics.Label{Name: "caller", Value: "warehouse.department.example"})
	}
	for at := range 20 {
		lines.Gauge("line", "Of a megabyte.", float64(at), metrics.Label{Name: "host", Value: "lines.example"},
			metrics.Label{Name: "id", Value: "s1aaaaaaaa"},
			metrics.Label{Name: "at", Value: strings.Repeat("a", 1<<20-at)})
	}
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		portaltest.NewForeignInstance(t, b, "pairs.example").Tells("/metrics", pairs.String())
		portaltest.NewForeignInstance(t, b, "lines.example").Tells("/metrics", lines.String())
		got := scrapeAll(t, b)
		whole, cut := strings.Count(got, `_count{host="pairs.example"`), strings.Count(got, "\nline{")
		assert.Equal(t, 1500, whole)
		assert.Equal(t, 15, cut)
		if !strings.Contains(got, `of_host="lines.example",of_id="s1aaaaaaaa",reason="too_much"} `) ||
			strings.Contains(got, `of_host="pairs.example"`) {
			_, about, _ := strings.Cut(got, "# HELP busline_scrape")
			t.Error(about[:min(len(about), 2000)])
		}
	}, broker.MaxPayload(32<<20))
}

// TestMetricsOfAll_Share cuts the largest answers if all together are too large, whatever their order.
func TestMetricsOfAll_Share(t *testing.T) {
	t.Parallel()
	line := strings.Repeat("a", 1<<10-1) + "\n"
	huge, medium := strings.Repeat(line, 16<<10), strings.Repeat(line, 4<<10)
	kept, cut := ingress.KeepScraped([]string{huge, medium, huge, huge, huge, huge, line})
	const share = (32<<20 - 4<<20 - 1<<10) / 5 / (1 << 10) * (1 << 10)
	for at, want := range []int{share, len(medium), share, share, share, share, len(line)} {
		assert.Equal(t, want, len(kept[at]), at)
		assert.Equal(t, want != share, (cut[at] == 0), at)
		if want == share && cut[at] != len(huge)-share {
			t.Errorf("%d: %d bytes without %d, want %d", at, len(kept[at]), cut[at], want)
		}
	}
}

// manyMetrics returns an exposition of more metrics than are merged.
func manyMetrics(labels string) string {
	var text strings.Builder
	for at := range 4097 {
		_, _ = fmt.Fprintf(&text, "m%d{%s} 1\n", at, labels)
	}
	return text.String()
}

// scrapeAll requests the metrics of all instances, without a socket.
func scrapeAll(t *testing.T, b *bustest.Bus) string {
	t.Helper()
	entrance, err := ingress.New(b.Connect("ingress"))
	require.NoError(t, err)
	return metricsOfAll(t, entrance)
}

func metricsOfAll(t *testing.T, entrance *ingress.Handler) string {
	t.Helper()
	w := httptest.NewRecorder()
	entrance.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/-/metrics/all", http.NoBody))
	if w.Code != http.StatusOK {
		t.Fatal(w.Code, w.Body)
	}
	checkText(t, w.Body.String())
	return w.Body.String()
}

// TestReady_NamesRestrictions holds that an ingress whose user may subscribe to its domain alone is ready, and says
// what is off.
func TestReady_NamesRestrictions(t *testing.T) {
	t.Parallel()
	started, err := broker.Start(broker.Listen("127.0.0.1:0"), broker.Config(`authorization { users: [
		{ user: "door", password: "secret", permissions: { subscribe: { allow: "*.*.ingress.>" } } }
	] }`))
	require.NoError(t, err)
	t.Cleanup(started.Close)
	conn, err := bus.Connect(t.Context(), "ingress",
		bus.WithURL(strings.Replace(started.URL(), "://", "://door:secret@", 1)), bus.WithLogger(zerolog.Nop()))
	require.NoError(t, err)
	defer func() { assert.NoError(t, conn.Close(context.Background())) }()
	entrance, err := ingress.New(conn)
	require.NoError(t, err)
	response := httptest.NewRecorder()
	entrance.ServeHTTP(response, httptest.NewRequest(http.MethodGet, "/-/ready", nil))
	assert.Equal(t, http.StatusOK, response.Code)
	assert.Equal(t, "ready\nrestricted by the broker: discovery does not find this instance, and it does not hear which "+
		"instances come and go\n", response.Body.String())
}

// TestRoster_Scrape: the instances that an ingress knows stay in its metrics of all.
func TestRoster_Scrape(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		counter := b.Connect("counter.example")
		entrance, err := ingress.New(b.Connect("ingress"))
		require.NoError(t, err)
		own := `busline_connected{host="counter.example",id="` + counter.ID() + `"`
		for _, invented := range []int{0, 6000} {
			portaltest.AnswerAsMany(t, b, "ping", invented)
			time.Sleep(2 * time.Second)
			if got := metricsOfAll(t, entrance); !strings.Contains(got, own) {
				t.Errorf("with %d invented ones: %.3000s", invented, got)
			}
		}
		time.Sleep(time.Second) // the invented instances go on answering
	})
}
