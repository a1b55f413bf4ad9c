package main_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/examples/internal/exampletest"
	program "github.com/busline/busline/examples/showcase"
)

// TestMain fails when a showcase leaves a goroutine behind. What the environment says is not for tests.
func TestMain(m *testing.M) {
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "BUS_") {
			_ = os.Unsetenv(name) // it only fails for what is no name
		}
	}
	goleak.VerifyTestMain(m)
}

// running is a showcase in this process.
type running struct {
	baseURL   string
	brokerURL string
	lines     []string // that it has printed before it was ready
	stop      func() error
}

// start runs a showcase until the test ends, at the broker, or without one with a broker of its own.
func start(t *testing.T, brokerURL string, connect ...bus.ConnectOption) running {
	t.Helper()
	return startAt(t, brokerURL, "127.0.0.1:0", connect...)
}

func startAt(t *testing.T, brokerURL, brokerAddress string, connect ...bus.ConnectOption) running {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background()) // not the test's: one showcase may need the other to the end
	output, stdout := io.Pipe()
	ended := make(chan error, 1)
	connect = append(connect, bus.WithLogger(zerolog.Nop())) // trouble is asked for
	go func() {
		err := program.Run(ctx, stdout, brokerURL, brokerAddress, connect...)
		stdout.CloseWithError(err)
		ended <- err
	}()
	started := running{stop: sync.OnceValue(func() error {
		cancel()
		return <-ended
	})}
	t.Cleanup(func() {
		if err := started.stop(); err != nil {
			t.Error(err)
		}
	})
	scanner := bufio.NewScanner(output)
	for scanner.Scan() {
		if baseURL, ready := strings.CutPrefix(scanner.Text(), "ready "); ready {
			started.baseURL = baseURL
			go func() { _, _ = io.Copy(io.Discard, output) }() // nothing is expected to come
			return started
		}
		started.lines = append(started.lines, scanner.Text())
		if strings.HasPrefix(scanner.Text(), "nats://") {
			started.brokerURL = strings.Fields(scanner.Text())[0]
		}
	}
	t.Fatalf("not ready: %v", scanner.Err())
	return started
}

// TestTwo runs two showcases on one broker.
func TestTwo(t *testing.T) {
	t.Parallel()
	first := start(t, "")
	second := start(t, first.brokerURL)
	ask(t, "POST", first.baseURL+"/products.example/products", isJSON, `{"name":"Tea","price":4.5}`)
	for _, show := range []running{first, second} {
		if _, answer := ask(t, "GET", show.baseURL+"/products.example/products/1", "",
			""); answer != `{"name":"Tea","price":4.5,"tags":[]}` {
			t.Errorf("the product is %s", answer)
		}
		if _, answer := ask(t, "GET", show.baseURL+"/messaging.example/home", "", ""); !matches(answer, home(6)) {
			t.Errorf("want six instances:\n%s", answer)
		}
	}
}

// TestBroker_WithoutJetStream keeps products in memory, and stores no events.
func TestBroker_WithoutJetStream(t *testing.T) {
	t.Parallel()
	plain, err := broker.Start(broker.Listen("127.0.0.1:0"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(plain.Close)
	show := start(t, plain.URL())
	if _, answer := ask(t, "GET", show.baseURL+"/portal/events.json", "", ""); !matches(answer,
		`.*"unavailable":"Stored events cannot be read: .*"host":"orders.example","log":null.*`) {
		t.Errorf("the figures are %s", answer)
	}
}

// TestBroker_AddressTaken has the broker move to another port.
func TestBroker_AddressTaken(t *testing.T) {
	t.Parallel()
	addr := listen(t)
	show := startAt(t, "", addr)
	if show.brokerURL == "" || show.brokerURL == "nats://"+addr {
		t.Errorf("the broker is at %q", show.brokerURL)
	}
	start(t, show.brokerURL) // can join there
}

// TestRun_CannotStart holds that a showcase which cannot start says why, and leaves nothing behind; TestMain looks.
func TestRun_CannotStart(t *testing.T) {
	t.Parallel()
	err := program.Run(t.Context(), io.Discard, "", "no address")
	if err == nil || !strings.Contains(err.Error(), "no address") {
		t.Errorf("bad broker address: %v", err)
	}
	err = program.Run(t.Context(), io.Discard, "nats://127.0.0.1:1", "", bus.WithConnectTimeout(time.Millisecond))
	if err == nil || !strings.Contains(err.Error(), "BUS_NATS_URL") {
		t.Errorf("no broker at the URL: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := program.Run(ctx, io.Discard, "", "127.0.0.1:0"); err != nil {
		t.Errorf("told to stop before all was open: %v", err)
	}
}

// TestJoin has another program put a service on the bus of a showcase, where it is found at once.
func TestJoin(t *testing.T) {
	t.Parallel()
	show := start(t, "")
	hello := exampletest.Start(t, exampletest.Build(t, "../hello"), "BUS_NATS_URL="+show.brokerURL)
	hello.Await("hello.example is on the bus")
	if _, answer := ask(t, "GET", show.baseURL+"/hello.example/hello?name=Ada", "",
		""); answer != `{"greeting":"Hello, Ada!"}` {
		t.Errorf("hello answers %s", answer)
	}
	for document := ""; !strings.Contains(document, `"/hello.example:443/hello"`); {
		_, document = ask(t, "GET", show.baseURL+"/portal/openapi.json", "", "") // is up to two seconds old
	}
	hello.Stop()
}

// TestEnd ends a showcase while a call is in flight; its broker is in the same process.
func TestEnd(t *testing.T) {
	t.Parallel()
	show := start(t, "", bus.WithoutShortCircuit())
	answer := begin(t, show.brokerURL, show.baseURL, "/trouble.example/sleep?ms=500")
	if err := show.stop(); err != nil {
		t.Error(err)
	}
	if got := <-answer; got != `{"slept":500}` {
		t.Errorf("a call in flight is answered %s", got)
	}
}

// listen takes a port until the test ends, and returns its address.
func listen(t *testing.T) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener.Addr().String()
}
