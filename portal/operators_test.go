package portal_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/metrics"
	"github.com/busline/busline/portal"
)

// checkExposition fails the test unless Prometheus can parse the text.
func checkExposition(t *testing.T, got answer) {
	t.Helper()
	if got.StatusCode != http.StatusOK || got.Header.Get("Content-Type") != metrics.ContentType || got.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("%d %v", got.StatusCode, got.Header)
	}
	if err := new(metrics.Merger).Add(got.text); err != nil {
		t.Errorf("%v in\n%s", err, got.text)
	}
}

func TestMetricsOfTheIngress(t *testing.T) {
	t.Parallel()
	door := open(t, portal.WithInFlightLimit(1<<26))
	door.serve("echo.example", 443, echo)
	door.get("/echo.example/")
	got := door.get("/-/metrics")
	checkExposition(t, got)
	for _, want := range []string{
		`busline_client_duration_seconds_count{host="ingress",id="`, `callee="echo.example"} 1`,
		"# TYPE busline_ingress_body_bytes gauge\n", `busline_ingress_body_limit_bytes{host="ingress",id="`, "6.7108864e+07",
	} {
		if !strings.Contains(got.text, want) {
			t.Errorf("no %s in\n%s", want, got.text)
		}
	}
	for _, path := range []string{"/-/metrics", "/-/metrics/all"} {
		if head := door.send("HEAD "+path+" HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", http.MethodHead); head.StatusCode != 200 || head.text != "" {
			t.Errorf("HEAD %s: %d %q", path, head.StatusCode, head.text)
		}
		compressed := door.get(path, "Accept-Encoding: gzip")
		if compressed.text = decompress(t, compressed); compressed.Header.Get("Content-Encoding") != "gzip" || compressed.Header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%s: %v", path, compressed.Header)
		}
		checkExposition(t, compressed)
		if post := post(door, path, 1, false); post.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("POST %s: %d", path, post.StatusCode)
		}
	}
	const known = "no such page; the ingress itself serves /-/healthy, /-/ready, /-/metrics and /-/metrics/all"
	if told := door.get("/-/metrics/").problem(t); told.Status != http.StatusNotFound || told.Detail != known {
		t.Errorf("%+v", told)
	}
}

func TestMetricsOfAll(t *testing.T) {
	t.Parallel()
	door := open(t)
	door.serve("echo.example", 443, echo)
	door.serve("echo.example", 443, echo)
	for range 10 {
		door.get("/echo.example/")
	}
	got := door.get("/-/metrics/all")
	checkExposition(t, got)
	if count := strings.Count(got.text, "\nbusline_info{"); count != 3 {
		t.Errorf("%d instances in\n%s", count, got.text)
	}
	for _, want := range []string{`busline_scrape_instances{host="ingress",id="`, `"} 3`, `reason="broken"} 0`} {
		if !strings.Contains(got.text, want) {
			t.Errorf("no %s in\n%s", want, got.text)
		}
	}
	door.bus.Broker().Close()
	if healthy := door.get("/-/metrics"); healthy.StatusCode != http.StatusOK || !strings.Contains(healthy.text, "busline_connected") {
		t.Errorf("without a broker: %d", healthy.StatusCode)
	}
}

// TestMetricsOfStrangers leaves out what cannot be read, and who speaks for somebody else.
func TestMetricsOfStrangers(t *testing.T) {
	t.Parallel()
	const own = `host="stranger.example",id="s1aaaaaaaa"`
	for name, test := range map[string]struct{ told, reason string }{
		"fine":           {"busline_up{" + own + "} 1\n", ""},
		"nothing":        {"", ""},
		"HTML":           {"<script>alert(1)</script>", "broken"},
		"cut":            {"busline_up{" + own, "broken"},
		"somebody else":  {`busline_up{host="ingress",id="s1aaaaaaaa"} 1`, "broken"},
		"nobody":         {"busline_up 1", "broken"},
		"another type":   {"# TYPE busline_connected counter\nbusline_connected{" + own + "} 1", "broken"},
		"of the scraper": {"busline_scrape_instances{" + own + "} 1", "broken"},
		"silence":        {"hang", "silent"},
		"huge":           {"# " + strings.Repeat("a", 5<<20), "too_much"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
				newStranger(t, b, "stranger.example").tells("/metrics", test.told)
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
				if strings.Contains(got, "busline_up") != (name == "fine") || !strings.Contains(got, `busline_info{host="ingress"`) {
					t.Error(got)
				}
			}, broker.MaxPayload(8<<20))
		})
	}
}

// scrapeAll requests the metrics of all instances, without a socket.
func scrapeAll(t *testing.T, b *bustest.Bus) string {
	t.Helper()
	ingress, err := portal.NewIngress(b.Connect("ingress"))
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	ingress.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/-/metrics/all", http.NoBody))
	if w.Code != http.StatusOK {
		t.Fatal(w.Code, w.Body)
	}
	if err := new(metrics.Merger).Add(w.Body.String()); err != nil {
		t.Fatal(err)
	}
	return w.Body.String()
}
