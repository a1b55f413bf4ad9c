package main_test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/examples/internal/exampletest"
)

// TestProgram runs the showcase as a process of its own. It is built without any source for the names of arguments but
// what it carries along: as with -trimpath, for which go would compile all dependencies once more.
func TestProgram(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	const module = "github.com/busline/busline"
	executable := exampletest.Build(t, ".", "-gcflags="+module+"/...=-trimpath="+root+"=>"+module, "-ldflags=-s -w")
	for _, signal := range []os.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			finishesWhatHasBegun(t, executable, signal)
		})
	}
	t.Run("two signals", func(t *testing.T) {
		t.Parallel()
		isKilledByASecondSignal(t, executable)
	})
	t.Run("an argument", func(t *testing.T) {
		t.Parallel()
		refused := exec.CommandContext(t.Context(), executable, "--help")
		output, err := refused.CombinedOutput()
		if refused.ProcessState.ExitCode() != 2 || !strings.Contains(string(output), "BUS_HTTP_ADDR") {
			t.Errorf("%v\n%s", err, output)
		}
	})
	t.Run("address taken", func(t *testing.T) {
		t.Parallel()
		show := exampletest.Start(t, executable, "BUS_NATS_URL="+startBroker(t), "BUS_HTTP_ADDR="+listen(t))
		if status, stderr := show.Wait(); status != 1 || !strings.Contains(stderr, "BUS_HTTP_ADDR") {
			t.Errorf("exit status %d\n%s", status, stderr)
		}
	})
}

func finishesWhatHasBegun(t *testing.T, executable string, signal os.Signal) {
	t.Helper()
	brokerURL := startBroker(t)
	show := startProgram(t, executable, brokerURL)
	answer := begin(t, brokerURL, show.Await("ready "), "/trouble.example/sleep?ms=1000")
	if err := show.Signal(signal); err != nil {
		t.Fatal(err)
	}
	if got := <-answer; got != `{"slept":1000}` {
		t.Errorf("a call in flight is answered %s", got)
	}
	if status, stderr := show.Wait(); status != 0 || stderr != "" {
		t.Errorf("exit status %d\n%s", status, stderr)
	}
}

func isKilledByASecondSignal(t *testing.T, executable string) {
	t.Helper()
	brokerURL := startBroker(t)
	show := startProgram(t, executable, brokerURL)
	begin(t, brokerURL, show.Await("ready "), "/trouble.example/hang?ms=600000")
	killed := make(chan int)
	go func() {
		status, _ := show.Wait()
		killed <- status
	}()
	for show.Signal(syscall.SIGTERM) == nil {
		continue // the first ones may come before it has stopped to listen
	}
	if status := <-killed; status != -1 {
		t.Errorf("exit status %d, want none", status)
	}
}

// startProgram runs a showcase that sends every call over the broker.
func startProgram(t *testing.T, executable, brokerURL string) *exampletest.Program {
	t.Helper()
	return exampletest.Start(t, executable, "BUS_NATS_URL="+brokerURL, "BUS_HTTP_ADDR=127.0.0.1:0", "BUS_SHORT_CIRCUIT=0")
}

// begin makes a request, and returns when it is on its way to the service. The answer follows.
func begin(t *testing.T, brokerURL, baseURL, path string) (answer <-chan string) {
	t.Helper()
	tap, err := nats.Connect(brokerURL)
	if err != nil {
		t.Fatal(err)
	}
	defer tap.Close()
	calls, err := tap.SubscribeSync("bus.443.example.trouble.|.>")
	if err != nil {
		t.Fatal(err)
	}
	if err := tap.Flush(); err != nil {
		t.Fatal(err)
	}
	answers := make(chan string, 1)
	go func() {
		_, got, err := tryToAsk(t.Context(), http.MethodGet, baseURL+path, "", "")
		if err != nil {
			got = err.Error()
		}
		answers <- got
	}()
	if _, err := calls.NextMsgWithContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	return answers
}

// startBroker runs a broker until the test ends, and returns its URL.
func startBroker(t *testing.T) string {
	t.Helper()
	started, err := broker.Start(broker.Listen("127.0.0.1:0"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(started.Close)
	return started.URL()
}
