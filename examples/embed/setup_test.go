package main_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/examples/calculator/calculatorsvc"
	program "github.com/busline/busline/examples/embed"
)

// TestMain fails when something is left running. What the environment says is not for tests.
func TestMain(m *testing.M) {
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "BUS_") {
			_ = os.Unsetenv(name) // it only fails for what is no name
		}
	}
	goleak.VerifyTestMain(m)
}

// testTimeout is far longer than anything can take.
const testTimeout = 20 * time.Second

// lines is a log that a test reads: the app's.
type lines chan string

func newLines() (log lines, logger *slog.Logger) {
	log = make(lines, 1000)
	return log, slog.New(slog.NewTextHandler(log, nil))
}

func (l lines) Write(line []byte) (int, error) {
	l <- strings.TrimSpace(string(line))
	return len(line), nil
}

// await returns the next line that has something in it.
func (l lines) await(t *testing.T, part string) (line string) {
	t.Helper()
	late := time.After(testTimeout)
	for {
		select {
		case line = <-l:
			if strings.Contains(line, part) {
				return line
			}
		case <-late:
			t.Fatalf("the app logs no line with %q", part)
		}
	}
}

// library is an app that is open until the test ends.
type library struct {
	*program.Library
	t      *testing.T
	bus    *bustest.Bus
	log    lines
	server *httptest.Server
}

// open runs an app with a broker of its own.
func open(t *testing.T, options ...nats.Option) *library {
	t.Helper()
	b := bustest.New(t, broker.Listen("127.0.0.1:0"))
	return openAt(t, b, b.Broker().URL(), options...)
}

func openAt(t *testing.T, b *bustest.Bus, url string, options ...nats.Option) *library {
	t.Helper()
	log, logger := newLines()
	opened, err := program.Open(t.Context(), url, logger, options...)
	if err != nil {
		t.Fatal(err)
	}
	l := &library{Library: opened, t: t, bus: b, log: log, server: httptest.NewServer(opened.Mux())}
	t.Cleanup(func() {
		l.server.Close()
		if err := opened.Leave(); err != nil {
			t.Error(err)
		}
		if err := opened.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// connect joins the app's bus as another client.
func (l *library) connect(host string) *bus.Conn {
	l.t.Helper()
	return l.bus.Connect(host, bus.WithPlane("bus"))
}

// calculate has a calculator on the bus.
func (l *library) calculate() {
	l.t.Helper()
	if err := calculatorsvc.Serve(l.connect("calculator.example")); err != nil {
		l.t.Fatal(err)
	}
}

// get asks the app's server; redirections are answers.
func (l *library) get(path string) (response *http.Response, answer string) {
	l.t.Helper()
	return send(l.t, &http.Transport{DisableKeepAlives: true}, "GET", l.server.URL+path)
}

// send makes a request, with headers given as "Name: value".
func send(t *testing.T, way http.RoundTripper, method, url string,
	headers ...string) (response *http.Response, answer string) {
	t.Helper()
	response, answer, err := tryToSend(t.Context(), way, method, url, headers...)
	if err != nil {
		t.Fatal(err)
	}
	return response, answer
}

func tryToSend(ctx context.Context, way http.RoundTripper, method, url string,
	headers ...string) (response *http.Response, answer string, err error) {
	request, err := http.NewRequestWithContext(ctx, method, url, http.NoBody)
	if err != nil {
		return nil, "", err
	}
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		request.Header.Set(name, value)
	}
	if response, err = way.RoundTrip(request); err != nil {
		return nil, "", err
	}
	defer response.Body.Close()
	read, err := io.ReadAll(response.Body)
	return response, string(read), err
}
