package main_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/busline/busline/bus"
)

// TestClient has the app's plain http.Client call over the bus.
func TestClient(t *testing.T) {
	t.Parallel()
	l := open(t)
	if response, _ := l.get("/api/books/dune/fine?days=3"); response.StatusCode != 500 {
		t.Errorf("without a calculator: %s", response.Status)
	}
	if line := l.log.await(t, "level=ERROR"); !strings.Contains(line,
		"no instance serves calculator.example on port 443") {
		t.Errorf("the app logs %s", line)
	}
	_, err := l.Client().Get("https://nobody.example/x") // http.Client wraps it
	if failed, _ := errors.AsType[*bus.Error](err); failed == nil || failed.Status != 503 ||
		!errors.Is(err, bus.ErrNoResponder) {
		t.Errorf("no instance there: %v", err)
	}
	l.calculate()
	for path, want := range map[string]string{
		"/api/books/dune/fine?days=3": `{"cents":75}`,
		"/api/books/dune/fine?days=x": "days has to be a number",
		"/api/books/x/fine?days=3":    `there is no book "x"`,
	} {
		if _, answer := l.get(path); strings.TrimSpace(answer) != want {
			t.Errorf("%s answers %s, want %s", path, answer, want)
		}
	}
}

// TestClient_Timeout holds that the time-out of an http.Client is the call's time budget, in place of the usual 20 s.
func TestClient_Timeout(t *testing.T) {
	t.Parallel()
	l := open(t)
	left := make(chan time.Duration, 1)
	handler := func(_ http.ResponseWriter, r *http.Request) {
		deadline, _ := r.Context().Deadline()
		left <- time.Until(deadline)
	}
	if err := l.connect("slow.example").Handle("GET", "/x", http.HandlerFunc(handler)); err != nil {
		t.Fatal(err)
	}
	client := http.Client{Transport: l.Client().Transport, Timeout: time.Hour}
	response, err := client.Get("https://slow.example/x")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if got := <-left; got < time.Minute || got > client.Timeout {
		t.Errorf("the handler has %s left, want what is left of %s", got, client.Timeout)
	}
}
