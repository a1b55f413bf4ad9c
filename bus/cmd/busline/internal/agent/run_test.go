package agent_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/busline/busline/bus"
	"github.com/busline/busline/bus/broker"
	"github.com/busline/busline/bus/bustest"
	"github.com/busline/busline/bus/cmd/busline/internal/cli"
	"github.com/busline/busline/bus/eventlog"
	"github.com/busline/busline/bus/events"
	"github.com/busline/busline/examples/trouble/troubleapi"
)

const withWrite = "start busline mcp with --write to allow it"

// TestCall_ReadOnly calls what only reads, and is refused all else, however it is asked for.
func TestCall_ReadOnly(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	serveShop(t, b)
	e := on(t, b)
	e.says("products.example", "ls", nil)
	e.says("GET products.example/products/{id}", "describe", operands("products.example"))
	e.says("[]\n", "call", operands("products.example/products", "limit=3"))
	e.says("[]\n", "call", arguments{"operands": []string{"products.example/products"}, "method": "get"})
	e.says("HTTP/1.1 200 OK", "call", arguments{"operands": []string{"products.example/products"}, "method": "HEAD",
		"include": true})
	e.says(`{"receipts":[]}`, "call", operands("payments.example/receipts"))
	for _, args := range []arguments{
		operands("payments.example/pay", "cents=1", "currency=EUR", "by.code=A"),
		operands("products.example/products", "name=Tea", "price=4.5"),
		{"operands": []string{"products.example/products/1"}, "method": "DELETE"},
		{"operands": []string{"products.example/products/1"}, "method": "delete", "all": true},
		{"operands": []string{"trouble.example/sleep", "ms=1"}},
		{"operands": []string{"trouble.example/sleep", "ms=1"}, "method": "GET"},
		{"operands": []string{"payments.example/receipts"}, "method": "PUT"},
		operands("trouble.example:888/ping"),
		operands("https://all:888/bye", "{}"),
		{"operands": []string{"trouble.example:888/publish/on-x", "{}"}, "method": "POST"},
	} {
		e.refuses(withWrite, "call", args)
	}
}

// TestCall_Forged tries to talk its way around what is refused.
func TestCall_Forged(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	serveShop(t, b)
	e := on(t, b)
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("price"), 0o600))
	e.refuses(`"--write" is not an address`, "call", operands("--write", "products.example/products", "name=Tea"))
	e.refuses(`"--write" is not an argument`, "call", operands("products.example/products", "--write"))
	e.refuses(`"-X" is not an argument`, "call", operands("products.example/products/1", "-X", "DELETE"))
	e.refuses(`call has no argument "write"`, "call", arguments{"write": true})
	e.refuses("a method is a word such as GET", "call", arguments{"operands": []string{"products.example/products"},
		"method": "GET --url=nats://127.0.0.1:1"})
	e.refuses(`"--redeliver"`, "events_dead_letters", operands("orders.example", "--redeliver"))
	e.refuses(`events_dead_letters has no argument "redeliver"`, "events_dead_letters", arguments{"redeliver": true})
	e.refuses("files are not read: "+withWrite, "call", operands("products.example/products", "sortBy=@"+secret))
	e.refuses("files are not read: "+withWrite, "call", operands("products.example/products", "@"+secret))
	on(t, b, "--write").says("[]\n", "call", operands("products.example/products", "sortBy=@"+secret))
}

// TestCall_Write changes something.
func TestCall_Write(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	serveShop(t, b)
	e := on(t, b, "--write")
	e.says(`{"id":1}`, "call", operands("products.example/products", "name=Tea", "price=4.5"))
	e.says("Tea", "call", operands("products.example/products/1"))
	e.says("{}", "call", arguments{"operands": []string{"products.example/products/1"}, "method": "DELETE"})
	e.refuses("404 Not Found: no product has the id 1", "call", operands("products.example/products/1"))
	e.refuses("Exit status 1: the call failed", "call", operands("products.example/products/1"))
	e.says("calls  3 in", "bench", arguments{"operands": []string{"products.example/products"}, "calls": 3})
}

// Refusing handles no event.
type Refusing struct{}

// OnOrdered refuses an order.
func (Refusing) OnOrdered(number int) error {
	return bus.Errorf(http.StatusConflict, "order %d has no address", number)
}

// TestDeadLetters lists dead letters, and changes them only with --write, and yes.
func TestDeadLetters(t *testing.T) {
	t.Parallel()
	b := bustest.New(t, broker.JetStream(t.TempDir()))
	publishing := b.Connect("orders.example")
	publisher, err := events.NewPublisher(publishing, "orders.example", events.Durable())
	require.NoError(t, err)
	require.NoError(t, events.Subscribe(b.Connect("mailer.example"), "orders.example", Refusing{}, events.Durable()))
	require.NoError(t, events.NewEvent[bus.Args](publisher, "/on-ordered").Publish(t.Context(), bus.Args{"number": 7}))
	for dead := 0; dead == 0; {
		log, err := eventlog.Describe(t.Context(), publishing, "orders.example")
		require.NoError(t, err)
		dead = log.Subscriptions[0].DeadLetters
	}
	e := on(t, b)
	e.says("order 7 has no address", "events_dead_letters", operands("orders.example"))
	e.says(`"number":7`, "events_tail", arguments{"operands": []string{"orders.example"}, "since": "beginning",
		"no-follow": true})
	writing := on(t, b, "--write")
	deleting := arguments{"operands": []string{"orders.example"}, "delete": true}
	writing.refuses("add --yes to delete 1 dead letter of mailer.example", "events_dead_letters", deleting)
	deleting["yes"] = true
	writing.says("1 dead letter deleted", "events_dead_letters", deleting)
	e.says("orders.example has no dead letters", "events_dead_letters", operands("orders.example"))
}

// TestSeconds ends what has no end.
func TestSeconds(t *testing.T) {
	t.Parallel()
	bustest.Virtual(t, func(t *testing.T, b *bustest.Bus) {
		serveShop(t, b)
		caller := troubleapi.NewClient(b.Connect("caller.example"))
		e := on(t, b, "--write")
		began := time.Now()
		e.says("It was ended after 10s.", "tap", nil)
		assert.InDelta(t, 10, time.Since(began).Seconds(), 0.001)
		e.says("1\n2\n3\n", "call", arguments{"operands": []string{"trouble.example/count", "n=9", "pauseMs=800"},
			"seconds": 3})
		e.says("It was ended after 3s.", "call", arguments{"operands": []string{"trouble.example/count", "n=9",
			"pauseMs=800"}, "seconds": 3})
		e.says("trouble.example", "ls", arguments{"watch": true, "seconds": 1})
		e.refuses("Exit status 4: no answer in time", "call", arguments{"operands": []string{
			"trouble.example/sleep", "ms=5000"}, "seconds": 2})
		cut, err := caller.Cancelled(t.Context())
		require.NoError(t, err)
		assert.Equal(t, 3, cut, "what is ended is cancelled")
	})
}

// Large returns more than a tool does.
type Large struct{}

// Get returns a text of a size.
func (Large) Get(size int) (text string) { return strings.Repeat("é", size/2) }

// TestOutput_Cut holds that a large output is cut, and says so.
func TestOutput_Cut(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	require.NoError(t, bus.Serve(b.Connect("large.example"), Large{}, bus.Method("Get", bus.HTTPMethod(http.MethodGet))))
	e := on(t, b)
	text, failed := e.call("call", operands("large.example/get", "size=1000000"))
	assert.False(t, failed)
	assert.Contains(t, text, "The output is cut after 262144 bytes: ask for less")
	assert.Less(t, len(text), 263_000)
	text, failed = e.call("call", operands("large.example/get", "size=200000"))
	assert.False(t, failed)
	assert.Len(t, text, 200_000+len("{\"text\":\"\"}\n"))
}

// TestCancel holds that the call of a tool ends when it is cancelled, when the client leaves, and on Ctrl-C.
func TestCancel(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(e *editor, cancel context.CancelFunc){
		"cancelled": func(_ *editor, cancel context.CancelFunc) { cancel() },
		"left":      func(e *editor, _ context.CancelFunc) { _ = e.requests.Close() },
		"interrupted": func(e *editor, _ context.CancelFunc) {
			e.ends = cli.Interrupted
			e.interrupt()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := bustest.New(t)
			begun, ended := make(chan struct{}), make(chan struct{})
			require.NoError(t, bus.Serve(b.Connect("slow.example"), &slow{begun, ended}))
			e := on(t, b, "--write")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var calling sync.WaitGroup
			calling.Go(func() {
				_, _ = e.CallTool(ctx, &sdk.CallToolParams{Name: "call",
					Arguments: arguments{"operands": []string{"slow.example/wait"}, "seconds": 60}})
			})
			<-begun
			leave(e, cancel)
			<-ended
			calling.Wait()
		})
	}
}

// slow waits until its caller leaves.
type slow struct{ begun, ended chan struct{} }

// Wait waits.
func (s *slow) Wait(ctx context.Context) error {
	close(s.begun)
	<-ctx.Done()
	close(s.ended)
	return ctx.Err()
}

// TestParallel calls tools at once.
func TestParallel(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	serveShop(t, b)
	e := on(t, b, "--write")
	var calling sync.WaitGroup
	for i := range 20 {
		calling.Go(func() {
			e.says(fmt.Sprintf("{\"n\":%d}\n", i), "call", operands("trouble.example/echo", fmt.Sprintf(`{"n":%d}`, i)))
			e.says("products.example", "ls", arguments{"json": true})
		})
	}
	calling.Wait()
}

// TestBrokerAway holds that the server begins without a broker, and that its flags hold for all tools.
func TestBrokerAway(t *testing.T) {
	t.Parallel()
	b := bustest.New(t)
	e := start(t, nil, "--url", "nats://127.0.0.1:1", "--json")
	e.says("version", "version", nil)
	e.refuses("Exit status 5: the broker cannot be reached", "ls", arguments{"seconds": 1})
	e.refuses(`{"error":"connect busline-cli: `, "ls", arguments{"seconds": 1})
	other := on(t, b, "--plane", "other")
	other.refuses("no instance is on plane other", "ls", nil)
}
