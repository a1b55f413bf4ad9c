package main_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/bustest"
	program "github.com/busline/busline/examples/embed"
)

// TestStop stops the app while requests are in flight that have come every way, each in the middle of a call to another
// client. None is lost: the HTTP server stops first, then Busline, then the broker connection.
func TestStop(t *testing.T) {
	t.Parallel()
	b := bustest.New(t, broker.Listen("127.0.0.1:0"))
	caller := b.Connect("caller.example", bus.WithPlane("bus"))
	calculator := newSlowCalculator(t, b)
	ctx, stop := context.WithCancel(t.Context())
	log, ended, baseURL := run(ctx, t, b.Broker().URL())

	const path = "/api/books/dune/fine?days="
	website := begin(t, calculator, &http.Transport{DisableKeepAlives: true}, baseURL+path+"1")
	door := begin(t, calculator, &http.Transport{DisableKeepAlives: true}, baseURL+"/bus/library.example"+path+"2")
	overBus := begin(t, calculator, caller, "https://library.example"+path+"3")
	stop()
	log.await(t, "stopping")
	calculator.answer["1"] <- "10"
	calculator.answer["2"] <- "20"
	if one, two := <-website, <-door; one != `{"cents":10}` || two != `{"cents":20}` {
		t.Errorf("HTTP requests in flight are answered %s and %s", one, two)
	}
	for served := true; served; { // until it takes no further calls
		_, _, err := tryToSend(t.Context(), caller, "GET", "https://library.example/books")
		served = err == nil
	}
	calculator.answer["3"] <- "30"
	if three := <-overBus; three != `{"cents":30}` {
		t.Errorf("a call in flight is answered %s", three)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// slowCalculator answers when the test lets it.
type slowCalculator struct {
	asked  chan struct{}
	answer map[string]chan string // by x
}

func newSlowCalculator(t *testing.T, b *bustest.Bus) *slowCalculator {
	t.Helper()
	calculator := &slowCalculator{make(chan struct{}), map[string]chan string{
		"1": make(chan string), "2": make(chan string), "3": make(chan string),
	}}
	handler := func(w http.ResponseWriter, r *http.Request) {
		calculator.asked <- struct{}{}
		_, _ = io.WriteString(w, `{"result":`+<-calculator.answer[r.FormValue("x")]+`}`)
	}
	conn := b.Connect("calculator.example", bus.WithPlane("bus"))
	if err := conn.Handle("GET", "/arithmetic", http.HandlerFunc(handler)); err != nil {
		t.Fatal(err)
	}
	return calculator
}

// begin makes a request, and returns when it has led to the calculator. The answer follows.
func begin(t *testing.T, calculator *slowCalculator, way http.RoundTripper, url string) (answer <-chan string) {
	t.Helper()
	answers := make(chan string, 1)
	go func() {
		_, got, err := tryToSend(t.Context(), way, "GET", url)
		if err != nil {
			got = err.Error()
		}
		answers <- strings.TrimSpace(got)
	}()
	<-calculator.asked
	return answers
}

// run runs the whole app until ctx ends.
func run(ctx context.Context, t *testing.T, natsURL string) (log lines, ended <-chan error, baseURL string) {
	t.Helper()
	log, logger := newLines()
	output, stdout := io.Pipe()
	end := make(chan error, 1)
	go func() {
		err := program.Run(ctx, stdout, natsURL, logger)
		stdout.CloseWithError(err)
		end <- err
	}()
	for scanner := bufio.NewScanner(output); scanner.Scan(); {
		if baseURL, ready := strings.CutPrefix(scanner.Text(), "ready "); ready {
			return log, end, baseURL
		}
	}
	t.Fatal(<-end)
	return nil, nil, ""
}
