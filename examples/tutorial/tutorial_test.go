package tutorial_test

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/examples/internal/exampletest"
)

// TestTutorial does what docs/learn/tutorial.md says, from nothing to services that are replaced while they are called.
// The broker listens on TCP, and each instance is a process, built without debug data and run where there is no source.
func TestTutorial(t *testing.T) {
	t.Parallel()
	shop := newShop(t, commands(t, 1)...)
	shop.run("go", "generate", "./...")
	shop.run("go", "test", "./...")
	shipping, orders := shop.build("shipping"), shop.build("orders")
	gateway := exampletest.Build(t, filepath.Join(root, "bus", "cmd", "busline"))
	if err := os.RemoveAll(shop.directory); err != nil {
		t.Fatal(err)
	}

	b := bustest.New(t, broker.Listen("127.0.0.1:0"))
	start := func(executable string, environment ...string) *exampletest.Program {
		t.Helper()
		return exampletest.Start(t, executable, append(environment, "BUS_NATS_URL="+b.Broker().URL())...)
	}
	first, second := start(shipping), start(shipping)
	const greeting = "shipping.example is on the bus as "
	if one, other := first.Await(greeting), second.Await(greeting); one == other {
		t.Errorf("both instances are %s", one)
	}
	ordering := start(orders)
	ordering.Await("orders.example is on the bus as ")
	door := exampletest.StartCommand(t, exec.CommandContext(t.Context(), gateway, "gateway"),
		"BUS_NATS_URL="+b.Broker().URL(), "BUS_HTTP_ADDR=127.0.0.1:0")
	url := door.Await("ready ")

	const order = "/orders.example/price?goods=5000&grams=1500&country="
	expect(t, url+order+"NO", 200, `{"cents":6800}`)
	expect(t, url+order+"XX", 422,
		`"detail":"we do not send to \"XX\"","instance":"/orders.example/price","host":"shipping.example"`)
	expect(t, url+"/portal/openapi.json", 200, "Cost returns what it costs to send a parcel")
	expect(t, url+"/portal/openapi.json", 200, "Price returns what an order costs with its shipping")
	expect(t, url+"/-/ready", 200, "ready")

	calls := keepCalling(t, url+order+"NO")
	calls.awaitMore(100)
	first.Stop()
	calls.awaitMore(100)
	third := start(shipping)
	third.Await("shipping.example is on the bus as ")
	second.Stop()
	calls.awaitMore(100)
	calls.stop()
	third.Stop()

	expect(t, url+order+"NO", 503, "no instance serves shipping.example on port 443 in plane bus")
	door.Stop()
	ordering.Stop()
}

// TestTutorialWithoutWorkspace makes the module as the page says without a workspace. What go mod tidy would add
// go get adds as well, which does not ask the network for the tests of all that is required.
func TestTutorialWithoutWorkspace(t *testing.T) {
	t.Parallel()
	module, edits := commands(t, 1)[0], commands(t, 2)
	last := len(edits) - 1
	if strings.TrimSpace(edits[last]) != "go mod tidy" {
		t.Fatalf("the page ends with %s", edits[last])
	}
	shop := newShop(t, append([]string{module}, edits[:last]...)...)
	shop.run("go", "get", "-t", "./...")
	shop.run("go", "generate", "./...")
	shop.run("go", "get", "-t", "./...")
	shop.run("go", "test", "./...")
	shop.build("orders")
}

// TestTutorial_ShowsItsFiles: the page has each file as a whole, in the reader's module. A program that it only
// describes does not compile for readers who follow it to the letter.
func TestTutorial_ShowsItsFiles(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(root, "docs", "learn", "tutorial.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range sources(t) {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(page), "```go\n"+strings.ReplaceAll(string(source), ours, readers)+"```\n") {
			t.Errorf("docs/learn/tutorial.md does not have all of %s", file)
		}
	}
}

// expect asks for a URL.
func expect(t *testing.T, url string, status int, part string) {
	t.Helper()
	got, body, err := get(url)
	if err != nil || got != status || !strings.Contains(body, part) {
		t.Errorf("GET %s: %v, %d %s\nexpected %d …%s…", url, err, got, body, status, part)
	}
}

func get(url string) (status int, body string, err error) {
	response, err := http.Get(url)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), err
}

// calls are made by a few goroutines, one after the other by each.
type calls struct {
	responses chan struct{} // one for each call
	stopped   atomic.Bool
	callers   sync.WaitGroup
}

// keepCalling calls until it is stopped, or the test ends, and fails the test when a call fails.
func keepCalling(t *testing.T, url string) *calls {
	t.Helper()
	const callers = 4
	c := &calls{responses: make(chan struct{})}
	t.Cleanup(c.stop)
	for range callers {
		c.callers.Go(func() {
			for !c.stopped.Load() {
				if status, body, err := get(url); err != nil || status != 200 {
					t.Errorf("%v, %d %s", err, status, body)
				}
				select {
				case c.responses <- struct{}{}:
				default: // the rest is not counted
				}
			}
		})
	}
	return c
}

// awaitMore waits until that many more calls were made.
func (c *calls) awaitMore(count int) {
	for range count {
		<-c.responses
	}
}

// stop waits for the last calls.
func (c *calls) stop() {
	c.stopped.Store(true)
	c.callers.Wait()
}
