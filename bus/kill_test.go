package bus_test

import (
	"bufio"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
)

// What the test tells the instance that it kills.
const (
	killedURL   = "BUS_TEST_KILLED_URL"
	killedPlane = "BUS_TEST_KILLED_PLANE"
)

// TestKilledInstance kills a process with calls in flight: each ends long before its budget does, and tells why.
func TestKilledInstance(t *testing.T) {
	t.Parallel()
	if os.Getenv(killedURL) != "" {
		serveUntilKilled(t)
		return
	}
	const calls = 50
	w := &world{Bus: newBus(t, broker.Listen("127.0.0.1:0")), transport: bus.WithoutShortCircuit()}
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilledInstance$", "-test.count=1")
	child.Env = append(os.Environ(), killedURL+"="+w.Broker().URL(), killedPlane+"="+w.Plane())
	output, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(output)
	lines.Scan() // it serves
	caller := w.connect("caller.example")
	ends := make(chan time.Time, calls)
	var waiting sync.WaitGroup
	for range calls {
		waiting.Go(func() {
			wantFailed(t, "a call", caller.Call(t.Context(), "GET https://slow.example/wait", nil, nil), 504, bus.ErrInstanceLost)
			ends <- time.Now()
		})
	}
	for range calls {
		lines.Scan() // a handler has begun
	}
	killed := time.Now()
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	waiting.Wait()
	close(ends)
	var longest time.Duration
	for end := range ends {
		longest = max(longest, end.Sub(killed))
	}
	t.Logf("%d calls ended within %s of the kill", calls, longest)
	if err := child.Wait(); err == nil {
		t.Error("the process was not killed")
	}
	if err := caller.Call(t.Context(), "GET https://slow.example/wait", nil, nil); !errors.Is(err, bus.ErrNoResponder) {
		t.Errorf("the next call: %v", err)
	}
}

// serveUntilKilled tells each step on a line of standard output.
func serveUntilKilled(t *testing.T) {
	t.Helper()
	conn, err := bus.Connect(t.Context(), "slow.example", bus.WithURL(os.Getenv(killedURL)), bus.WithPlane(os.Getenv(killedPlane)))
	if err != nil {
		t.Fatal(err)
	}
	err = conn.Handle("GET", "/wait", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if err := conn.NATS().Flush(); err != nil { // the ack, or the caller would be right that there was none
			panic(err)
		}
		fmt.Fprintln(os.Stdout, "a handler runs")
		select {}
	}))
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(os.Stdout, "it serves")
	select {}
}
