package portal_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/busline/busline/portal"
)

func TestLimits(t *testing.T) {
	t.Parallel()
	door := open(t, portal.WithBodyLimit(1000))
	door.serve("calculator.example", 443, echo)
	const get, post = "GET /calculator.example/add", "POST /calculator.example/add HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
	const end = " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
	fill := func(size int) string { return strings.Repeat("a", size) }
	fields := func(count int) string { return strings.Repeat("A: b\r\n", count) }
	tests := []struct {
		name   string
		raw    string
		status int
		detail string
	}{
		{"URI at the limit", get + "?" + fill(8192-len(get)+len("GET ")-1) + end, 200, ""},
		{"URI above", get + "?" + fill(8193-len(get)+len("GET ")-1) + end, 414, "a URI of 8193 bytes exceeds the limit of 8192"},
		{"URI far above", get + "?" + fill(900_000) + end, 414, "exceeds the limit of 8192"},
		{"path too long for a subject", get + "/" + fill(5000) + end, 414, ""},
		{"header at half the limit", get + " HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX: " + fill(32<<10) + "\r\n\r\n", 200, ""},
		{"header above", get + " HTTP/1.1\r\nHost: a\r\nX: " + fill(64<<10) + "\r\n\r\n", 431, "exceeds the limit of 65536"},
		{"232 fields", get + " HTTP/1.1\r\nHost: a\r\n" + fields(231) + "\r\n", 200, ""},
		{"233 fields", get + " HTTP/1.1\r\nHost: a\r\n" + fields(232) + "\r\n", 431, "233 header fields exceed the limit of 232"},
		{"body at the limit", post + "Content-Length: 1000\r\n\r\n" + fill(1000), 200, ""},
		{"body above", post + "Content-Length: 1001\r\n\r\n" + fill(1001), 413, "the request body exceeds the limit of 1000 bytes"},
		{"body announced above", post + "Content-Length: 99999999999\r\n\r\n", 413, "the request body exceeds the limit of 1000 bytes"},
		{"chunks at the limit", post + "Transfer-Encoding: chunked\r\n\r\n3e8\r\n" + fill(1000) + "\r\n0\r\n\r\n", 200, ""},
		{"chunks above", post + "Transfer-Encoding: chunked\r\n\r\n3e9\r\n" + fill(1001) + "\r\n0\r\n\r\n", 413, "exceeds the limit of 1000 bytes"},
		{"chunks broken off", post + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400, "the request body cannot be read"},
		{"the next one", get + end, 200, ""},
	}
	for _, test := range tests {
		method, _, _ := strings.Cut(test.raw, " ")
		got := door.send(test.raw, method)
		if got.StatusCode != test.status {
			t.Errorf("%s: status %d, want %d: %.200s", test.name, got.StatusCode, test.status, got.text)
			continue
		}
		if got.StatusCode == http.StatusOK {
			continue
		}
		if told := got.problem(t); !strings.Contains(told.Detail, test.detail) || told.Executed != "no" {
			t.Errorf("%s: %s, want %s, executed no", test.name, got.text, test.detail)
		}
	}
}

// TestLimitOfOuterHandler has an application that allows less than its ingress.
func TestLimitOfOuterHandler(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	request := httptest.NewRequest(http.MethodPost, "/calculator.example/add", strings.NewReader("twelve bytes"))
	http.MaxBytesHandler(open(t).ingress, 10).ServeHTTP(w, request)
	const want = "the request body exceeds the limit of 10 bytes"
	if got := (answer{w.Result(), w.Body.String()}); got.StatusCode != 413 || !strings.Contains(got.problem(t).Detail, want) {
		t.Errorf("status %d: %s, want 413 and %s", got.StatusCode, got.text, want)
	}
}

// TestRequest_Timeout asks a service how much time it was given.
func TestRequest_Timeout(t *testing.T) {
	t.Parallel()
	door := open(t)
	door.serve("clock.example", 443, func(w http.ResponseWriter, r *http.Request) {
		deadline, _ := r.Context().Deadline()
		fmt.Fprint(w, time.Until(deadline).Nanoseconds())
	})
	tests := []struct {
		asked string
		most  time.Duration
	}{
		{"", 20 * time.Second}, {"5", 5 * time.Second}, {"1", time.Second}, {"19", 19 * time.Second},
		{"21", 20 * time.Second}, {"4294967295", 20 * time.Second}, {"99999999999999999999", 20 * time.Second},
		{"0", 20 * time.Second}, {"-1", 20 * time.Second}, {"+5", 20 * time.Second}, {"5s", 20 * time.Second},
		{"1e0", 20 * time.Second}, {"0x5", 20 * time.Second}, {"soon", 20 * time.Second}, {"5, 6", 20 * time.Second},
	}
	for _, test := range tests {
		begun := time.Now()
		got := door.get("/clock.example/", "Request-Timeout: "+test.asked)
		took := time.Since(begun) + time.Millisecond // budgets are whole milliseconds
		left, err := strconv.ParseInt(got.text, 10, 64)
		if err != nil {
			t.Fatalf("%q: status %d: %s", test.asked, got.StatusCode, got.text)
		}
		if spent := test.most - time.Duration(left); spent < 0 || spent > took {
			t.Errorf("asked for %q, the service has %s left, want %s", test.asked, time.Duration(left), test.most)
		}
	}
}

func TestTimeBudget(t *testing.T) {
	t.Parallel()
	door := open(t, portal.WithTimeBudget(time.Millisecond))
	release := make(chan struct{})
	door.serve("slow.example", 443, func(http.ResponseWriter, *http.Request) { <-release })
	got := door.get("/slow.example/hang")
	close(release)
	if told := got.problem(t); told.Status != http.StatusGatewayTimeout || told.Instance != "/slow.example/hang" {
		t.Errorf("%+v, want status 504", told)
	}
}
