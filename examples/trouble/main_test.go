package main_test

import (
	"errors"
	"io"
	"net/http"
	"regexp"
	"syscall"
	"testing"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/examples/internal/exampletest"
)

func TestTrouble(t *testing.T) {
	t.Parallel()
	b := bustest.New(t, broker.Listen("127.0.0.1:0"))
	program := exampletest.Start(t, exampletest.Build(t, "."), "BUS_NATS_URL="+b.Broker().URL(), "BUS_PLANE="+b.Plane())
	program.Await("trouble.example is on the bus")
	trouble := exampletest.Open(t, b.Connect("caller.example"), "https://trouble.example")
	trouble.Check("POST /sleep", `{"ms":10}`, 200, `{"slept":10}`)
	program.Stop()
}

// TestTrouble_SecondSignal ends a program that waits for a slow call.
func TestTrouble_SecondSignal(t *testing.T) {
	t.Parallel()
	b := bustest.New(t, broker.Listen("127.0.0.1:0"))
	program := exampletest.Start(t, exampletest.Build(t, "."), "BUS_NATS_URL="+b.Broker().URL(), "BUS_PLANE="+b.Plane())
	program.Await("trouble.example is on the bus")
	caller := b.Connect("caller.example")
	ended := make(chan error, 1)
	go func() {
		ended <- caller.Call(t.Context(), "https://trouble.example/sleep", bus.Args{"ms": 15_000}, nil)
	}()
	awaitInFlight(t, caller)
	if err := program.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	awaitGone(t, caller)
	if err := program.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if status, stderr := program.Wait(); status != -1 {
		t.Errorf("exit status %d, want that of a signal\n%s", status, stderr)
	}
	if err := <-ended; err == nil {
		t.Error("the call has ended well")
	}
}

// awaitInFlight waits until the program runs a handler, as its metrics show.
func awaitInFlight(t *testing.T, caller *bus.Conn) {
	t.Helper()
	client := http.Client{Transport: caller}
	for t.Context().Err() == nil {
		response, err := client.Get("https://trouble.example:888/metrics")
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if regexp.MustCompile(`(?m)^busline_\w*in_flight\S* 1$`).Match(text) {
			return
		}
	}
}

// awaitGone waits until the program takes no calls any more.
func awaitGone(t *testing.T, caller *bus.Conn) {
	t.Helper()
	for !errors.Is(caller.Call(t.Context(), "https://trouble.example/sleep", bus.Args{"ms": 0}, nil), bus.ErrNoResponder) {
		if t.Context().Err() != nil {
			t.Fatal("the program takes calls after a signal")
		}
	}
}
